"""Values of a project's own code: definition and results of a metric, and sections of a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from pytest_rageval.values.record import SCHEMA_VERSION

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


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts and numbers below named columns."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str | float | None]]
    """Each as long as the columns; None: an empty cell."""


@dataclass(frozen=True, slots=True)
class Bars:
    """A bar for each name, in the order given."""

    values: Mapping[str, float]
    """Finite and not negative."""
    unit: str = ""
    """Shown after each number."""


Cell = str | bool | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSection:
    """A section as it was computed and is stored."""

    title: str
    """Its heading."""
    columns: tuple[str, ...] = ()
    """Names of the columns; those of bars are empty and the unit."""
    rows: tuple[tuple[Cell, ...], ...] = ()
    """Each as long as the columns; null: an empty cell. Of bars, a name and a number of at least
    0."""
    bars: bool = False
    """Whether the rows are drawn as bars."""
    unit: str = ""
    """Shown after each number of bars."""
    error: str = ""
    """Place and kind of what went wrong instead; empty: nothing did."""

    def __post_init__(self) -> None:
        """Refuse rows that cannot be drawn.

        Raises:
            ValueError: a row is of another length, or a bar is no number from 0 on.
        """
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("a row is not as long as the columns")
        if self.bars and not all(
            len(row) == 2 and isinstance(row[1], int | float) and row[1] >= 0 for row in self.rows
        ):
            raise ValueError("a bar is no number, or below 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSections:
    """Content of ``sections.json``."""

    schema_version: int = SCHEMA_VERSION
    """Of the format: docs/stability.md says when it changes."""
    sections: tuple[ShownSection, ...] = ()
    """In the order of the report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Definition of one section."""

    title: str
    source: str = ""
    """Module and name of its function."""
    compute: Callable[..., object] | None = field(default=None, compare=False, repr=False)
    """Function of a run."""
