"""Evaluation without the package: ask with httpx, judge with the openai client, and nothing else.

Started by ``throughput.py``: URL of the mock, file of cases, requests in flight, file of records,
and the transport of both clients, ``aiohttp`` or ``own``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import httpx
from openai import AsyncOpenAI


def clients(url: str, transport: str) -> tuple[httpx.AsyncClient, AsyncOpenAI]:
    """Return a client of the target and one of the judge."""
    address = f"{url}/v1"
    if transport == "own":
        limits = httpx.Limits(max_connections=None)
        return httpx.AsyncClient(limits=limits), AsyncOpenAI(base_url=address, api_key="none")
    from httpx_aiohttp import AiohttpTransport
    from openai import DefaultAioHttpClient

    judge = AsyncOpenAI(base_url=address, api_key="none", http_client=DefaultAioHttpClient())
    return httpx.AsyncClient(transport=AiohttpTransport()), judge


async def run(url: str, cases: Path, concurrency: int, records: Path, transport: str) -> None:
    limit = asyncio.Semaphore(concurrency)

    async def verdict(what: str, answer: dict[str, Any]) -> Any:
        texts = " ".join(chunk["text"] for chunk in answer["debug"]["retrieved_chunks"])
        prompt = f"Rate the {what} of: {answer['answer']}\n{texts}"
        async with limit:
            reply = await judge.chat.completions.create(
                model="m-1", temperature=0, messages=[{"role": "user", "content": prompt}]
            )
        return json.loads(reply.choices[0].message.content or "")

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

    target, judge = clients(url, transport)
    async with judge, target:
        with cases.open(encoding="utf-8") as lines, records.open("w", encoding="utf-8") as out:
            await asyncio.gather(*(one(json.loads(line)) for line in lines))


if __name__ == "__main__":
    asyncio.run(
        run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), sys.argv[5])
    )
