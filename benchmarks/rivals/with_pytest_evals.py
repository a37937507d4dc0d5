"""Evaluation with pytest-evals: a parametrized test that fills the bag, and one that decides.

Started by ``throughput.py`` with the Python of an environment of its own: URL of the mock, file of
cases, workers of pytest-xdist, folder of records. The tests are in this file as well: as its users
do with xdist, pytest is started once for the cases and once for the analysis.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir=.")


def cases() -> list[dict[str, Any]]:
    if "CASES" not in os.environ:
        return []
    with Path(os.environ["CASES"]).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="session")
def client() -> Iterator[httpx.Client]:
    with httpx.Client() as found:
        yield found


@pytest.mark.eval(name="rag")
@pytest.mark.parametrize("case", cases(), ids=lambda case: case["id"])
def test_case(case: dict[str, Any], client: httpx.Client, eval_bag: Any) -> None:
    url = os.environ["MOCK_URL"]
    eval_bag.answer = answer = client.post(
        f"{url}/ask", json={"question": case["question"], "k": 5}
    ).json()
    chunks = answer["debug"]["retrieved_chunks"]
    eval_bag.verdicts = []
    for what in ("groundedness", "correctness"):
        prompt = f"Rate the {what}: {answer['answer']} " + " ".join(c["text"] for c in chunks)
        body = {
            "model": "m-1",
            "temperature": 0,
            "messages": [{"role": "user", "content": prompt}],
        }
        reply = client.post(f"{url}/v1/chat/completions", json=body).json()
        eval_bag.verdicts.append(json.loads(reply["choices"][0]["message"]["content"]))
    gold = {support["rel_path"] for support in case["gold_supports"]}
    eval_bag.recall = len(gold & {chunk["rel_path"] for chunk in chunks}) / len(gold)


@pytest.mark.eval_analysis(name="rag")
def test_recall(eval_results: Sequence[Any]) -> None:
    assert len(eval_results) == len(cases())
    assert sum(result.result.recall for result in eval_results) / len(eval_results) > 0.5


def main(file: str, workers: int, records: str) -> int:
    environment = {**os.environ, "CASES": file}
    # The plug-in fails if the folder that it reads the workers' results from is missing.
    Path(".xdist_harvested").mkdir(exist_ok=True)
    for phase in (["--run-eval", "-n", str(workers)], ["--run-eval-analysis"]):
        command = [sys.executable, *PYTEST, __file__, f"--out-path={records}", *phase]
        if code := subprocess.run(command, env=environment, check=False).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[2], min(int(sys.argv[3]), 16), sys.argv[4]))
