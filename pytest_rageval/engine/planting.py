"""Faults planted in the stored replies of a run, scored and decided as a run of its own would be.

Nothing is asked, and nothing is written.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from pytest_rageval.analysis.compare.metrics import MetricChange
from pytest_rageval.analysis.compare.pairs import PASSED
from pytest_rageval.analysis.gate.decide import decide_gate
from pytest_rageval.analysis.gate.planted import (
    FAULTS,
    OTHER_JUDGE,
    Dose,
    PlantedFault,
    TargetBreak,
    TriedGate,
    chosen,
    folder_of,
    is_settled,
    most_of,
)
from pytest_rageval.analysis.two_runs import as_baseline, compare_runs, with_numbers
from pytest_rageval.engine.finish import EndedRun
from pytest_rageval.engine.judging import VECTORS, refuse_cut_texts, rejudge
from pytest_rageval.judges.asking import Judges, case_verdicts, judge_case
from pytest_rageval.judges.calibrations import read_admissions
from pytest_rageval.judges.evidence import with_evidence
from pytest_rageval.judges.offline.judge import OfflineJudge, has_rubric
from pytest_rageval.metrics.answer import CITED_METRICS
from pytest_rageval.metrics.built_in import BUILT_IN, stored_registry
from pytest_rageval.metrics.context import SUFFICIENCY_METRICS
from pytest_rageval.metrics.matching import norm_path
from pytest_rageval.metrics.scoring import (
    abstention_verdict,
    is_unsure,
    reported_by,
    response_of,
    score_case,
    settled_together,
    stored_score,
    with_stored_own,
)
from pytest_rageval.metrics.view import CaseView, Verdicts, view_case
from pytest_rageval.support.threads import at_once
from pytest_rageval.values.gate import CheckKind, GateResult, needs_baseline
from pytest_rageval.values.record import CaseRecord, Evidence, ScoreSettings
from pytest_rageval.values.reply import AskResponse, Citation
from pytest_rageval.values.run import StoredRun

_ANSWER_SIDE: Final = tuple(key for key, info in BUILT_IN.cases.items() if info.answer_side)
_WORSE: Final[Mapping[str, CheckKind]] = {"higher": "max_drop", "lower": "max_rise"}
"""Kind of the check against the baseline by the direction of a metric."""
_CaseKey = tuple[str, str]


def try_gate(ended: EndedRun) -> TriedGate:
    """Plant every fault in a run at every dose, and decide each time.

    Args:
        ended: a run with its texts and the gate of the project (``gate_of``).

    Raises:
        StorageError: a text that a judge needs is stored cut.
    """
    trial = _Trial(ended)
    found = [trial.planted(fault) for fault in FAULTS]
    limited = {check.metric for check in ended.thresholds.checks}
    # A metric without a row in the file is the simpler one to add.
    metrics = sorted(trial.ways, key=lambda metric: metric in limited)
    chosen_limits = _limits_to_add(found, metrics)
    return TriedGate(
        run_id=ended.run.run_id,
        verdict=trial.before.verdict,
        n_cases=ended.run.n_cases,
        has_baseline=any(map(needs_baseline, ended.thresholds.checks)),
        faults=tuple(replace(one, add=chosen_limits.get(one.name)) for one in found),
        limits={metric: trial.ways[metric] for metric in dict.fromkeys(chosen_limits.values())},
        notes=(OTHER_JUDGE,) if trial.stands_in else (),
    )


def _limits_to_add(faults: Sequence[PlantedFault], metrics: Sequence[str]) -> dict[str, str]:
    """Return by fault the metric to limit: as few as possible that find each fault first."""
    wanted: dict[str, set[str]] = {}
    for fault in faults:
        doses = {metric: fault.found_from(metric) for metric in metrics}
        sizes = {metric: one.dose for metric, one in doses.items() if one is not None}
        now = fault.caught_from
        least = min(sizes.values(), default=None)
        if least is not None and (now is None or least < now.dose):
            wanted[fault.name] = {metric for metric, size in sizes.items() if size == least}
    found: dict[str, str] = {}
    while wanted:
        best = max(metrics, key=lambda metric: sum(metric in some for some in wanted.values()))
        for name in [name for name, some in wanted.items() if best in some]:
            found[name] = best
            del wanted[name]
    return found


class _Trial:
    """A run, its gate, and the judge that reads changed answers."""

    def __init__(self, ended: EndedRun) -> None:
        run, settings = ended.run, ended.run.settings
        self._admissions = read_admissions(ended.project)
        registry = stored_registry(run.config)
        limited = {check.metric for check in ended.thresholds.checks}
        held = {key for record in run.records for key in record.scores.metrics}
        self._kept = [key for key in _ANSWER_SIDE if key in held]
        self._unbounded = {
            key
            for key, info in registry.cases.items()
            if math.isinf(info.width) and key not in limited
        }
        judged = settings.judged and not settings.retrieval_only
        self._rubrics = [one for one in settings.judging.rubrics if has_rubric(one)]
        self._judges = Judges(OfflineJudge()) if judged else None
        self.stands_in = judged and settings.judge != "offline"
        if judged:
            refuse_cut_texts(run.records)
        if self.stands_in:
            run = replace(run, records=[self._rejudged(one, run.scoring) for one in run.records])
        groups = {check.group for check in ended.thresholds.checks}
        run = replace(run, records=[_grouped(self._bounded(one), groups) for one in run.records])
        self._ended = replace(ended, run=run).with_numbers()
        self._facts = reported_by(run.records)
        self.ways = {PASSED.key: _WORSE["higher"]} | {
            key: _WORSE[info.direction]
            for key, info in registry.cases.items()
            if info.direction in _WORSE
        }
        """Kind of a check against the baseline by metric, in the order of the registry."""
        self._views = [self._view(record) for record in run.records]
        self._base = self._ended.run
        self.before, _ = self._decided(self._base)

    def _rejudged(self, record: CaseRecord, scoring: ScoreSettings) -> CaseRecord:
        assert self._judges is not None
        return at_once(rejudge(record, self._judges, rubrics=self._rubrics, scoring=scoring)).record

    def _bounded(self, record: CaseRecord) -> CaseRecord:
        """Leave out metrics without a bound that no check limits: their intervals are drawn."""
        scores = record.scores
        kept = {k: value for k, value in scores.metrics.items() if k not in self._unbounded}
        return replace(record, scores=replace(scores, metrics=kept))

    def _scoring(self, record: CaseRecord) -> ScoreSettings:
        return replace(self._ended.run.scoring, k=record.k)

    def _view(self, record: CaseRecord) -> CaseView | None:
        if record.status == "error" or record.response is None:
            return None
        return view_case(record.case, response_of(record), self._scoring(record))

    # --- one fault -------------------------------------------------------------------------

    def planted(self, fault: TargetBreak) -> PlantedFault:
        """Plant a fault at every dose, in random draws of what it hits."""
        share = fault.of == "answers"
        changed = self._changed(fault, ())
        cases = dict.fromkeys(map(self._case, changed))
        subjects: list[Any] = [*cases] if share else self._places(fault)
        scored = cache(lambda place: self._scored(place, changed[place]))

        def draw(dose: float, number: int) -> dict[int, CaseRecord]:
            some = set(chosen(subjects, dose, share=share, draw=number))
            if share:
                return {place: scored(place) for place in changed if self._case(place) in some}
            return {at: self._scored(at, r) for at, r in self._changed(fault, some).items()}

        doses = []
        for dose in fault.doses if subjects else ():
            hits_all = dose == 1 if share else dose == len(subjects)
            if share or dose <= len(subjects):
                tries: list[Dose] = []
                while not tries or not (hits_all or is_settled(tries)):
                    tries.append(self._tried(fault, dose, draw(dose, len(tries))))
                doses.append(most_of(tries))
        return PlantedFault(name=fault.name, of=fault.of, doses=tuple(doses))

    def _places(self, fault: TargetBreak) -> list[str]:
        """Return the documents or folders that hold evidence and were retrieved."""
        of = norm_path if fault.of == "documents" else folder_of
        golds = {of(a.rel_path) for r in self._base.records for a in r.case.gold_supports}
        seen = {
            of(chunk.rel_path)
            for view in self._views
            if view is not None
            for chunk in view.chunks or ()
        }
        return sorted(filter(None, golds & seen))

    def _case(self, place: int) -> _CaseKey:
        record = self._base.records[place]
        return record.file, record.name

    def _changed(self, fault: TargetBreak, lost: Collection[str]) -> dict[int, AskResponse]:
        found = {}
        for place, view in enumerate(self._views):
            if view is not None and view.response is not None:
                reply = replace(view.response, retrieved_chunks=view.chunks)
                other = fault.plant(reply, lost)
                if other != reply:
                    found[place] = other
        return found

    def _tried(self, fault: TargetBreak, dose: float, changed: Mapping[int, CaseRecord]) -> Dose:
        records = [changed.get(n, one) for n, one in enumerate(self._base.records)]
        if reported_by(records) != self._facts:
            records = settled_together(records, self._base.settings)
        run = replace(self._base, records=records)
        after, would_fail = self._decided(
            with_numbers(run, confidence=self._ended.thresholds.confidence)
        )
        were = {one.name: one.status for one in self.before.checks}
        new = [one for one in after.checks if one.status != were[one.name]]
        failed = tuple(one.name for one in new if one.status == "fail")
        cases = _required_failed(records) - _required_failed(self._base.records)
        return Dose(
            dose=dose,
            text=fault.dose_text(dose),
            n_changed=len(set(map(self._case, changed))),
            caught=bool(failed or (after.verdict == "fail") > (self.before.verdict == "fail")),
            failed=(*failed, *(f"required {name}" for name in sorted(cases)[:1])),
            warned=tuple(one.name for one in new if one.status == "warn"),
            would_fail=would_fail,
        )

    def _decided(self, run: StoredRun) -> tuple[GateResult, tuple[str, ...]]:
        """Decide a run against the unchanged one, and name the candidates that fail."""
        ended = self._ended
        compared = compare_runs(self._base, run, thresholds=ended.thresholds)
        baseline = as_baseline(compared, ended.thresholds, name=run.run_id)
        gate = decide_gate(
            ended.thresholds,
            run,
            ended.selection,
            n_expected=ended.n_expected,
            n_reported=ended.n_reported,
            baseline=baseline,
            admissions=self._admissions,
        )
        found = compared.comparison
        changes = [*found.metrics.values(), *([] if found.passed is None else [found.passed])]
        return gate, tuple(one.key for one in changes if self._is_worse(one))

    def _is_worse(self, change: MetricChange) -> bool:
        """Return whether a change for the worse is proven."""
        way = self.ways.get(change.key)
        if way is None or change.low is None or change.high is None:
            return False
        return change.high < 0 if way == "max_drop" else change.low > 0

    def _scored(self, place: int, reply: AskResponse) -> CaseRecord:
        """Score a changed reply; an answer that stayed keeps its verdicts."""
        record, before = self._base.records[place], self._views[place]
        assert before is not None
        assert before.response is not None
        view = view_case(record.case, reply, self._scoring(record))
        known = {k: stored_score(record, k) for k in VECTORS if k in record.scores.metrics}
        verdicts = record.verdicts
        if (reply.answer, reply.abstained) == (before.response.answer, before.response.abstained):
            cited = _cited(reply.references) != _cited(before.response.references)
            again = {*SUFFICIENCY_METRICS, *(CITED_METRICS if cited else ())}
            known |= {k: stored_score(record, k) for k in self._kept if k not in again}
            # Numbers in the text would point at other passages by now.
            view.citations = view.citations if reply.references is None else reply.references
            evidence = _moved_evidence(verdicts.evidence or Evidence(), before, view)
            unsure = frozenset({"correctness"} if is_unsure(record) else ())
            found: Verdicts | None = Verdicts(
                abstained=abstention_verdict(record), evidence=evidence, unsure=unsure
            )
            verdicts = replace(verdicts, evidence=evidence)
        else:
            judged = None
            if self._judges is not None:
                judged = at_once(judge_case(view, self._judges, rubrics=self._rubrics))
            found = with_evidence(view, judged)
            verdicts = case_verdicts(view, judged, found)
        scores = with_stored_own(score_case(view, found, known=known), record)
        response = replace(reply, retrieved_chunks=view.chunks)
        changed = replace(record, response=response, scores=scores, verdicts=verdicts)
        return self._bounded(changed)


def _moved_evidence(evidence: Evidence, before: CaseView, after: CaseView) -> Evidence:
    """Return which passages state the key facts after passages were lost or moved."""
    old = {chunk.text: rank for rank, chunk in enumerate(before.cut, start=1)}
    ranks = [old.get(chunk.text) for chunk in after.cut]
    if evidence.facts is None or None in ranks:
        looked_up = with_evidence(after, None)
        found = None if looked_up is None else looked_up.evidence
        return replace(evidence, facts=None if found is None else found.facts)
    facts = tuple(
        tuple(rank for rank, was in enumerate(ranks, start=1) if was in stated)
        for stated in evidence.facts
    )
    return replace(evidence, facts=facts)


def _cited(references: Sequence[Citation] | None) -> list[tuple[str | None, str | None]] | None:
    """Return the places that citations name, without the ranks of their chunks."""
    if references is None:
        return None
    return [(one.rel_path, one.heading_path) for one in references]


def _grouped(record: CaseRecord, groups: Collection[str | None]) -> CaseRecord:
    """Leave out the groups of a case that no check limits: their means take most of the time."""
    case = record.case
    category = case.category if case.category in groups else ""
    tags = tuple(tag for tag in case.tags if tag in groups)
    return replace(record, case=replace(case, category=category, tags=tags, difficulty=None))


def _required_failed(records: Sequence[CaseRecord]) -> set[str]:
    return {r.name for r in records if r.case.required and r.scores.outcome != "passed"}
