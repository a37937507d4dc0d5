from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.judges.asking import Judges, case_verdicts, judge_case
from pytest_rageval.metrics.view import view_case
from pytest_rageval.report.explain.verdict import (
    explain_judgements,
    next_steps,
)
from pytest_rageval.support.threads import at_once
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.verdict import Claim, Verdict
from tests.build.judges import ScriptedJudge
from tests.build.records import changed, record
from tests.build.scores import case, chunk, response
from tests.build.verdicts import judged_by
from tests.report.explain.builders import S, recorded

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
