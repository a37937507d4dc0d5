"""Evaluation with inspect-ai: a task whose solver asks the target, and three scorers.

Started by ``throughput.py`` with the Python of an environment of its own: URL of the mock, file of
cases, samples and judge requests at once, folder of records.
"""
# mypy: disable-error-code="import-not-found"
# mypy: allow-untyped-decorators

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

import httpx
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import Score, mean, model_graded_qa, scorer
from inspect_ai.solver import solver

REPLY: Final = 'Reply with JSON: {"grade": "C" or "I", "reason": ...}'
GRADE: Final = r'"grade": "([CI])"'
GROUNDED: Final = "Is each claim of {answer} stated in these chunks?\n{chunks}\n{instructions}"
CORRECT: Final = "Is {question} answered by {answer}?\n{chunks}\n{instructions}"


@solver
def ask(url: str, target: httpx.AsyncClient) -> Any:
    async def solve(state: Any, generate: Any) -> Any:
        reply = await target.post(f"{url}/ask", json={"question": state.input_text, "k": 5})
        answer = reply.json()
        chunks = answer["debug"]["retrieved_chunks"]
        state.output = ModelOutput.from_content("target", answer["answer"])
        state.metadata["chunks"] = " ".join(chunk["text"] for chunk in chunks)
        state.metadata["found"] = [chunk["rel_path"] for chunk in chunks]
        return state

    return solve


@scorer(metrics=[mean()])
def recall() -> Any:
    async def score(state: Any, target: Any) -> Score:
        gold = set(state.metadata["gold"])
        return Score(value=len(gold & set(state.metadata["found"])) / len(gold))

    return score


def run(url: str, cases: Path, concurrency: int, records: str) -> None:
    judge = get_model("openai/m-1", base_url=f"{url}/v1", api_key="none", responses_api=False)
    with cases.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    samples = [
        Sample(
            id=row["id"],
            input=row["question"],
            metadata={"gold": [support["rel_path"] for support in row["gold_supports"]]},
        )
        for row in rows
    ]
    target = httpx.AsyncClient(limits=httpx.Limits(max_connections=None))
    graders = [
        model_graded_qa(template, instructions=REPLY, grade_pattern=GRADE, model=judge)
        for template in (GROUNDED, CORRECT)
    ]
    task = Task(
        name="throughput",
        dataset=MemoryDataset(samples),
        solver=ask(url, target),
        scorer=[*graders, recall()],
    )
    (log,) = eval(
        task,
        model=judge,
        max_samples=concurrency,
        max_connections=concurrency,
        log_dir=records,
        display="none",
    )
    scores = [sample.scores or {} for sample in log.samples or ()]
    if log.status != "success" or [len(one) for one in scores] != [3] * len(rows):
        raise SystemExit(f"{log.status}: not every sample has three scores")


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
