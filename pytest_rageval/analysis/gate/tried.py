"""A gate that was tried: the faults that it catches, and the limits that would catch the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pytest_rageval.analysis.gate.faults import Subject
from pytest_rageval.values.gate import CheckKind

OTHER_JUDGE: Final = "judged_offline"
"""Remark that the offline judge stands in for the judge of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dose:
    """One dose of a fault, and what the gate said."""

    dose: float
    """Share of the answers, or number of documents or folders."""
    text: str
    n_changed: int
    """Cases whose reply it changed."""
    caught: bool
    """Whether a check or a required case fails that did not fail without the fault."""
    failed: tuple[str, ...] = ()
    """Names of those checks."""
    warned: tuple[str, ...] = ()
    """Checks that warn, and passed without the fault."""
    would_fail: tuple[str, ...] = ()
    """Metrics whose drop or rise a check against the baseline would prove."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFault:
    """One fault at each of its doses."""

    name: str
    of: Subject
    doses: tuple[Dose, ...]
    """Ascending; empty: no reply of the run can have it."""
    add: str | None = None
    """Metric to limit, so that it is caught at a smaller dose; None: none is known or needed."""

    @property
    def caught_from(self) -> Dose | None:
        """The smallest dose from which on it is caught; None: the largest is not."""
        return _first_of(self.doses, [one.caught for one in self.doses])

    @property
    def warned_from(self) -> Dose | None:
        """The smallest dose from which on a check warns at least; None: none does."""
        return _first_of(self.doses, [bool(one.caught or one.warned) for one in self.doses])

    def found_from(self, metric: str) -> Dose | None:
        """The smallest dose from which on a limit on a metric would catch it."""
        return _first_of(self.doses, [metric in one.would_fail for one in self.doses])

    @property
    def missed(self) -> bool:
        """Whether it can be planted, and is caught at no dose."""
        return bool(self.doses) and self.caught_from is None


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedGate:
    """The faults that a gate catches in a run."""

    run_id: str
    verdict: str
    """Of the gate on the run as it is."""
    n_cases: int
    has_baseline: bool
    """Whether a check compares with a baseline, for which the run itself stands here."""
    faults: tuple[PlantedFault, ...]
    limits: Mapping[str, CheckKind] = field(default_factory=dict)
    """Direction, ``max_drop`` or ``max_rise``, by metric to add."""
    notes: tuple[str, ...] = ()


def _first_of(doses: Sequence[Dose], found: Sequence[bool]) -> Dose | None:
    n = next((n for n, one in enumerate(reversed(found)) if not one), len(found))
    return doses[len(doses) - n] if n else None
