"""Definition and results of a metric, and the name of the mark on a project's own function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

MARK: Final = "__rageval__"
"""Attribute of a decorated function: the definitions that it was given."""


Direction = Literal["higher", "lower", "neutral"]
Level = Literal[
    "anchor", "document", "list", "scope", "embedding", "answer", "judged", "own", "run"
]
BUILT_IN_SOURCE: Final = "built-in"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDefinition:
    """Definition of a metric, without its key and its code."""

    title: str
    """Short name for people, with the usual term if it differs from the key."""
    direction: Direction = "higher"
    """Direction of improvement."""
    scale: tuple[float, float | None] = (0.0, 1.0)
    """Lowest and highest possible value; None: unbounded above."""
    binary: bool = False
    """Whether every case scores 0 or 1."""
    population: str
    """The cases that the metric is about, in a few words."""
    level: Level
    """``anchor`` and ``document`` depend on gold matching at that level, ``list`` on the chunk
    list alone, ``answer`` on the answer, ``judged`` on a verdict, ``own`` on what only its author
    knows, ``run`` on all cases."""
    version: str = ""
    """Version of the definition; that of built-in metrics is ``DEFINITIONS_VERSION``."""
    source: str = BUILT_IN_SOURCE
    """Origin of the definition: built-in, or the file or module that defines it."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The score of a case, or of a run."""

    value: float
    """Within the scale of the metric; of a binary one True, False, 1 or 0."""
    detail: str = ""
    """The reason in a few words, which the record of the case keeps and `rageval explain` shows."""


@dataclass(frozen=True, slots=True)
class NA:
    """A metric does not apply to a case, or to a run."""

    reason: str
    """For people; it must say something."""
