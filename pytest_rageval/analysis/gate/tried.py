"""A gate that was tried: the faults that it catches, and the limits that would catch the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median_low
from typing import Final

from pytest_rageval.analysis.gate.faults import Subject
from pytest_rageval.values.gate import CheckKind

OTHER_JUDGE: Final = "judged_offline"
"""Remark that the offline judge stands in for the judge of the run."""


MOST_DRAWS: Final = 3
"""Random draws of what a dose hits, of which more than half decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dose:
    """One dose of a fault, and what the gate said in most draws of what it hits, or in the one."""

    dose: float
    """Share of the answers, or number of documents or folders."""
    text: str
    n_changed: int
    """Cases whose reply it changed; of several draws the median."""
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


def is_settled(draws: Sequence[Dose]) -> bool:
    """Whether the draws of a dose that are left cannot change what most of them say."""
    left, half = MOST_DRAWS - len(draws), MOST_DRAWS / 2
    return left < half and all(n > half or n + left < half for n in _votes(draws).values())


def most_of(draws: Sequence[Dose]) -> Dose:
    """Return what most draws of a dose say."""
    votes = _votes(draws)

    def most(name: str) -> tuple[str, ...]:
        return tuple(key for (of, key), n in votes.items() if of == name and 2 * n > len(draws))

    return replace(
        draws[0],
        n_changed=median_low(one.n_changed for one in draws),
        caught=2 * sum(one.caught for one in draws) > len(draws),
        failed=most("failed"),
        warned=most("warned"),
        would_fail=most("would_fail"),
    )


def _votes(draws: Sequence[Dose]) -> Counter[tuple[str, str]]:
    """Count the draws that say something, such as ``("failed", "mrr")``."""
    found: Counter[tuple[str, str]] = Counter()
    for one in draws:
        found.update([("caught", "")] * one.caught)
        for name in ("failed", "warned", "would_fail"):
            found.update((name, key) for key in getattr(one, name))
    return found


def _first_of(doses: Sequence[Dose], found: Sequence[bool]) -> Dose | None:
    n = next((n for n, one in enumerate(reversed(found)) if not one), len(found))
    return doses[len(doses) - n] if n else None
