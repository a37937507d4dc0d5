"""Sections of a report from a project's own code: values that this package draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Definition of one section."""

    title: str
    source: str = ""
    """Module and name of its function."""
    compute: Callable[..., object] | None = field(default=None, compare=False, repr=False)
    """Function of a run."""
