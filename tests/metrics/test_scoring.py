from __future__ import annotations

import pytest

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.metrics.scoring import (
    case_cluster,
    case_weight,
    outside_population,
    pass_line,
    with_own_scores,
)
from pytest_rageval.metrics.view import FAILED, NotApplicable, Score, Verdicts
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseScores, ScoreSettings
from pytest_rageval.values.reply import AskResponse, ErrorInfo, RetrievedChunk
from tests.build.scores import (
    TIMEOUT,
    case,
    chunk,
    cite,
    gold,
    response,
    score,
    score_reply,
    status,
    view,
)

CASES = [
    case(),
    case("a.md | # S"),
    case("a.md", irrelevant_supports=(gold("b.md"),), required_support_groups=((0,),)),
    case("a.md", "b.md", recency_conflict_rule="acknowledge_both"),
    case(answerable=False),
]
REPLIES = [
    None,
    AskResponse(answer="text"),
    response(answer=" "),
    response("a.md | # S", "b.md", references=(cite("a.md"),), abstained=True),
]


@pytest.mark.parametrize("of", CASES)
@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize(
    "settings",
    [ScoreSettings(), ScoreSettings(retrieval_only=True), ScoreSettings(judge_configured=True)],
)
def test_every_key_is_present_and_has_one_state(
    of: Case, reply: AskResponse | None, settings: ScoreSettings
) -> None:
    scores = score_reply(of, reply, settings, error=None if reply else TIMEOUT)
    assert list(scores.metrics) == list(BUILT_IN.cases)
    assert scores.not_applicable.keys() <= scores.metrics.keys()
    assert all(scores.metrics[key] is None for key in scores.not_applicable)
    assert all(reason.endswith(".") for reason in scores.not_applicable.values())
    assert all(isinstance(value, float) for value in scores.metrics.values() if value is not None)


@pytest.mark.parametrize("reply", REPLIES)
def test_retrieval_only_leaves_out_the_answer_side(reply: AskResponse | None) -> None:
    scores = score(
        case("a.md"),
        reply,
        error=None if reply else TIMEOUT,
        retrieval_only=True,
        judge_configured=True,
        verdicts=Verdicts(scores={"groundedness": 5.0}),
    )
    for key, info in BUILT_IN.cases.items():
        if info.answer_side:
            assert status(scores, key) == "not_applicable", key
    assert (status(scores, "mrr") == "not_applicable") == (reply is REPLIES[1])


@pytest.mark.parametrize("of", CASES)
@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("only_retrieval", [True, False])
def test_a_metric_outside_its_population_does_not_apply_whatever_the_reply(
    of: Case, reply: AskResponse | None, only_retrieval: bool
) -> None:
    settings = ScoreSettings(retrieval_only=only_retrieval)
    scores = score_reply(of, reply, settings, error=None if reply else TIMEOUT)
    known = outside_population(of, settings, ("case", "settings"))
    assert known <= scores.not_applicable.keys()
    by_case = outside_population(of, settings, ("case",))
    assert known - by_case == {"recall_at_tokens"}  # no budget is set
    assert ("hit_at_k" in by_case) is not bool(of.gold_supports)
    answered = {"abstention_accuracy", "over_abstention_rate"} & by_case
    assert len(answered) == (0 if only_retrieval else 1)


def test_chunks_come_back_in_rank_order_and_decided() -> None:
    listed = (chunk("b.md", rank=2), chunk("a.md | # S", rank=1), chunk("c.md", rank=3))
    of = case("a.md", irrelevant_supports=(gold("c.md"),))
    assert view(of, response(retrieved_chunks=listed), k=1).chunks == (
        RetrievedChunk(
            rel_path="a.md",
            heading_path="# S",
            rank=1,
            matched_golds=(0,),
            matched_by=("heading",),
            irrelevant=False,
        ),
        RetrievedChunk(rel_path="b.md", rank=2, matched_golds=(), irrelevant=False),
        RetrievedChunk(
            rel_path="c.md", rank=3, matched_golds=(), matched_by=("document",), irrelevant=True
        ),
    )


def test_what_is_not_reported_stays_so() -> None:
    seen = view(case("a.md"), AskResponse(answer="text"))
    assert seen.chunks is None
    assert seen.citations is None


def test_scoring_again_what_was_scored_changes_nothing() -> None:
    of = case("a.md | # S", irrelevant_supports=(gold("b.md"),))
    reply = response("b.md", "a.md | # S > ## T", answer="[1]")
    decided = view(of, reply).chunks
    assert score(of, response(retrieved_chunks=decided, answer="[1]")) == score(of, reply)


def test_an_empty_answer_is_an_error_beside_scored_retrieval() -> None:
    scores = score(case("a.md"), response("a.md", answer="\u2003\n"))
    assert scores.metrics["hit_at_k"] == 1
    assert status(scores, "attribution_hit_rate") == "error"
    assert scores.outcome == "error"


def test_an_error_given_with_a_response_fails_the_answer_side_only() -> None:
    empty = ErrorInfo(kind="empty", message="the answer is empty")
    scores = score(case("a.md"), response("a.md", answer=""), error=empty)
    assert scores.metrics["mrr"] == 1
    assert status(scores, "over_abstention_rate") == "error"


def test_a_case_without_response_needs_an_error() -> None:
    with pytest.raises(ValueError, match="'x'"):
        score(case("a.md"), None)


@pytest.mark.parametrize(
    ("of", "cluster"),
    [
        (case(), None),
        (case("./docs//a.md | # S", "b.md"), "docs/a.md"),
        (case(gold_supports=(gold("a.md", vault="work"),)), "work:a.md"),
    ],
)
def test_cases_cluster_by_the_document_of_their_first_gold(of: Case, cluster: str | None) -> None:
    assert case_cluster(of) == cluster


@pytest.mark.parametrize(
    ("given", "weight"), [(0.25, 0.25), (3, 3.0), (0, None), (-1, None), ("3", None), (None, None)]
)
def test_a_case_weighs_what_its_metadata_say_above_0(given: object, weight: float | None) -> None:
    assert case_weight(case(metadata={"weight": given})) == weight


def test_an_answer_passes_with_four_fifths_of_a_judged_scale_and_else_with_all() -> None:
    lines = [pass_line(key) for key in ("groundedness", "key_fact_recall", "hit_at_k")]
    assert lines == [4.0, 0.8, 1.0]


@pytest.mark.parametrize(
    ("again", "value", "reasons"),
    [
        (1.0, 1.0, {}),
        (FAILED, None, {}),
        (NotApplicable("No tone."), None, {"tone.warm": "No tone."}),
    ],
)
def test_a_new_score_of_an_own_metric_takes_the_reason_of_the_old_one_away(
    again: Score, value: float | None, reasons: dict[str, str]
) -> None:
    info = MetricInfo(
        key="tone.warm", title="Warm", population="all", level="judged", source="tone.jinja"
    )
    before = CaseScores(
        metrics={"tone.warm": None},
        not_applicable={"tone.warm": "The run has no judge."},
        outcome="passed",
    )
    found = with_own_scores(
        before, {"tone.warm": again}, BUILT_IN.with_([info]), ScoreSettings(judge_configured=True)
    )
    assert (found.metrics["tone.warm"], found.not_applicable) == (value, reasons)
