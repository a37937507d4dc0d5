"""Evaluation with deepeval: ask the target, then evaluate the test cases by two metrics.

Started by ``throughput.py`` with the Python of an environment of its own: URL of the mock, file of
cases, test cases at once, folder of records. deepeval judges answers that are there already.
"""
# mypy: disable-error-code="import-not-found"
# mypy: allow-subclassing-any

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import httpx
from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, DisplayConfig
from deepeval.metrics import BaseMetric, GEval
from deepeval.models import OpenAIModel
from deepeval.test_case import LLMTestCase, SingleTurnParams


class Recall(BaseMetric):
    threshold = 0.5

    async def a_measure(self, test_case: LLMTestCase, **_: Any) -> float:
        return self.measure(test_case)

    def measure(self, test_case: LLMTestCase, **_: Any) -> float:
        gold, found = (set(test_case.metadata[key]) for key in ("gold", "found"))
        self.score = len(gold & found) / len(gold)
        self.success = self.score >= self.threshold
        return self.score

    def is_successful(self) -> bool:
        return bool(self.success)

    @property
    def __name__(self) -> str:
        return "recall"


async def ask_all(url: str, cases: Path, concurrency: int) -> list[LLMTestCase]:
    limit = asyncio.Semaphore(concurrency)
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=None)) as target:

        async def ask(case: dict[str, Any]) -> LLMTestCase:
            async with limit:
                reply = await target.post(f"{url}/ask", json={"question": case["question"], "k": 5})
            answer = reply.json()
            chunks = answer["debug"]["retrieved_chunks"]
            gold = [support["rel_path"] for support in case["gold_supports"]]
            found = [chunk["rel_path"] for chunk in chunks]
            return LLMTestCase(
                name=case["id"],
                input=case["question"],
                actual_output=answer["answer"],
                retrieval_context=[chunk["text"] for chunk in chunks],
                metadata={"gold": gold, "found": found},
            )

        with cases.open(encoding="utf-8") as lines:
            return await asyncio.gather(*(ask(json.loads(line)) for line in lines))


def run(url: str, cases: Path, concurrency: int, records: str) -> None:
    model = OpenAIModel(
        model="m-1",
        api_key="none",
        base_url=f"{url}/v1",
        cost_per_input_token=0.0,
        cost_per_output_token=0.0,
    )
    question, answer = SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT
    chunks = SingleTurnParams.RETRIEVAL_CONTEXT
    metrics = [
        GEval(
            name="grounded",
            evaluation_steps=["Is each claim of the answer stated in the retrieval context?"],
            evaluation_params=[answer, chunks],
            model=model,
        ),
        GEval(
            name="correct",
            evaluation_steps=["Does the answer answer the question?"],
            evaluation_params=[question, answer, chunks],
            model=model,
        ),
        Recall(),
    ]
    test_cases = asyncio.run(ask_all(url, cases, concurrency))
    found = evaluate(
        test_cases,
        metrics,
        async_config=AsyncConfig(max_concurrent=concurrency),
        display_config=DisplayConfig(
            show_indicator=False, print_results=False, results_folder=records
        ),
    )
    scored = [[one.score for one in result.metrics_data or ()] for result in found.test_results]
    if len(scored) != len(test_cases) or any(len(r) != 3 or None in r for r in scored):
        raise SystemExit("not every test case has three scores")


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
