"""Evaluation without the package: ask and judge with asyncio and httpx.

Started by ``throughput.py``: URL of the mock, file of cases, requests in flight, file of records.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import httpx


async def run(url: str, cases: Path, concurrency: int, records: Path) -> None:
    limit = asyncio.Semaphore(concurrency)
    limits = httpx.Limits(max_connections=None)
    target, judge = httpx.AsyncClient(limits=limits), httpx.AsyncClient(limits=limits)

    async def verdict(what: str, answer: dict[str, Any]) -> Any:
        texts = " ".join(chunk["text"] for chunk in answer["debug"]["retrieved_chunks"])
        prompt = f"Rate the {what} of: {answer['answer']}\n{texts}"
        async with limit:
            message = {"role": "user", "content": prompt}
            body = {"model": "m-1", "temperature": 0, "messages": [message]}
            reply = await judge.post(f"{url}/v1/chat/completions", json=body)
        return json.loads(reply.json()["choices"][0]["message"]["content"])

    async def one(case: dict[str, Any]) -> None:
        async with limit:
            reply = await target.post(f"{url}/ask", json={"question": case["question"], "k": 5})
        answer = reply.json()
        verdicts = [await verdict(what, answer) for what in ("groundedness", "correctness")]
        gold = {support["rel_path"] for support in case["gold_supports"]}
        found = {chunk["rel_path"] for chunk in answer["debug"]["retrieved_chunks"]}
        record = {"id": case["id"], "hit": gold <= found, "verdicts": verdicts, "answer": answer}
        out.write(json.dumps(record) + "\n")
        out.flush()

    with cases.open(encoding="utf-8") as lines, records.open("w", encoding="utf-8") as out:
        await asyncio.gather(*(one(json.loads(line)) for line in lines))
    await target.aclose()
    await judge.aclose()


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])))
