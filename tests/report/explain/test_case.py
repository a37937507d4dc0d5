""""""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.view import Verdicts
from pytest_rageval.report.explain.case import explain_record
from pytest_rageval.report.explain.chunks import LIES_THERE
from pytest_rageval.report.explain.values import Explanation
from pytest_rageval.runs.documents import record_line, record_of_line
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord, CaseScores, ScoreSettings
from pytest_rageval.values.reply import AskResponse
from pytest_rageval.values.verdict import Claim
from tests.build.records import changed, cut_to_begins
from tests.build.scores import case, chunk, cite, gold, response, score_reply
from tests.build.verdicts import judged_by
from tests.report.explain.builders import S, explained, metric, recorded, runs


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("hit_at_k", "[1] at rank 2"),
        ("recall_at_k", "2 of 3 golds in the first 5 chunks; missing [0]"),
        ("recall_all_at_k", "no group is whole: [0] [1] lacks [0]; [0] lacks [0]"),
        ("group_recall_at_k", "1 of 2 golds of group [0] [1], the best"),
        ("mrr", "1 / rank 2, the first relevant chunk"),
        ("precision_at_k", "2 relevant of k = 5; 1 copy not counted"),
        ("precision_returned_at_k", "2 relevant of 5 chunks returned; 1 copy not counted"),
        ("ndcg_at_k", "DCG 2.123 / ideal 5.262 (gain 2 at rank 2 and 2 at rank 4)"),
        ("map", "(1/2 + 2/4) / 3 golds"),
        ("doc_mrr", "1 / document rank 1, the first relevant document"),
        ("doc_hit_at_k", "a.md at document rank 1"),
        ("doc_recall_at_k", "2 of 2 gold documents in the first 5 chunks"),
    ],
)
def test_each_ranking_metric_is_one_line_of_arithmetic(key: str, text: str) -> None:
    of = case(
        gold_supports=(gold("a.md | # A", grade=3), gold(S, grade=2), gold("b.md", grade=2)),
        required_support_groups=((0, 1), (0,)),
    )
    copied = chunk(S, chunk_id="1")
    chunks = (
        chunk("a.md | # X", chunk_id="0"),
        copied,
        copied,
        chunk("b.md | # B", chunk_id="3"),
        chunk("x.md", chunk_id="4"),
        chunk("a.md | # A", chunk_id="5"),
    )
    assert metric(explained(of, response(retrieved_chunks=chunks)), key).reason == text


# --- answers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "cited", "text"),
    [
        ("cite_newer", ["a.md"], "cite_newer: gold [0], the newer, is cited"),
        ("cite_newer", ["b.md"], "cite_newer: gold [0], the newer, is not cited"),
        ("cite_both", ["a.md"], "cite_both: gold [1] not cited"),
        ("cite_both", ["a.md", "b.md"], "cite_both: every gold is cited"),
    ],
)
def test_the_recency_rule_is_named_with_what_it_found(
    rule: str, cited: list[str], text: str
) -> None:
    of = case("a.md", "b.md", recency_conflict_rule=rule)
    found = explained(of, response("a.md", references=tuple(map(cite, cited))))
    assert metric(found, "recency_conflict_accuracy").reason == text


def test_an_answer_that_cites_nothing_is_explained_where_others_of_its_run_cite() -> None:
    of, reply = case(S), response(S)
    settings = ScoreSettings(citations_reported=True)
    scores = score_reply(of, reply, settings)
    record = changed(recorded(of, reply), metrics=scores.metrics)
    found = explain_record(record, settings)
    assert (found.citations, record.scores.citations) == ((), None)
    hit, recall = metric(found, "attribution_hit_rate"), metric(found, "attribution_recall")
    assert (hit.value, hit.reason) == (0, "the answer cites nothing")
    assert (recall.value, recall.reason) == (0, "0 of 1 gold cited")


def judged(of: Case, reply: AskResponse, verdicts: Verdicts, **fields: Any) -> Explanation:
    """Explain a record with verdicts, put together as a judge's would be."""
    settings = ScoreSettings(judge_configured=True)
    scores: CaseScores = score_reply(of, reply, settings, verdicts=verdicts)
    record = changed(
        recorded(of, reply),
        metrics=scores.metrics,
        not_applicable=scores.not_applicable,
        outcome=scores.outcome,
        failure_stage=scores.failure_stage,
        **fields,
    )
    return explain_record(record, settings)


def test_judged_scores_are_explained_by_what_the_judge_said() -> None:
    verdicts = Verdicts(
        scores={"groundedness": 2.0, "claim_support_rate": 0.75, "correctness": 4.0},
    )
    found = judged(
        case(S),
        response(S, abstained=False),
        verdicts,
        judgements=judged_by(
            reasoning="One claim is made up.",
            claims=tuple(Claim(text=text, supported=text != "d") for text in "abcd"),
        ),
    )
    assert metric(found, "groundedness").reason == "judge: One claim is made up."
    support = metric(found, "claim_support_rate")
    assert (support.value, support.reason) == (0.75, "3 of 4 claims supported")
    assert metric(found, "correctness").reason == "the judge's verdict"
    assert found.record.scores.failure_stage is not None
    assert found.next_steps


def test_a_failed_verdict_is_an_error_with_its_kind() -> None:
    verdicts = Verdicts(scores={"groundedness": None, "correctness": None})
    reply = response(S, abstained=False)
    found = judged(case(S), reply, verdicts, judgements=judged_by(error=("truncated", "")))
    one = metric(found, "groundedness")
    assert (one.status, one.reason) == ("error", "no valid verdict of the judge (truncated)")


@pytest.mark.parametrize(
    ("rubric", "key"),
    [
        ("quality", "quality.overall"),
        ("five_dimensions", "five.synthesis"),
        ("rubrics/tone.jinja", "tone.politeness"),
    ],
)
def test_the_metrics_of_every_rubric_are_explained_by_its_own_verdict(
    rubric: str, key: str
) -> None:
    said = judged_by("correctness", {"correctness": 4.0}, reasoning="Right.")
    said |= judged_by(rubric, {key: 0.5}, reasoning="So so.")
    plain = recorded(case(S), response(S, abstained=False))
    scored = changed(plain, metrics={**plain.scores.metrics, key: 0.5}, judgements=said)
    assert metric(explain_record(scored, ScoreSettings()), key).reason == "judge: So so."
    failed = said | judged_by(rubric, error=("refused", "no"))
    missing = changed(plain, metrics={**plain.scores.metrics, key: None}, judgements=failed)
    missing = changed(
        missing, not_applicable=dict.fromkeys(set(plain.scores.not_applicable) - {key}, "")
    )
    one = metric(explain_record(missing, ScoreSettings()), key)
    assert (one.status, one.reason) == ("error", "no valid verdict of the judge (refused)")


def test_the_composite_of_five_dimensions_is_their_weighted_mean() -> None:
    parts = {
        "five.faithfulness": 0.95,
        "five.citation_accuracy": 0.9,
        "five.abstention": 1.0,
        "five.synthesis": 1.0,
        "five.relevance": 0.95,
    }
    found = judged(case(S), response(S, abstained=False), Verdicts(scores=parts))
    one = metric(found, "five.composite")
    assert one.value == pytest.approx(0.9575)
    assert one.reason.startswith("weighted mean: faithfulness ")


# --- what is not known -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The whole text.", "it has no heading, and no anchor has snippets to look for"),
        (None, "it has no heading, full text or page to compare with an anchor"),
    ],
)
def test_an_undecided_chunk_says_what_is_missing_to_decide_it(text: str | None, said: str) -> None:
    unknown = chunk("a.md", text=text)  # no golds were decided
    record = changed(recorded(case(S), response(S)), retrieved_chunks=(unknown,))
    found = explain_record(record, ScoreSettings(headings_reported=False))
    assert found.chunks is not None
    assert found.chunks[0].reason == f"undecided: {said}"


# ---


def _ratio(text: str) -> float:
    match = re.match(r"(\d+) (?:\w+ )?of (?:k = )?(\d+)", text)
    assert match, text
    return int(match[1]) / int(match[2])


def _reciprocal(text: str) -> float:
    match = re.match(r"1 / (?:document )?rank (\d+)", text)
    return 1 / int(match[1]) if match else 0.0


def _ndcg(text: str) -> float:
    match = re.match(r"DCG ([\d.]+) / ideal ([\d.]+)", text)
    assert match, text
    return float(match[1]) / float(match[2])


def _average(text: str) -> float:
    match = re.match(r"\(?([\d/ +]+?)\)? / (\d+) gold", text)
    if not match:
        assert text.startswith("no ")
        return 0.0
    terms = [term.split("/") for term in match[1].split(" + ")]
    return sum(int(top) / int(bottom) for top, bottom in terms) / int(match[2])


SENTENCES: dict[str, Callable[[str], float]] = {
    "recall_at_k": _ratio,
    "group_recall_at_k": _ratio,
    "precision_at_k": _ratio,
    "mrr": _reciprocal,
    "ndcg_at_k": _ndcg,
    "map": _average,
    "doc_recall_at_k": _ratio,
    "doc_precision_at_k": _ratio,
    "doc_mrr": _reciprocal,
    "doc_ndcg_at_k": _ndcg,
    "doc_map": _average,
    "attribution_recall": _ratio,
    "attribution_precision": _ratio,
    "citation_in_context_rate": _ratio,
}


Run = tuple[CaseRecord, ScoreSettings]


@given(runs())
def test_every_metric_is_explained_by_its_value_its_rule_or_its_failure(run: Run) -> None:
    record, scoring = run
    found, scores = explain_record(record, scoring), record.scores
    before = scores.metrics_before_rerank or {}
    assert [one.key for one in found.metrics] == list(BUILT_IN.cases)
    for one in found.metrics:
        assert one.value == scores.metrics[one.key]
        assert one.before_rerank == before.get(one.key)
        if one.key in scores.not_applicable:
            reason = scores.not_applicable[one.key]
            assert (one.status, one.reason) == ("not_applicable", reason)
        elif one.value is None:
            assert one.status == "error"
            error = record.error
            assert error is None or one.reason == f"{error.kind}: {error.message}"
        else:
            assert one.status == "scored"
            assert one.reason
            if read := SENTENCES.get(one.key):
                assert read(one.reason) == pytest.approx(one.value, abs=2e-3), one


@settings(max_examples=20)
@given(runs())
def test_storage_changes_no_explanation_of_a_match(run: Run) -> None:
    record, scoring = run
    stored = record_of_line(record_line(cut_to_begins(record)))
    before, after = explain_record(record, scoring), explain_record(stored, scoring)
    assert [(c.golds, c.role) for c in after.chunks or ()] == [
        (c.golds, c.role) for c in before.chunks or ()
    ]
    assert [gold.ranks for gold in after.golds] == [gold.ranks for gold in before.golds]
    assert after.citations == before.citations
    assert [m.value for m in after.metrics] == [m.value for m in before.metrics]


@given(runs())
def test_expectations_golds_chunks_and_groups_tell_one_story(run: Run) -> None:
    record, scoring = run
    found, scores = explain_record(record, scoring), record.scores
    met = [one.met for one in found.expectations if one.met is not None]
    if scores.outcome != "error":
        # A target without chunks can report no folder or an empty index with nothing else known.
        unscored = scores.failure_stage in {"out_of_scope", "not_indexed"}
        assert unscored or all(met) == (scores.outcome == "passed")
        assert scores.unchecked == (not met and scores.outcome == "passed")
    assert bool(found.next_steps) >= (scores.outcome == "error" or scores.failure_stage is not None)
    for anchor in found.golds:
        matching = tuple(c.rank for c in found.chunks or () if anchor.index in c.golds)
        assert anchor.ranks == matching
        assert anchor.found == any(rank <= record.k for rank in matching)
    for delivered in found.chunks or ():
        assert (delivered.role == "relevant") == bool(delivered.golds)
        assert delivered.in_cut == (delivered.rank <= record.k)
        # With full texts at hand no chunk falls back to "as decided when it was scored".
        assert delivered.rule != "decided_at_capture"
        assert delivered.role == "irrelevant" or (delivered.rule in LIES_THERE) == bool(
            delivered.golds
        )
        assert delivered.role != "irrelevant" or delivered.irrelevant
    if found.groups and scores.metrics["recall_all_at_k"] is not None:
        whole = any(not group.lacks for group in found.groups)
        assert scores.metrics["recall_all_at_k"] == float(whole)
