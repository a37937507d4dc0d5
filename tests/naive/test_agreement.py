"""The package against the definitions written a second time (``tests/naive``).

Seeded random inputs, so a failure names a row that can be run again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from random import Random
from typing import Any

import pytest

from tests.naive.evaluate import OPERATIONS, differences
from tests.naive.evaluate import evaluate as evaluate_naively
from tests.naive.generators import GENERATORS
from tests.naive.scoring import ANSWER_SIDE, CONTEXT, RETRIEVAL, SCOPE
from tests.oracles.adapter import checked_examples, evaluate

SHOWN = 3
COSTLY = {"score": 500, "rerank_delta": 120}
QUICK = 300


def draw(op: str, seed: int) -> dict[str, Any]:
    return GENERATORS[op](Random(f"{op} {seed}"))


def disagreement(op: str, seed: int) -> str | None:
    row = draw(op, seed)
    expected = evaluate_naively(op, row)
    # A crash is a disagreement with its row, not the end of the search.
    try:
        found = differences(expected, evaluate(op, row))
    except Exception as error:
        found = [f"{type(error).__name__}: {error}"]
    if not found:
        return None
    return f"{op} seed {seed}: {'; '.join(found[:SHOWN])}\n  {json.dumps(row)}"


def disagreements(op: str, seeds: range) -> list[str]:
    found = [line for seed in seeds if (line := disagreement(op, seed)) is not None]
    return sorted(found, key=len)


def test_the_second_reading_reproduces_the_checked_examples() -> None:
    rows = [row for row in checked_examples() if row["op"] in OPERATIONS]
    wrong = {
        row["id"]: found
        for row in rows
        if (
            found := differences(
                row["expected"], evaluate_naively(row["op"], row["input"]), row["tol"]
            )
        )
    }
    assert len(rows) > 100
    assert wrong == {}


@pytest.mark.parametrize("op", sorted(GENERATORS))
def test_the_package_agrees_with_the_second_reading(op: str) -> None:
    seeds = range(COSTLY.get(op, QUICK))
    found = disagreements(op, seeds)
    assert not found, f"{len(found)} of {len(seeds)}:\n" + "\n".join(found[:SHOWN])


def test_random_cases_bring_every_metric_into_every_state() -> None:
    states: dict[str, set[str]] = defaultdict(set)
    values: dict[str, set[float]] = defaultdict(set)
    for seed in range(COSTLY["score"]):
        answer = evaluate_naively("score", draw("score", seed))
        for key, status in answer["status"].items():
            states[key].add(status)
            if status == "scored":
                values[key].add(answer["metrics"][key])
    keys = {*RETRIEVAL, *SCOPE, *ANSWER_SIDE, *CONTEXT, "fallback_rate"}
    assert states.keys() == keys
    lacking = {k: s for k, s in states.items() if s != {"scored", "not_applicable", "error"}}
    assert lacking == {}
    assert {key for key, seen in values.items() if len(seen) < 2} == set()
