"""Faults planted in a run, and the limits that catch them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from pytest_rageval.analysis.gate.planted import OTHER_JUDGE, PlantedFault, TriedGate
from pytest_rageval.engine.case import CaseRepeat, record_of
from pytest_rageval.engine.finish import EndedRun
from pytest_rageval.engine.planting import try_gate
from pytest_rageval.judges.asking import Judges
from pytest_rageval.judges.offline.judge import OfflineJudge
from pytest_rageval.metrics.scoring import score_settings
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.report.faces.terminal import draw
from pytest_rageval.report.view.gate import view_of_tried_gate
from pytest_rageval.support.threads import at_once
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.gate import Check, Thresholds
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import AskResponse, AskResult, RetrievedChunk
from pytest_rageval.values.settings import Settings
from tests.build.records import selection_of
from tests.build.runs import SETTINGS, side

N = 40
JUDGED = replace(SETTINGS, judge="offline")
WORDS = "amber basil cedar delta ember flint grove hazel iris juniper".split()


def name(n: int) -> str:
    return f"{WORDS[n % 10]} {WORDS[n // 10 + 5]}"


def fact(n: int) -> str:
    return f"The {name(n)} permit costs {n + 11} euros a year."


def answer_of(n: int, settings: Settings, **changes: Any) -> CaseRecord:
    """Record of a case that is answered from the first of four passages, which is the gold."""
    others = (fact((n + step) % N) for step in (11, 22, 33))
    texts = [fact(n), *others]
    paths = [f"f{n // 2 % 5}/d{n // 2}.md", *(f"rest/r{i}.md" for i in range(3))]
    chunks = tuple(
        RetrievedChunk(rel_path=path, heading_path="# Costs", text=text, chunk_id=f"{path}-{n}")
        for path, text in zip(paths, texts, strict=True)
    )
    case = Case(
        id=f"c{n}",
        question=f"How much does the {name(n)} permit cost?",
        expected_key_facts=(f"{n + 11} euros",),
        gold_supports=(Anchor(rel_path=paths[0], heading_path="# Costs"),),
        **changes,
    )
    response = AskResponse(
        answer=f"{fact(n).rstrip('.')} [1].", abstained=False, retrieved_chunks=chunks
    )
    located = LocatedCase(case=case, lineno=n + 1)
    judges = Judges(OfflineJudge()) if settings.judged else None
    result = AskResult(response=response, error=None, total_ms=5.0)
    trial = CaseRepeat(located, "evals/set.jsonl", settings, judges=judges)
    return replace(at_once(record_of(trial, result)), case_hash=f"{n:016}")


@cache
def records(judge: str = "offline") -> tuple[CaseRecord, ...]:
    return tuple(answer_of(n, replace(SETTINGS, judge=judge)) for n in range(N))


def tried(*checks: Check, settings: Settings = JUDGED, **changes: Any) -> TriedGate:
    found = changes.pop("records", None) or records(settings.judge)
    run = side(found, settings)
    run = replace(run, scoring=score_settings(settings), **changes)
    return try_gate(
        EndedRun(
            run=run,
            project=settings,
            thresholds=Thresholds(checks=checks),
            selection=selection_of(found),
            n_expected=len(found),
            n_reported=len(found),
        )
    )


@cache
def limited() -> TriedGate:
    return tried(limit("hit_at_k"))


def limit(metric: str, kind: Any = "min", at: float = 0.9, **fields: Any) -> Check:
    return Check(metric=metric, kind=kind, limit=at, **fields)


def from_dose(found: TriedGate) -> dict[str, float | None]:
    doses = {one.name: one.caught_from for one in found.faults}
    return {name: None if dose is None else dose.dose for name, dose in doses.items()}


def fault(found: TriedGate, name: str) -> PlantedFault:
    return next(one for one in found.faults if one.name == name)


def test_a_limit_catches_what_moves_its_metric_from_the_dose_that_reaches_it() -> None:
    found = limited()
    # Each lost document is the gold of two of forty cases; a folder of eight.
    assert from_dose(found) == {
        "documents lost": 3,
        "folders lost": 1,
        "ranks reversed": None,
        "first chunk dropped": 0.3,
        "k halved": None,
        "citations dropped": None,
        "refusals": None,
        "thoughts left in": None,
        "figure changed": None,
    }
    assert found.verdict == "pass"


def test_the_limits_to_add_catch_what_nothing_caught() -> None:
    found = limited()
    assert not found.has_baseline
    added = [Check(metric=m, kind=k, limit=0, decide="prove_fail") for m, k in found.limits.items()]
    again = tried(limit("hit_at_k"), *added)
    assert again.has_baseline
    caught = {name for name, dose in from_dose(again).items() if dose is not None}
    expected = {one.name for one in found.faults if one.add or one.caught_from}
    assert caught >= expected >= {"ranks reversed", "citations dropped", "refusals"}


def test_the_offline_judge_stands_in_for_a_model_and_a_check_that_warns_catches_nothing() -> None:
    checks = (limit("correctness", at=4.9), limit("mrr", severity="warn"))
    found = tried(*checks, settings=replace(JUDGED, judge="gpt-x"), records=records())
    assert found.notes == (OTHER_JUDGE,)
    wrong = fault(found, "figure changed")
    assert [(one.n_changed, one.caught) for one in wrong.doses][-2:] == [(12, True), (40, True)]
    reversed_ = fault(found, "ranks reversed")
    assert (reversed_.caught_from, reversed_.missed) == (None, True)
    assert reversed_.warned_from is not None
    assert reversed_.warned_from.warned == ("mrr",)


def test_a_required_case_catches_a_fault_without_any_limit() -> None:
    some = [answer_of(n, JUDGED, required=True) for n in range(N)]
    found = fault(tried(limit("error_rate", "max", 0), records=some), "first chunk dropped")
    assert [one.caught for one in found.doses] == [True] * 4


def test_what_failed_before_is_not_caught_by_it() -> None:
    found = tried(limit("recall_at_k", at=1.1))
    assert found.verdict == "fail"
    assert {*from_dose(found).values()} == {None}


def test_without_a_judge_faults_of_retrieval_are_caught_alike() -> None:
    found = tried(limit("hit_at_k"), settings=SETTINGS)
    assert from_dose(found) == from_dose(limited())


def test_an_answer_that_is_stored_cut_cannot_be_judged_again() -> None:
    with pytest.raises(StorageError):
        tried(limit("hit_at_k"), records=[replace(records()[0], answer_chars=10_000)])


def test_a_run_without_chunks_or_documents_has_no_such_faults() -> None:
    bare = [
        replace(one, response=replace(one.reply, retrieved_chunks=None)) for one in records("none")
    ]
    found = tried(limit("error_rate", "max", 0), settings=SETTINGS, records=bare)
    assert fault(found, "documents lost").doses == ()
    assert not fault(found, "ranks reversed").missed


def test_every_fault_has_a_row_and_every_limit_a_line() -> None:
    found = limited()
    text = "\n".join(draw(view_of_tried_gate(found), width=100, colour=False))
    for name in [one.name for one in found.faults] + [*found.limits]:
        assert name in text
