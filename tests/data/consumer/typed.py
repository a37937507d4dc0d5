"""Code of a project that uses every kind of public name, for type checkers."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_rageval import (
    NA,
    AskRequest,
    AskResponse,
    Case,
    CaseRecord,
    Citation,
    Comparison,
    Judgement,
    JudgeRequest,
    RetrievedChunk,
    Run,
    Scored,
    Verdict,
    compare_runs,
    evaluate,
    load_cases,
    load_run,
    metric,
    score,
)


def ask(request: AskRequest) -> AskResponse:
    chunks = (RetrievedChunk(rel_path="a.md", heading_path="# A", text="a", score_final=0.5),)
    return AskResponse(
        answer=f"{request.question} {request.k}",
        references=(Citation(rel_path="a.md"),),
        retrieved_chunks=chunks,
    )


@metric("acme.short", title="Short answers", binary=True)
def short(case: Case, reply: AskResponse) -> Scored | NA:
    if not case.answerable:
        return NA("nothing to answer")
    return Scored(float(len(reply.answer or "") < 400))


def worst(run: Run) -> list[str]:
    records: list[CaseRecord] = [
        record for record in run.records if record.scores.outcome == "missed"
    ]
    return [record.case.id for record in records]


def main() -> None:
    cases: list[Case] = list(load_cases("evals/eval_set.jsonl"))
    run: Run = evaluate(cases, ask)
    other: Run = load_run("last")
    compared: Comparison = compare_runs(other, run)
    figures: Mapping[str, object] = run.means
    print(worst(run), compared, figures, JudgeRequest, Judgement, Verdict, score)
