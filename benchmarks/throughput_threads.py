"""Evaluation without the package: ask and judge with threads and the standard library alone.

Started by ``throughput.py``: URL of the mock, file of cases, requests in flight, file of records.
"""

from __future__ import annotations

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


def run(url: str, cases: Path, concurrency: int, records: Path) -> None:
    address = urlsplit(url).netloc
    own = threading.local()
    headers = {"Content-Type": "application/json"}

    def send(path: str, body: dict[str, Any]) -> Any:
        if not hasattr(own, "connection"):
            own.connection = HTTPConnection(address)
        own.connection.request("POST", path, json.dumps(body), headers)
        return json.loads(own.connection.getresponse().read())

    def verdict(what: str, answer: dict[str, Any]) -> Any:
        texts = " ".join(chunk["text"] for chunk in answer["debug"]["retrieved_chunks"])
        prompt = f"Rate the {what} of: {answer['answer']}\n{texts}"
        message = {"role": "user", "content": prompt}
        body = {"model": "m-1", "temperature": 0, "messages": [message]}
        reply = send("/v1/chat/completions", body)
        return json.loads(reply["choices"][0]["message"]["content"])

    def one(case: dict[str, Any]) -> str:
        answer = send("/ask", {"question": case["question"], "k": 5})
        verdicts = [verdict(what, answer) for what in ("groundedness", "correctness")]
        gold = {support["rel_path"] for support in case["gold_supports"]}
        found = {chunk["rel_path"] for chunk in answer["debug"]["retrieved_chunks"]}
        record = {"id": case["id"], "hit": gold <= found, "verdicts": verdicts, "answer": answer}
        return json.dumps(record) + "\n"

    with (
        cases.open(encoding="utf-8") as lines,
        records.open("w", encoding="utf-8") as out,
        ThreadPoolExecutor(concurrency) as threads,
    ):
        for line in threads.map(one, [json.loads(line) for line in lines]):
            out.write(line)
            out.flush()


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
