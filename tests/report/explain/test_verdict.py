""""""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.judges.asking import Judges, case_verdicts, judge_case
from pytest_rageval.metrics.view import view_case
from pytest_rageval.report.explain.verdict import explain_judgements, next_steps, stage_in_words
from pytest_rageval.support.threads import at_once
from pytest_rageval.values.case import Case
from pytest_rageval.values.diagnoses.target import http_code
from pytest_rageval.values.errors import target_error
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.reply import AskResponse, ErrorInfo, FolderSelection, error_info
from pytest_rageval.values.verdict import Claim, Verdict
from tests.build.judges import ScriptedJudge
from tests.build.records import changed, record
from tests.build.scores import case, chunk, cite, gold, response
from tests.build.verdicts import judged_by
from tests.report.explain.builders import S, U, explained, metric, recorded


@pytest.mark.parametrize(
    ("of", "reply", "stage", "words"),
    [
        (case(S), response("x.md", "y.md", S), "not_retrieved", "k = 3 would reach it"),
        (case(S), response(U), "not_retrieved", "came back, its section did not"),
        (
            case(gold_supports=(gold(S, snippets=("set the model",)),)),
            AskResponse(answer="a", retrieved_chunks=(chunk("a.md", text="other"),)),
            "not_retrieved",
            "came back, the quoted snippets did not",
        ),
        (
            case(gold_supports=(gold(S, pages=(3,)),)),
            AskResponse(answer="a", retrieved_chunks=(chunk("a.md", pages=(1,)),)),
            "not_retrieved",
            "came back, its pages did not",
        ),
        (case(S), response("x.md"), "not_retrieved", "No chunk of the document of gold [0]"),
        (case(S, folders=("n",)), response("n/x.md"), "not_retrieved", "folders of the case (n)"),
        (case(S, folders=("n",)), response("x.md"), "not_retrieved", "No chunk of the document"),
        (case("n/a.md", folders=("n",)), response("n/x.md"), "not_retrieved", "No chunk of the"),
        (case(S), response("x.md", f"kb/{S}"), "not_retrieved", "gold [0] (rank 2) and that"),
        (case(S), response("kb/a.pdf"), "not_retrieved", "gold [0] (rank 1) and that"),
        (case(S), response(S, references=()), "not_cited", "The context had gold [0] (rank 1)"),
        (case(S), response(S, abstained=True), "wrongly_abstained", "threshold or prompt"),
        (case(answerable=False), response(abstained=False), "hallucinated", "threshold or prompt"),
        (
            case(S),
            response(folder_selection=FolderSelection(selected_folders=("n",))),
            "out_of_scope",
            "on_with_fallback",
        ),
        (
            case(S),
            response(indexing_coverage={"chunks_embedded": 0}),
            "not_indexed",
            "indexing job",
        ),
        (
            case(S),
            response(
                retrieved_chunks=tuple(
                    chunk(where, rank_before_rerank=rank)
                    for where, rank in (("x.md", 2), ("y.md", 3), (S, 1))
                )
            ),
            "lost_in_rerank",
            "reranker's scores",
        ),
    ],
)
def test_each_failure_stage_says_what_it_means_and_what_to_try(
    of: Case, reply: AskResponse, stage: str, words: str
) -> None:
    found = explained(of, reply, k=2)
    assert found.record.scores.failure_stage == stage
    assert found.stage_meaning
    assert words in " ".join(found.next_steps)


HIDDEN = case("new.md", "old.md", recency_conflict_rule="cite_both")
OUTDATED = case("new.md", "old.md", recency_conflict_rule="cite_newer")


@pytest.mark.parametrize(
    ("of", "fields", "stage", "step"),
    [
        (
            case(S),
            {"references": (cite("https://x.example/a.md"),)},
            "not_cited",
            "Compare the paths of its citations",
        ),
        (case(S), {"references": ()}, "not_cited", "the answer has no citations"),
        (HIDDEN, {"references": (cite("new.md"),)}, "not_cited", "Cite all sources"),
        (OUTDATED, {"references": (cite("old.md"),)}, "not_cited", "Cite the newer source"),
        (case(S), {"abstained": True}, "wrongly_abstained", "threshold or prompt"),
    ],
)
def test_nothing_is_said_of_evidence_where_no_chunks_are_reported(
    of: Case, fields: dict[str, Any], stage: str, step: str
) -> None:
    found = explained(of, AskResponse(answer="a", **fields))
    assert found.record.scores.failure_stage == stage
    said = " ".join([found.stage_meaning or "", *found.next_steps])
    assert not any(word in said for word in ("was there", "was in its context", "was not in"))
    assert "cites no gold" not in said
    assert step in said
    words = stage_in_words(found.record)
    assert words is not None
    assert not any(word in words.name for word in ("evidence", "no gold"))


@pytest.mark.parametrize("kind", ["timeout", "connection", "http", "protocol", "empty"])
def test_a_failed_case_says_how_the_target_failed(kind: Any) -> None:
    error = ErrorInfo(kind=kind, message="what happened", attempts=2)
    found = explained(case(S), None, error=error)
    assert (found.record.scores.outcome, found.record.error) == ("error", error)
    assert metric(found, "mrr").reason == f"{kind}: what happened"
    assert found.next_steps


@pytest.mark.parametrize(
    ("status", "reason", "step"),
    [
        (302, "", "Set url and path"),
        (401, "upstream said HTTP 302", "Check the token or key"),
        (429, "", "--rageval-concurrency"),
        (503, "HTTP 401 from the model", "Look at the target's log"),
    ],
)
def test_the_step_for_a_refused_question_follows_its_status(
    status: int, reason: str, step: str
) -> None:
    error = error_info(target_error(http_code(status), status=status, reason=reason))
    [found] = explained(case(S), None, error=error).next_steps
    assert step in found


# ---

CLAIMS = (
    Claim(text="Thirty days.", supported=True, passage=2, reason="said there"),
    Claim(text="Forty pigeons.", supported=False, passage=1, reason="no pigeons"),
    Claim(text="On Mars.", supported=False),
)
CASE = case(S, expected_key_facts=("thirty", "days"))
# The judge never sees the first, whose text is not known.
REPLY = response(
    abstained=False,
    retrieved_chunks=(
        chunk("no-text.md", chunk_id="a"),
        chunk("b.md | # B", chunk_id="b", text="Doves."),
        chunk(S, chunk_id="c", text="Thirty days."),
    ),
)


def said(rubric: str, _: Any) -> Verdict:
    if rubric == "correctness":
        return Verdict(scores={"correctness": 2.0}, key_facts_found=(True, False))
    scores = {"claim_support_rate": 1 / 3} if rubric == "claims" else {rubric: 2.0}
    return Verdict(scores=scores, claims=CLAIMS, reasoning="So so.")


def judged(*rubrics: str, say: Any = said, **fields: Any) -> CaseRecord:
    view = view_case(CASE, REPLY, ScoreSettings())
    found = at_once(judge_case(view, Judges(ScriptedJudge(say)), rubrics=rubrics))
    plain = recorded(CASE, REPLY)
    one = record("x", retrieved_chunks=plain.reply.retrieved_chunks, case=CASE)
    return changed(replace(one, verdicts=case_verdicts(view, found)), **fields)


def test_each_claim_names_the_chunk_that_decided_by_its_rank() -> None:
    (one,) = explain_judgements(judged("groundedness"))
    assert (one.rubric, one.judge, one.scores, one.reasoning, one.error) == (
        "groundedness", "fake/1", {"groundedness": 2.0}, "So so.", None,
    )  # fmt: skip
    assert [
        (c.text, c.supported, c.rank, c.chunk and (c.chunk.rel_path, c.chunk.heading_path))
        for c in one.claims
    ] == [
        ("Thirty days.", True, 3, ("a.md", "# S")),
        ("Forty pigeons.", False, 2, ("b.md", "# B")),
        ("On Mars.", False, None, None),
    ]
    assert [c.reason for c in one.claims] == ["said there", "no pigeons", ""]


def test_a_second_opinion_stands_after_the_first_and_a_failed_one_says_why() -> None:
    right = {"groundedness": 5.0}
    second = judged_by("groundedness", right, judge="other/1", reasoning="All there.")
    second |= judged_by("correctness", judge="other/1", error=("refused", "no"))
    reasons = explain_judgements(judged("groundedness", "correctness", spot_check=second))
    assert [(r.rubric, r.judge, r.scores, r.reasoning, r.error) for r in reasons[2:]] == [
        ("groundedness, second judge", "other/1", {"groundedness": 5.0}, "All there.", None),
        ("correctness, second judge", "other/1", {}, "", "refused: no"),
    ]


@pytest.mark.parametrize(
    ("fields", "metrics", "step"),
    [
        (
            {"expected_key_facts": ("x",)},
            {"correctness": 2.0},
            "Compare the answer with expected_k",
        ),
        ({"expected_answer": "x"}, {"correctness": 2.0}, "Compare the answer with expected_answer"),
        ({}, {"correctness": 3.4}, "Give the case expected_key_facts or an expected_answer"),
        ({}, {"correctness": 5.0, "answer_rules_pass_rate": 0.0}, "The answer breaks a rule"),
        ({}, {"correctness": 5.0, "recency_conflict_accuracy": 0.0}, "The answer cites all"),
    ],
)
def test_advice_on_an_incorrect_answer_names_what_it_failed_by(
    fields: dict[str, Any], metrics: dict[str, float | None], step: str
) -> None:
    found = record("x", metrics, case=case(S, **fields), failure_stage="incorrect")
    (said_once,) = next_steps(found, (), (), ())
    assert said_once.startswith(step)
