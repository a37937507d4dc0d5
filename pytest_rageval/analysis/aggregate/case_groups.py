"""Records by case: a case with its repeats, and one metric's value of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.values.record import CaseRecord, Outcome

ValueStatus = Literal["scored", "not_applicable", "error"]
CaseOutcome = Literal["passed", "missed", "error", "unchecked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseValue:
    """One metric of one case over all of its repeats."""

    case_id: str
    file: str = ""
    value: float | None = None
    """Mean of the scored repeats; None unless ``status`` is ``scored``."""
    status: ValueStatus
    cluster: str | None = None
    repeats: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseGroup:
    """A case with its repeats, which are never extra cases."""

    records: tuple[CaseRecord, ...]
    """At least one, by repeat."""

    @property
    def first(self) -> CaseRecord:
        """The record that speaks for what all repeats share: id, tags, category, cluster."""
        return self.records[0]

    @property
    def outcome(self) -> CaseOutcome:
        """The case's outcome over its repeats."""
        return outcome_of_repeats(
            "unchecked" if r.unchecked and r.outcome == "passed" else r.outcome
            for r in self.records
        )

    def value(self, key: str) -> CaseValue:
        """The mean of the case's scored repeats; an error if none was scored and one erred."""
        values = [v for r in self.records if (v := r.metrics.get(key)) is not None]
        erred = any(key in r.metrics and key not in r.not_applicable for r in self.records)
        return self.value_of(values, erred=erred)

    def value_of(self, values: Sequence[float], *, erred: bool = False) -> CaseValue:
        """The mean of a figure's values in the repeats that have it.

        Args:
            values: one per scored repeat.
            erred: whether the figure is an error, and not inapplicable, without any value.
        """
        without: ValueStatus = "error" if erred else "not_applicable"
        return CaseValue(
            case_id=self.first.name,
            file=self.first.file,
            value=fmean(values),
            status="scored" if values else without,
            cluster=self.first.cluster,
            repeats=len(self.records),
        )


def outcome_of_repeats(outcomes: Iterable[CaseOutcome]) -> CaseOutcome:
    """Fold the outcomes of a case's repeats.

    ``error`` if every repeat erred, else ``missed`` if any missed, else ``passed``; ``unchecked``
    if nothing could be scored in any of them.
    """
    finished = [outcome for outcome in outcomes if outcome != "error"]
    if not finished:
        return "error"
    if "missed" in finished:
        return "missed"
    return "passed" if "passed" in finished else "unchecked"


def group_repeats(records: Iterable[CaseRecord]) -> list[CaseGroup]:
    """Records by case, in the order of file, case id and repeat."""
    cases: dict[tuple[str, str], list[CaseRecord]] = {}
    for record in sorted(records, key=lambda r: (r.file, r.name, r.repeat)):
        cases.setdefault((record.file, record.name), []).append(record)
    return [CaseGroup(records=tuple(repeats)) for repeats in cases.values()]


_BADNESS: Final[dict[Outcome, int]] = {"passed": 0, "missed": 1, "error": 2}


def deciding_record(records: Sequence[CaseRecord]) -> CaseRecord:
    """Return the first of the worst repeats: an error is worse than a miss.

    A mean over repeats forgives an error; the report of a case does not, so that none is hidden
    and ``--lf`` asks it again.
    """
    return max(records, key=lambda record: _BADNESS[record.outcome])
