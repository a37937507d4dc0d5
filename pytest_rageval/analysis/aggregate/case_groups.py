"""Records by case: a case with its repeats, and one metric's value of it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.values.record import AgainReason, CaseRecord, CaseScores, FailureStage

CaseOutcome = Literal["passed", "flaky", "flawed", "missed", "error", "unchecked"]
CASE_OUTCOMES: Final[Mapping[CaseOutcome, str]] = {
    "passed": "passed",
    "flaky": "flaky",
    "flawed": "flawed",
    "missed": "missed",
    "error": "errored",
    "unchecked": "unchecked",
}
"""Every outcome, and the name under which documents count its cases."""


# A score is finite, so two other floats can encode why it is absent.
NOT_APPLICABLE: Final = math.nan
ERROR: Final = math.inf


def coded_scores(scores: CaseScores, keys: Iterable[str]) -> list[float]:
    """Return scores of a record as floats: finite, `NOT_APPLICABLE` or `ERROR`."""
    metrics, reasons = scores.metrics, scores.not_applicable
    return [
        value
        if (value := metrics.get(key)) is not None
        else NOT_APPLICABLE
        if key in reasons or key not in metrics
        else ERROR
        for key in keys
    ]


def fold_repeats(values: Sequence[float]) -> float:
    """Return the mean of the scored repeats of a case; an error if none was scored and one erred.

    Args:
        values: coded, one per repeat.
    """
    mean = fmean([value for value in values if math.isfinite(value)])
    return mean if mean is not None else ERROR if ERROR in values else NOT_APPLICABLE


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
    def unselected(self) -> tuple[CaseRecord, ...]:
        """The repeats that figures read: those asked whatever the answers before them were."""
        found = tuple(record for record in self.records if not record.selected)
        return found or self.records[:1]  # the line of the first may be damaged

    @property
    def outcomes(self) -> list[CaseOutcome]:
        """The outcome of each repeat."""
        return [*map(record_outcome, self.records)]

    @property
    def outcome(self) -> CaseOutcome:
        """The case's outcome over its repeats."""
        return outcome_of_repeats(self.outcomes)

    @property
    def worst(self) -> CaseOutcome:
        """The worst outcome of its repeats, an error only if every one is: that of a gate."""
        return worst_of_repeats(self.outcomes)

    @property
    def passes(self) -> str:
        """The repeats that pass and all that could be checked, such as ``3/5``."""
        return f"{self.outcomes.count('passed')}/{self.n_checked}"

    @property
    def n_checked(self) -> int:
        """Number of the repeats that could be checked."""
        return len(self.records) - self.outcomes.count("unchecked")

    @property
    def deciding(self) -> CaseRecord:
        """The first of its worst repeats, one with a failure stage if there is."""
        outcome = self.worst
        if self.outcome == "flaky" and outcome == "passed":
            outcome = "error"
        found = [r for r in self.records if record_outcome(r) == outcome]
        return next((r for r in found if r.scores.failure_stage is not None), found[0])

    @property
    def stage(self) -> FailureStage | None:
        """The case's failure stage over its repeats."""
        return stage_of_repeats((record_outcome(r), r.scores.failure_stage) for r in self.records)

    def mean(self, key: str) -> float | None:
        """The mean of the case's scored repeats; None: none was scored."""
        return fmean([v for r in self.unselected if (v := r.scores.metrics.get(key)) is not None])


def record_outcome(record: CaseRecord) -> CaseOutcome:
    """Return the outcome of one repeat."""
    return (
        "unchecked"
        if record.scores.unchecked and record.scores.outcome == "passed"
        else record.scores.outcome
    )


_FOLDED: Final[tuple[CaseOutcome, ...]] = ("missed", "flawed", "passed", "unchecked")
"""The worst first, of repeats that did not err."""


def outcome_of_repeats(outcomes: Collection[CaseOutcome]) -> CaseOutcome:
    """Fold the outcomes of a case's repeats.

    ``flaky`` if it passed some and not all of them, else the worst outcome. A repeat that could not
    be checked tells nothing.
    """
    share = pass_share(outcomes)
    return worst_of_repeats(outcomes) if share in {None, 0.0, 1.0} else "flaky"


def worst_of_repeats(outcomes: Iterable[CaseOutcome]) -> CaseOutcome:
    """Return the worst outcome of a case's repeats.

    ``error`` if every repeat erred, else ``missed`` if any missed, else ``flawed`` if any is, else
    ``passed``; ``unchecked`` if nothing could be scored in any of them.
    """
    found = set(outcomes)
    return next((outcome for outcome in _FOLDED if outcome in found), "error")


def pass_share(outcomes: Iterable[CaseOutcome]) -> float | None:
    """Return the share of a case's repeats that passed, 0 to 1; None: none could be checked."""
    return fmean([float(one == "passed") for one in outcomes if one != "unchecked"])


def stage_of_repeats(
    repeats: Iterable[tuple[CaseOutcome, FailureStage | None]],
) -> FailureStage | None:
    """Return the failure stage of the repeat that decides the outcome of a case."""
    stages = {outcome: stage for outcome, stage in reversed([*repeats]) if stage is not None}
    return next((stages[outcome] for outcome in _FOLDED if outcome in stages), None)


def worst_misses(records: Iterable[CaseRecord]) -> list[CaseRecord]:
    """Return the deciding record of every case that missed, is flawed or has a failure stage.

    Sorted by ``first_case_to_see``.
    """
    cases = [case for case in group_repeats(records) if case.outcome != "error"]
    ranked = (case.deciding for case in sorted(cases, key=first_case_to_see))
    return [r for r in ranked if r.scores.outcome != "passed" or r.scores.failure_stage is not None]


def first_case_to_see(case: CaseGroup) -> tuple[bool, float, tuple[bool, int, float, str]]:
    """Return the place of a case by what to look at first: ``first_to_see``, flaky ones last."""
    flaky = case.outcome == "flaky"
    share = pass_share(case.outcomes) if flaky else None
    return flaky, share or 0.0, first_to_see(case.deciding)


def first_to_see(record: CaseRecord) -> tuple[bool, int, float, str]:
    """Return the place of a record by what to look at first.

    Errors, of which those of cases that were not asked tell least; then misses by recall (none
    counts as 0), then flaws and answers with a failure stage by their score, the lowest first. What
    passed has one place; what nobody has reviewed comes last.
    """
    if record.scores.outcome == "passed" and record.scores.failure_stage is None:
        return not record.counted, 1, 0.0, ""
    if record.error is not None:
        score = float(record.error.kind == "not_attempted")
    elif record.scores.outcome == "missed":
        score = record.scores.metrics.get("recall_at_k") or 0.0
    else:
        key = "groundedness" if record.scores.failure_stage == "ungrounded" else "correctness"
        found = record.scores.metrics.get(key)
        score = math.inf if found is None else found
    return not record.counted, -BADNESS[record.scores.outcome], score, record.nodeid


def group_repeats(records: Iterable[CaseRecord]) -> list[CaseGroup]:
    """Records by case, in the order of file, case id and repeat."""
    cases: dict[tuple[str, str], list[CaseRecord]] = {}
    for record in sorted(records, key=lambda r: (r.file, r.name, r.repeat)):
        cases.setdefault((record.file, record.name), []).append(record)
    return [CaseGroup(records=tuple(repeats)) for repeats in cases.values()]


def flaky_first(cases: Iterable[CaseGroup]) -> list[CaseGroup]:
    """Return the flaky ones of some cases, those that pass least often first."""
    found = [case for case in cases if case.outcome == "flaky"]
    return sorted(found, key=lambda c: (pass_share(c.outcomes) or 0.0, c.first.nodeid))


def case_names(records: Iterable[CaseRecord]) -> Mapping[str, str]:
    """Return the shortest name of each case in its run, by node id."""
    found = {record.nodeid: (record.file, record.name) for record in records}
    shared = shared_names(found.values())
    return {nodeid: nodeid if name in shared else name for nodeid, (_, name) in found.items()}


def shared_names(cases: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the names under which several of these files have a case."""
    files: dict[str, str] = {}
    return frozenset(name for file, name in cases if files.setdefault(name, file) != file)


def first_reason(records: Iterable[CaseRecord]) -> AgainReason | None:
    """Return the reason why an item with these records is asked again; None: it is not."""
    return next((record.again for record in records if record.again is not None), None)


BADNESS: Final[Mapping[str, int]] = {
    outcome: place for place, outcome in enumerate(("passed", "flaky", "flawed", "missed", "error"))
}
"""Order of the outcomes, the worst last."""


def deciding_record(records: Sequence[CaseRecord]) -> CaseRecord:
    """Return the first of the worst repeats: an error is worse than a miss, that than a flaw.

    A mean over repeats forgives an error; the report of a case does not, so that none is hidden
    and ``--lf`` asks it again.
    """
    return max(records, key=lambda record: BADNESS[record.scores.outcome])
