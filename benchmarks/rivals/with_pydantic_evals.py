"""Evaluation with pydantic-evals: a dataset, a task, and three evaluators per case.

Started by ``throughput.py`` with the Python of an environment of its own: URL of the mock, file of
cases, cases at once, file of records.
"""
# mypy: disable-error-code="import-not-found"
# mypy: allow-subclassing-any

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext, LLMJudge
from pydantic_evals.reporting import EvaluationReportAdapter


@dataclass
class Recall(Evaluator):
    def evaluate(self, ctx: EvaluatorContext) -> float:
        found = {chunk["rel_path"] for chunk in ctx.output["chunks"]}
        return len(found & set(ctx.metadata)) / len(ctx.metadata)


async def run(url: str, cases: Path, concurrency: int, records: Path) -> None:
    model = OpenAIChatModel("m-1", provider=OpenAIProvider(base_url=f"{url}/v1", api_key="none"))
    with cases.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    dataset = Dataset(
        name="throughput",
        cases=[
            Case(
                name=row["id"],
                inputs=row["question"],
                metadata=[support["rel_path"] for support in row["gold_supports"]],
            )
            for row in rows
        ],
        evaluators=[
            LLMJudge(rubric="The answer is grounded in the chunks.", model=model),
            LLMJudge(rubric="The answer answers the question.", model=model, include_input=True),
            Recall(),
        ],
    )
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=None)) as target:

        async def ask(question: str) -> dict[str, Any]:
            reply = await target.post(f"{url}/ask", json={"question": question, "k": 5})
            answer = reply.json()
            return {"answer": answer["answer"], "chunks": answer["debug"]["retrieved_chunks"]}

        report = await dataset.evaluate(ask, max_concurrency=concurrency, progress=False)
    records.write_bytes(EvaluationReportAdapter.dump_json(report))
    if report.failures or any(len(case.assertions) != 2 for case in report.cases):
        raise SystemExit("cases failed, or have no two verdicts")


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])))
