"""Results of a metric in a project's own code, and the name of the mark on its function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MARK: Final = "__rageval__"
"""Attribute of a decorated function: the definitions that it was given."""


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
