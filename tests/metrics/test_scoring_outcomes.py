from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.metrics.scoring import decided_by
from pytest_rageval.metrics.view import Verdicts
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import FailureStage, Outcome
from pytest_rageval.values.reply import AskResponse, FolderSelection
from pytest_rageval.values.settings import Aspect
from tests.build.records import record
from tests.build.scores import TIMEOUT, case, chunk, cite, gold, response, score
from tests.build.verdicts import judged_by

GROUPS = case("a.md", "b.md", required_support_groups=((0, 1),))
CONFLICT = case("new.md", "old.md", recency_conflict_rule="cite_newer")
UNANSWERABLE = case(answerable=False)
WARNED = case("a.md", irrelevant_supports=(gold("b.md"),))
TRAPPED = case(answerable=False, irrelevant_supports=(gold("b.md"),))


def citing(*citations: str, chunks: tuple[str, ...] = (), **fields: Any) -> AskResponse:
    return response(*chunks, references=tuple(map(cite, citations)), **fields)


@pytest.mark.parametrize(
    ("of", "reply", "outcome"),
    [
        (case("a.md"), response("a.md"), "passed"),
        (case("a.md"), response("b.md"), "missed"),
        (GROUPS, response("a.md", "b.md"), "passed"),
        (GROUPS, response("a.md"), "missed"),
        (WARNED, response("a.md"), "passed"),
        (WARNED, response("a.md", "b.md"), "missed"),
        (CONFLICT, citing("new.md", chunks=("old.md",)), "passed"),
        (CONFLICT, citing("old.md", chunks=("old.md",)), "missed"),
        (UNANSWERABLE, response("a.md", abstained=True), "passed"),
        (UNANSWERABLE, response(abstained=False), "missed"),
        (case("a.md"), response("a.md", abstained=True), "missed"),
        (case("a.md"), citing("z.md", chunks=("a.md",)), "flawed"),
        (case("a.md"), response("a.md", answer=""), "error"),
        (case("a.md"), None, "error"),
    ],
)
def test_a_case_passes_if_every_expectation_that_was_scored_holds(
    of: Case, reply: AskResponse | None, outcome: str
) -> None:
    scores = score(of, reply, error=None if reply else TIMEOUT)
    assert scores.outcome == outcome
    assert not scores.unchecked


@pytest.mark.parametrize("of", [case(), case("a.md"), UNANSWERABLE])
def test_nothing_scored_is_passed_but_unchecked(of: Case) -> None:
    scores = score(of, AskResponse(answer="text"))
    assert (scores.outcome, scores.unchecked) == ("passed", True)


def test_an_answer_does_not_show_that_a_gold_was_retrieved() -> None:
    silent = AskResponse(answer="text", abstained=False)
    for of, unchecked in ((case("a.md"), True), (case(), False)):
        scores = score(of, silent)
        assert scores.metrics["over_abstention_rate"] == 0
        assert (scores.outcome, scores.unchecked) == ("passed", unchecked)
    assert not score(case("a.md"), response("a.md", abstained=False)).unchecked
    missed = score(case("a.md"), replace(silent, abstained=True))
    assert (missed.outcome, missed.unchecked) == ("missed", False)
    judged = score(case("a.md"), silent, verdicts=GOOD, judge_configured=True)
    assert (judged.outcome, judged.unchecked) == ("passed", False)


def test_a_failed_judge_is_no_miss() -> None:
    scores = score(case("a.md"), response("a.md"), judge_configured=True)
    assert scores.metrics["over_abstention_rate"] is None
    assert (scores.outcome, scores.unchecked) == ("passed", False)


BAD = Verdicts(abstained=False, scores={"groundedness": 0.0, "correctness": 0.0})
GOOD = Verdicts(abstained=False, scores={"groundedness": 5.0, "correctness": 4.0})


@pytest.mark.parametrize(
    ("judged_on", "outcome"), [(("retrieval", "answer"), "flawed"), (("retrieval",), "passed")]
)
def test_a_bad_answer_flaws_a_case_that_is_judged_on_it(
    judged_on: tuple[Aspect, ...], outcome: str
) -> None:
    scores = score(
        case("a.md"), response("a.md"), verdicts=BAD, judge_configured=True, judged_on=judged_on
    )
    assert (scores.outcome, scores.failure_stage) == (outcome, "ungrounded")


def test_a_bad_answer_does_not_soften_a_miss() -> None:
    scores = score(case("a.md"), response("b.md"), verdicts=BAD, judge_configured=True)
    assert (scores.outcome, scores.failure_stage) == ("missed", "not_retrieved")


@pytest.mark.parametrize(
    ("verdicts", "judged_on", "outcome", "unchecked"),
    [
        (GOOD, ("retrieval", "answer"), "passed", False),
        (BAD, ("retrieval", "answer"), "flawed", False),
        (GOOD, ("retrieval",), "passed", True),
        (BAD, ("retrieval",), "passed", True),
    ],
)
def test_a_judged_answer_is_a_check_where_nothing_else_is(
    verdicts: Verdicts, judged_on: tuple[Aspect, ...], outcome: str, unchecked: bool
) -> None:
    """Else good answers would be left out of the pass rate, and bad ones counted in it."""
    of, reply = case(expected_answer="text"), AskResponse(answer="text", retrieved_chunks=())
    scores = score(of, reply, verdicts=replace(verdicts, abstained=None), judged_on=judged_on,
                   judge_configured=True)  # fmt: skip
    assert (scores.outcome, scores.unchecked) == (outcome, unchecked)


@pytest.mark.parametrize(
    ("metrics", "stored", "stage", "by_answer", "by_retrieval"),
    [
        ({"hit_at_k": 1.0}, "passed", None, "passed", "passed"),
        ({"hit_at_k": 1.0, "correctness": 1.0}, "passed", "incorrect", "flawed", "passed"),
        ({"hit_at_k": 1.0, "correctness": 1.0}, "flawed", "incorrect", "flawed", "passed"),
        ({"doc_hit_at_k": 0.0}, "passed", "not_retrieved", "missed", "missed"),
        ({"hit_at_k": 0.0}, "missed", "not_retrieved", "missed", "missed"),
        ({"recency_conflict_accuracy": 0.0}, "missed", "incorrect", "missed", "missed"),
        ({}, "error", None, "error", "error"),
    ],
)
def test_a_stored_outcome_is_decided_again_by_its_stage(
    metrics: dict[str, float | None],
    stored: Outcome,
    stage: FailureStage | None,
    by_answer: str,
    by_retrieval: str,
) -> None:
    kept = record("a", metrics, outcome=stored, failure_stage=stage)
    assert decided_by(kept, ("retrieval", "answer")).scores.outcome == by_answer
    assert decided_by(kept, ("retrieval",)).scores.outcome == by_retrieval
    again = decided_by(decided_by(kept, ("retrieval",)), ("retrieval", "answer"))
    assert (again.scores.outcome, again.scores.failure_stage) == (by_answer, stage)


@pytest.mark.parametrize(
    ("metrics", "stored", "unchecked"),
    [
        ({}, True, True),
        ({}, False, False),  # scored by metrics that it does not hold any more
        ({"hit_at_k": 1.0}, True, False),
        ({"correctness": 5.0}, True, False),
        ({"correctness": 5.0, "groundedness": None}, False, False),
        ({"answer_rules_pass_rate": None}, False, False),
    ],
)
def test_a_case_without_scores_of_its_answer_is_not_unchecked_that_was_checked(
    metrics: dict[str, float | None], stored: bool, unchecked: bool
) -> None:
    kept = record("a", metrics, unchecked=stored)
    assert decided_by(kept, ("retrieval", "answer")).scores.unchecked is unchecked


@pytest.mark.parametrize(
    ("unsure", "judged_on", "unchecked"),
    [
        ({"correctness"}, ("retrieval", "answer"), True),
        ({"correctness"}, ("retrieval",), False),
        ({"key_fact_recall"}, ("retrieval", "answer"), False),
    ],
)
def test_a_case_whose_judge_is_unsure_of_the_answer_is_unchecked_where_answers_count(
    unsure: set[str], judged_on: tuple[Aspect, ...], unchecked: bool
) -> None:
    given = judged_by("correctness", unsure=frozenset(unsure))
    metrics = {"hit_at_k": 1.0, "groundedness": 5.0, "correctness": None}
    kept = record("a", metrics, judgements=given, unchecked=not unchecked)
    assert decided_by(kept, judged_on).scores.unchecked is unchecked
    verdicts = Verdicts(abstained=False, unsure=frozenset(unsure))
    fresh = score(case("a.md"), response("a.md"), verdicts=verdicts, judged_on=judged_on,
                  judge_configured=True)  # fmt: skip
    assert (fresh.outcome, fresh.unchecked) == ("passed", unchecked)


def test_a_record_that_needs_no_decision_is_kept_as_it_is() -> None:
    kept = record("a", {"hit_at_k": 1.0, "doc_hit_at_k": 1.0})
    assert decided_by(kept, ("retrieval", "answer")) is kept


EMPTY_INDEX = {"docs_processed": 3, "chunks_embedded": 0}
OUT_OF_SCOPE = FolderSelection(selected_folders=("x",))
AFTER_RERANK = (chunk("b.md", rank_before_rerank=2), chunk("a.md", rank_before_rerank=1))


@pytest.mark.parametrize(
    ("of", "reply", "stage"),
    [
        (case("a.md"), response("a.md"), None),
        (case("a.md"), response(indexing_coverage=EMPTY_INDEX), "not_indexed"),
        (case("a.md"), response("a.md", indexing_coverage=EMPTY_INDEX), None),
        (case("a.md"), response(indexing_coverage={"chunks_embedded": 9}), "not_retrieved"),
        (case("a.md"), response(folder_selection=OUT_OF_SCOPE), "out_of_scope"),
        (
            case("a.md"),
            response(folder_selection=OUT_OF_SCOPE, indexing_coverage=EMPTY_INDEX),
            "not_indexed",
        ),
        (
            case("a.md"),
            AskResponse(answer="text", folder_selection=OUT_OF_SCOPE),
            "out_of_scope",
        ),
        (case("a.md"), response("a.md", folder_selection=OUT_OF_SCOPE), None),
        (case("a.md"), response("b.md"), "not_retrieved"),
        (GROUPS, response("a.md"), "not_retrieved"),
        (case("a.md", k=1), response(retrieved_chunks=AFTER_RERANK), "lost_in_rerank"),
        (case("c.md", k=1), response(retrieved_chunks=AFTER_RERANK), "not_retrieved"),
        (case("a.md", k=2), response(retrieved_chunks=AFTER_RERANK), None),
        (case("a.md"), response("b.md", abstained=True), "not_retrieved"),
        (case("a.md"), citing(chunks=("a.md",), abstained=True), "wrongly_abstained"),
        (case("a.md"), citing(chunks=("a.md",)), "not_cited"),
        (WARNED, response("a.md", "b.md"), "irrelevant_retrieved"),
        (WARNED, response("a.md", "b.md", abstained=True), "irrelevant_retrieved"),
        (WARNED, response("b.md"), "not_retrieved"),
        (TRAPPED, response("b.md", abstained=True), "irrelevant_retrieved"),
        (TRAPPED, response("b.md", abstained=False), "hallucinated"),
        (CONFLICT, citing("old.md", chunks=("old.md",)), "not_cited"),
        (case("a.md"), AskResponse(answer="text"), None),
        (case(), response("a.md"), None),
        (UNANSWERABLE, response(abstained=False), "hallucinated"),
        (UNANSWERABLE, response(abstained=True), None),
        (case("a.md"), response(answer=""), None),
        (case("a.md"), None, None),
    ],
)
def test_the_first_stage_that_broke_is_named(
    of: Case, reply: AskResponse | None, stage: str | None
) -> None:
    assert score(of, reply, error=None if reply else TIMEOUT).failure_stage == stage


@pytest.mark.parametrize(
    ("judged", "stage"),
    [
        ({"groundedness": 3.9, "correctness": 1.0}, "ungrounded"),
        ({"groundedness": 4.0, "correctness": 3.5}, "incorrect"),
        ({"groundedness": 4.0, "correctness": 4.0}, None),
        ({"groundedness": None, "correctness": None}, None),
    ],
)
def test_judged_stages_follow_the_pass_line(
    judged: dict[str, float | None], stage: str | None
) -> None:
    verdicts = Verdicts(abstained=False, scores=judged)
    scores = score(case("a.md"), response("a.md"), verdicts=verdicts, judge_configured=True)
    assert scores.failure_stage == stage


def test_hiding_a_conflict_whose_sources_are_cited_is_incorrect() -> None:
    of = case("new.md", "old.md", recency_conflict_rule="acknowledge_both")
    scores = score(
        of,
        citing("new.md", "old.md", chunks=("new.md",)),
        verdicts=Verdicts(acknowledges_conflict=False, abstained=False),
        judge_configured=True,
    )
    assert (scores.outcome, scores.failure_stage) == ("missed", "incorrect")


def test_documents_tell_the_stage_where_anchors_cannot() -> None:
    of = case("a.md | # S")
    found = score(of, response("a.md"), headings_reported=False)
    lost = score(of, response("b.md"), headings_reported=False)
    assert (found.failure_stage, lost.failure_stage) == (None, "not_retrieved")
    assert (found.outcome, lost.outcome) == ("passed", "missed")
    assert not found.unchecked
