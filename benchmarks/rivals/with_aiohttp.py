"""Evaluation without a tool: ask and judge with asyncio and aiohttp. The floor of the comparison.

Started by ``throughput.py`` with the Python of an environment of its own: URL of the mock, file of
cases, requests in flight, file of records.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import aiohttp


async def run(url: str, cases: Path, concurrency: int, records: Path) -> None:
    limit = asyncio.Semaphore(concurrency)

    async def send(address: str, body: dict[str, Any]) -> Any:
        async with limit, session.post(address, json=body) as reply:
            return await reply.json()

    async def verdict(what: str, answer: dict[str, Any]) -> Any:
        texts = " ".join(chunk["text"] for chunk in answer["debug"]["retrieved_chunks"])
        prompt = f"Rate the {what} of: {answer['answer']}\n{texts}"
        message = {"role": "user", "content": prompt}
        body = {"model": "m-1", "temperature": 0, "messages": [message]}
        reply = await send(f"{url}/v1/chat/completions", body)
        return json.loads(reply["choices"][0]["message"]["content"])

    async def one(case: dict[str, Any]) -> None:
        answer = await send(f"{url}/ask", {"question": case["question"], "k": 5})
        verdicts = [await verdict(what, answer) for what in ("groundedness", "correctness")]
        gold = {support["rel_path"] for support in case["gold_supports"]}
        found = {chunk["rel_path"] for chunk in answer["debug"]["retrieved_chunks"]}
        record = {"id": case["id"], "hit": gold <= found, "verdicts": verdicts, "answer": answer}
        out.write(json.dumps(record) + "\n")
        out.flush()

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        with cases.open(encoding="utf-8") as lines, records.open("w", encoding="utf-8") as out:
            await asyncio.gather(*(one(json.loads(line)) for line in lines))


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])))
