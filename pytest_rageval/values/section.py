"""Sections of a report from a project's own code: values that this package draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_rageval.values.record import SCHEMA_VERSION


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
