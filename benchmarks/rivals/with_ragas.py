"""Evaluation with ragas: an experiment over a dataset, with two metrics of a model.

Started by ``throughput.py`` with the Python of an environment of its own: URL of the mock, file of
cases, requests at once, folder of records. ragas starts all rows at once and leaves a limit to the
experiment, so the semaphore is what its users write.
"""
# mypy: disable-error-code="import-not-found"
# mypy: allow-untyped-decorators

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import httpx
import openai
from ragas import Dataset, experiment
from ragas.backends import LocalJSONLBackend
from ragas.llms import llm_factory
from ragas.metrics import DiscreteMetric

GROUNDED = DiscreteMetric(
    name="grounded",
    allowed_values=["pass", "fail"],
    prompt="Is the answer grounded in the chunks?\nAnswer: {answer}\nChunks: {chunks}",
)
CORRECT = DiscreteMetric(
    name="correct",
    allowed_values=["pass", "fail"],
    prompt="Is the question answered?\nQuestion: {question}\nAnswer: {answer}\nChunks: {chunks}",
)


async def run(url: str, cases: Path, concurrency: int, records: Path) -> None:
    limit = asyncio.Semaphore(concurrency)
    backend = LocalJSONLBackend(str(records))
    llm = llm_factory("m-1", client=openai.AsyncOpenAI(api_key="none", base_url=f"{url}/v1"))
    with cases.open(encoding="utf-8") as lines:
        dataset = Dataset(name="cases", backend=backend, data=[json.loads(line) for line in lines])
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=None)) as target:

        @experiment(backend=backend)
        async def one(row: dict[str, Any]) -> dict[str, Any]:
            async with limit:
                reply = await target.post(f"{url}/ask", json={"question": row["question"], "k": 5})
            answer = reply.json()
            chunks = answer["debug"]["retrieved_chunks"]
            given = {
                "question": row["question"],
                "answer": answer["answer"],
                "chunks": " ".join(chunk["text"] for chunk in chunks),
            }
            verdicts = {}
            for metric in (GROUNDED, CORRECT):
                async with limit:
                    verdicts[metric.name] = (await metric.ascore(llm=llm, **given)).value
            gold = {support["rel_path"] for support in row["gold_supports"]}
            found = {chunk["rel_path"] for chunk in chunks}
            return {"id": row["id"], "recall": len(gold & found) / len(gold), **verdicts, **answer}

        kept = await one.arun(dataset, name="run")
    if len(kept) != len(dataset):
        raise SystemExit(f"{len(kept)} records of {len(dataset)} cases")


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])))
