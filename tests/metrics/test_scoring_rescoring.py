"""Whether a target reports headings is a fact of the whole run: records scored again."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.engine.case import CaseRepeat, record_of
from pytest_rageval.metrics.scoring import reported_by, settle, settled_together
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.support.threads import at_once
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import (
    CaseRecord,
    CheckedClaim,
    CitationCheck,
    Evidence,
    Reported,
    ScoreSettings,
)
from pytest_rageval.values.reply import (
    AskResponse,
    AskResult,
    ErrorInfo,
    FolderSelection,
    RetrievedChunk,
)
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import Judgement
from tests.build.records import changed, cut_to_begins
from tests.build.scores import case, chunk, cite, gold, response, score_reply
from tests.build.verdicts import judged_by

SETTINGS = Settings(rootdir="", judge="none")
TIMEOUT = ErrorInfo(kind="timeout", message="no reply", attempts=1)
EMPTY = ErrorInfo(kind="empty", message="the answer is empty", attempts=1)


def located(of: Case) -> LocatedCase:
    return LocatedCase(case=of, lineno=3)


def asked(of: Case, reply: AskResponse | None, error: ErrorInfo | None = None) -> CaseRecord:
    result = AskResult(response=reply, error=error, total_ms=12.0)
    record = at_once(record_of(CaseRepeat(located(of), "evals/set.jsonl", SETTINGS), result))
    return cut_to_begins(record)


def settled(of: Case, record: CaseRecord, *, reported: bool) -> CaseRecord:
    return settle(
        record,
        located(of).case,
        SETTINGS,
        Reported(headings=reported, citations=record.scores.citations is not None),
    )


GOLD = "a.md | # A > ## B"
REPLIES = {
    "found": response("a.md", "b.md", answer="So it is. [1] [9]"),
    "not found": response("b.md"),
    "cited": response("b.md", answer="See [File: a.md, Section: B]", references=(cite("c.md"),)),
    "abstained": response("b.md", abstained=True),
    "out of scope": response(
        "b.md", folder_selection=FolderSelection(selected_folders=("elsewhere",))
    ),
    "empty index": response("b.md", indexing_coverage={"chunks_embedded": 0}),
    "long": response("a.md", answer="x" * 200_000 + "[1]"),
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
@pytest.mark.parametrize(
    "of",
    [
        case(GOLD),
        case(GOLD, answerable=False),
        case(GOLD, "a.md", required_support_groups=((0,), (1,))),
    ],
    ids=["answerable", "unanswerable", "groups"],
)
def test_a_stored_record_settles_as_if_it_had_been_scored_with_headings(
    of: Case, reply: AskResponse
) -> None:
    guessed = asked(of, reply)
    fresh = score_reply(of, reply, ScoreSettings(headings_reported=True))
    found = settled(of, guessed, reported=True)
    assert dict(found.scores.metrics) == dict(fresh.metrics)
    assert dict(found.scores.not_applicable) == dict(fresh.not_applicable)
    assert (found.scores.outcome, found.scores.failure_stage) == (
        fresh.outcome,
        fresh.failure_stage,
    )
    assert (found.scores.metrics != guessed.scores.metrics) == of.answerable
    assert found.scores.citations == guessed.scores.citations


def test_an_empty_answer_keeps_its_error_when_it_settles() -> None:
    found = settled(
        case(GOLD), asked(case(GOLD), response("a.md", answer=""), EMPTY), reported=True
    )
    assert (found.scores.outcome, found.error) == ("error", EMPTY)
    assert found.scores.metrics["hit_at_k"] == 0


@pytest.mark.parametrize(("where", "status"), [(GOLD, "not applicable"), ("a.md", "error")])
def test_a_failed_case_of_a_run_without_headings_has_no_anchor_metrics_to_fail(
    where: str, status: str
) -> None:
    found = settled(case(where), asked(case(where), None, TIMEOUT), reported=False)
    assert (found.scores.outcome, found.scores.metrics["hit_at_k"]) == ("error", None)
    assert ("hit_at_k" in found.scores.not_applicable) == (status == "not applicable")
    assert "doc_hit_at_k" not in found.scores.not_applicable


@pytest.mark.parametrize(
    ("chunks", "reported"), [(("a.md",), False), (("a.md | # A",), True), ((), True)]
)
def test_a_record_that_was_guessed_right_is_left_alone(chunks: Any, reported: bool) -> None:
    record = asked(case(GOLD), response(*chunks))
    assert settled(case(GOLD), record, reported=reported) is record


def test_vectors_are_not_needed_again() -> None:
    chunks = (RetrievedChunk(rel_path="a.md", embedding=(1.0, 1.0)),)
    reply = AskResponse(answer="a", retrieved_chunks=chunks, query_embedding=(1.0, 0.0))
    guessed = asked(case(GOLD), reply)
    assert guessed.scores.metrics["query_chunk_similarity"] == pytest.approx(0.5**0.5)
    found = settled(case(GOLD), guessed, reported=True)
    assert found.scores.metrics["hit_at_k"] == 0
    assert (
        found.scores.metrics["query_chunk_similarity"]
        == guessed.scores.metrics["query_chunk_similarity"]
    )


def test_verdicts_stand() -> None:
    guessed = asked(case(GOLD), response("b.md"))
    reasons = {k: v for k, v in guessed.scores.not_applicable.items() if k != "groundedness"}
    judged = changed(
        guessed, metrics={**guessed.scores.metrics, "groundedness": 2.0}, not_applicable=reasons
    )
    found = settled(case(GOLD), judged, reported=True)
    assert (found.scores.metrics["hit_at_k"], found.scores.metrics["groundedness"]) == (0, 2.0)
    assert found.scores.failure_stage == "not_retrieved"


def test_copies_are_told_from_texts_that_only_begin_alike() -> None:
    begin = "the same words " * 20
    texts = [f"{begin} one", f"{begin} two", f"{begin} ONE"]
    chunks = tuple(RetrievedChunk(rel_path="a.md", text=text) for text in texts)
    reply = AskResponse(answer="a", retrieved_chunks=chunks)
    stored = asked(case("a.md", "b.md | # B"), reply)
    assert stored.reply.retrieved_chunks is not None
    assert {len(chunk.text or "") for chunk in stored.reply.retrieved_chunks} == {200}
    found = settled(case("a.md", "b.md | # B"), stored, reported=True)
    assert found.scores.metrics["precision_returned_at_k"] == pytest.approx(2 / 3)


def test_a_margin_over_anchors_that_cannot_be_told_does_not_stand() -> None:
    of = case("a.md", "b.md | # B")
    chunks = (
        RetrievedChunk(rel_path="a.md", embedding=(1.0, 0.0), heading_path="# X"),
        RetrievedChunk(rel_path="c.md", embedding=(0.0, 1.0)),
    )
    reply = AskResponse(answer="a", retrieved_chunks=chunks, query_embedding=(1.0, 0.0))
    guessed = asked(of, reply)
    assert guessed.scores.metrics["similarity_margin"] == pytest.approx(1.0)
    assert "similarity_margin" in settled(of, guessed, reported=False).scores.not_applicable


@pytest.mark.parametrize(
    ("judgements", "without_evidence"),
    [
        (judged_by("abstention", abstained=True), 0),
        (judged_by("abstention", abstained=False), 1),
        (judged_by("abstention", error=("refused", "no")), None),
        ({}, None),
    ],
)
def test_a_record_settles_with_the_verdict_of_its_judge_on_abstention(
    judgements: dict[str, Judgement], without_evidence: float | None
) -> None:
    record = changed(asked(case(GOLD), response("a.md")), judgements=judgements)
    found = settled(case(GOLD), record, reported=True)
    assert found.scores.metrics["sufficient_context"] == 0
    assert found.scores.metrics["answered_without_evidence"] == without_evidence


def test_scores_of_a_rubric_of_ones_own_outlive_the_settling() -> None:
    of = case(GOLD)
    record = asked(of, REPLIES["not found"])
    own: dict[str, float | None] = {"tone.warmth": 0.5, "tone.plainness": None}
    record = changed(record, metrics={**record.scores.metrics, **own})
    assert settled(of, record, reported=True) is not record
    assert settled(of, record, reported=True).scores.metrics.items() >= own.items()


# --- citations -------------------------------------------------------------------------------


def test_a_silent_answer_cites_nothing_once_any_answer_of_the_run_cites() -> None:
    cites = asked(case(GOLD), response("a.md", answer="So it is. [1]"))
    silent = asked(case(GOLD), response("a.md", answer="So it is."))
    assert silent.scores.metrics["attribution_hit_rate"] is None
    facts = reported_by([silent, cites])
    assert facts == Reported(headings=False, texts=False, pages=False, citations=True)
    found = settle(silent, silent.case, SETTINGS, facts)
    assert (
        found.scores.metrics["attribution_hit_rate"],
        found.scores.metrics["attribution_recall"],
    ) == (0, 0)
    assert found.scores.failure_stage == "not_cited"
    assert found.scores.metrics["attribution_precision"] is None
    assert "attribution_precision" in found.scores.not_applicable
    assert found.scores.citations is None
    assert settle(found, found.case, SETTINGS, facts) == found
    assert settle(cites, cites.case, SETTINGS, facts) is cites


def test_in_a_run_without_any_citation_attribution_stays_not_applicable() -> None:
    silent = asked(case(GOLD), response("a.md", answer="So it is."))
    facts = reported_by([silent])
    assert not facts.citations
    assert (
        settle(silent, silent.case, SETTINGS, facts).scores.metrics["attribution_hit_rate"] is None
    )


CONFLICT = case(GOLD, "b.md", recency_conflict_rule="cite_newer")


@pytest.mark.parametrize("of", [case(GOLD), CONFLICT])
def test_a_part_scored_with_citations_is_scored_again_for_a_whole_without(of: Case) -> None:
    silent = asked(of, response("a.md", answer="So it is."))
    part = settle(silent, silent.case, SETTINGS, Reported(headings=False, citations=True))
    whole = settle(
        part, part.case, SETTINGS, Reported(headings=False, citations=False), settled_before=True
    )
    assert dict(whole.scores.metrics) == dict(silent.scores.metrics)
    assert dict(whole.scores.not_applicable) == dict(silent.scores.not_applicable)


def test_a_failed_case_is_an_error_whatever_the_run_cites() -> None:
    lost = asked(case(GOLD), None, TIMEOUT)
    found = settle(lost, lost.case, SETTINGS, Reported(headings=True, citations=True))
    assert found.scores.metrics["attribution_hit_rate"] is None
    assert "attribution_hit_rate" not in found.scores.not_applicable


# --- evidence without headings ---------------------------------------------------------------

QUOTED = case(gold_supports=(gold(GOLD, snippets=("set the model",)),))
PAGED = case(gold_supports=(gold("m.pdf", pages=(3,)),))


def test_texts_of_the_run_decide_whether_a_case_with_paths_alone_applies() -> None:
    bare = asked(QUOTED, response("b.md"))
    assert "its whole text" in bare.scores.not_applicable["recall_at_k"]
    others = asked(QUOTED, AskResponse(answer="a", retrieved_chunks=(chunk("a.md", text="x"),)))
    facts = reported_by([bare, others])
    assert (facts.headings, facts.texts, facts.pages) == (False, True, False)
    assert settle(others, QUOTED, SETTINGS, facts) is others
    found = settle(bare, QUOTED, SETTINGS, facts)
    assert "A chunk in the cut" in found.scores.not_applicable["recall_at_k"]


def test_a_chunk_without_heading_is_a_miss_once_others_of_the_run_have_one() -> None:
    bare = asked(case(GOLD), response("a.md"))
    assert [one.matched_golds for one in bare.reply.retrieved_chunks or ()] == [None]
    found = settled(case(GOLD), bare, reported=True)
    assert [one.matched_by for one in found.reply.retrieved_chunks or ()] == [("heading",)]
    assert found.scores.metrics["recall_at_k"] == 0


def test_a_decision_by_snippet_is_not_lost_when_a_record_settles() -> None:
    long = f"{'y ' * 300}set the model"
    reply = AskResponse(answer="a", retrieved_chunks=(chunk("a.md", text=long),))
    record = asked(QUOTED, reply)  # stored as the beginnings of its texts
    [stored] = record.reply.retrieved_chunks or ()
    assert (stored.matched_golds, stored.text_truncated) == ((0,), True)
    for facts in (Reported(), Reported(headings=False)):
        found = settle(record, QUOTED, SETTINGS, facts)
        assert [one.matched_by for one in found.reply.retrieved_chunks or ()] == [("snippet",)]
        assert found.scores.metrics["recall_at_k"] == 1


def test_pages_of_the_run_decide_whether_a_case_that_names_pages_applies() -> None:
    bare = asked(PAGED, response("b.md | # B"))
    assert "its pages" in bare.scores.not_applicable["recall_at_k"]
    paged = AskResponse(answer="a", retrieved_chunks=(chunk("m.pdf", pages=(3, 4)),))
    facts = reported_by([bare, asked(PAGED, paged)])
    assert settle(bare, PAGED, SETTINGS, facts).scores.metrics["recall_at_k"] == 0


def test_a_citation_of_a_chunk_is_decided_with_the_chunk_once_the_run_is_known() -> None:
    conflict = asked(CONFLICT, response("a.md", answer="So it is [1]."))
    assert "A cited chunk" in conflict.scores.not_applicable["recency_conflict_accuracy"]
    decided = settled(CONFLICT, conflict, reported=True)
    assert decided.scores.metrics["recency_conflict_accuracy"] == 0
    bare = asked(case(GOLD), response("a.md", answer="So it is [1]."))
    assert "A cited chunk" in bare.scores.not_applicable["attribution_hit_rate"]
    found = settled(case(GOLD), bare, reported=True)
    assert (found.scores.metrics["attribution_hit_rate"], found.scores.failure_stage) == (
        0,
        "not_retrieved",
    )
    blank = AskResponse(answer="[1]", retrieved_chunks=(chunk("a.md | ", text="set the model"),))
    quoted = asked(QUOTED, blank)
    assert (
        quoted.scores.metrics["recall_at_k"],
        quoted.scores.metrics["attribution_hit_rate"],
    ) == (1, 1)
    headed = settled(QUOTED, quoted, reported=True)
    assert (
        headed.scores.metrics["recall_at_k"],
        headed.scores.metrics["attribution_precision"],
    ) == (0, 0)


def test_a_metric_that_an_older_version_did_not_know_is_not_added() -> None:
    guessed = asked(case(GOLD), REPLIES["found"])
    older = {k: v for k, v in guessed.scores.metrics.items() if k not in {"mrr", "map"}}
    stored = changed(guessed, metrics=older)
    found = settled(case(GOLD), stored, reported=True)
    assert found.scores.metrics.keys() == older.keys()
    assert "mrr" not in found.scores.not_applicable


def test_records_of_parts_settle_together_in_the_order_of_the_run() -> None:
    records = [
        changed(asked(case(GOLD), response(*chunks)), lineno=line, repeat=repeat)
        for chunks, line, repeat in ((["a.md | # B"], 9, 0), (["a.md"], 2, 1), (["a.md"], 2, 0))
    ]
    found = settled_together(records, SETTINGS)
    assert [(one.lineno, one.repeat) for one in found] == [(2, 0), (2, 1), (9, 0)]
    assert [one.scores.metrics["hit_at_k"] for one in found] == [0, 0, 0]


def test_a_record_with_nothing_to_score_again_is_left_alone() -> None:
    lost = changed(asked(case(GOLD), None, TIMEOUT), error=None)
    assert settled(case(GOLD), lost, reported=False) is lost
    claim = CheckedClaim(text="So it is.", citations=(CitationCheck(ranks=(1,)),))
    seen = changed(asked(case(GOLD), REPLIES["found"]), evidence=Evidence(claims=(claim,)))
    facts = Reported(
        headings=False, texts=False, pages=False, citations=True, citations_in_text=True
    )
    assert settle(seen, case(GOLD), SETTINGS, facts, settled_before=True) is seen


@pytest.mark.parametrize("in_text", [True, False])
def test_what_a_judge_found_of_citations_stands_where_the_record_has_them(in_text: bool) -> None:
    of = case(GOLD, "b.md", recency_conflict_rule="acknowledge_both")
    claim = CheckedClaim(text="So.", citations=(CitationCheck(ranks=(1,)),) if in_text else ())
    record = asked(of, response("a.md", "b.md", answer="So. [1] [2]"))
    found = {"recency_conflict_accuracy": 1.0, "citation_support_recall": 0.25}
    record = changed(
        record, metrics={**record.scores.metrics, **found}, evidence=Evidence(claims=(claim,))
    )
    scores = settled(of, record, reported=True).scores.metrics
    assert scores["attribution_recall"] == 0.5  # not as stored
    assert scores["recency_conflict_accuracy"] == 1
    assert scores["citation_support_recall"] == (0.25 if in_text else None)
