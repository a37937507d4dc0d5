"""Properties of a stored run whose documents may be missing or from another tool."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.values.record import ANSWER_STAGES, STAGES, FailureStage
from pytest_rageval.values.run import ASSUMED, NO_CONFIG, StoredRun, part_of
from tests.build.records import record
from tests.build.runs import config_from

EMPTY = StoredRun(folder=Path("evals/results/r1"))


def test_a_run_without_documents_has_a_name_and_nothing_else() -> None:
    assert (EMPTY.run_id, EMPTY.n_cases, EMPTY.judge, EMPTY.timeout_ms) == ("r1", 0, None, None)
    assert (EMPTY.verdict, EMPTY.sentence, EMPTY.checks) == (None, "", ())
    assert (EMPTY.config, EMPTY.settings) == (NO_CONFIG, ASSUMED)
    assert ASSUMED.judge == "none"


@pytest.mark.parametrize(
    ("target", "limit"),
    [
        ({"url": "http://host"}, 2500),
        ({"url": None, "vault": "notes"}, 2500),
        ({"url": None, "vault": None}, None),
        ({"url": None, "vault": "notes", "client": "a:b"}, None),
    ],
)
def test_the_limit_is_that_of_requests_over_http(target: dict[str, Any], limit: object) -> None:
    target["timeout_s"] = 2.5
    assert replace(EMPTY, config=config_from(settings={"target": target})).timeout_ms == limit


@pytest.mark.parametrize(
    ("settings", "judge"),
    [
        ({"judge": "m"}, "m"),
        ({"judge": "m", "retrieval_only": False}, "m"),
        ({"judge": "m", "retrieval_only": True}, "none"),
    ],
)
def test_retrieval_alone_is_not_judged(settings: dict[str, Any], judge: str | None) -> None:
    assert replace(EMPTY, config=config_from(settings=settings)).judge == judge


@pytest.mark.parametrize(
    ("named", "judged_by", "judge"),
    [
        ("offline", ["offline/9"], "offline"),
        ("m", ["m at http://localhost/v1"], "m"),
        ("offline", ["acme/1", "acme/1", "other"], "acme/1, other"),
        ("none", ["acme/1"], "acme/1"),
    ],
)
def test_a_judge_in_the_place_of_that_of_the_settings_is_named(
    named: str, judged_by: list[str], judge: str
) -> None:
    judges = [{"judge": one} for one in judged_by]
    config = config_from(settings={"judge": named}, judges=judges)
    assert replace(EMPTY, config=config).judge == judge


def test_a_case_counts_once_however_often_it_was_asked() -> None:
    records = [
        record("a"),
        record("a", repeat=1),
        record("a", parameters="[small]"),
        record("a", file="evals/other.jsonl"),
    ]
    assert replace(EMPTY, records=records).n_cases == 3


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"cores_needed": 0.96, "concurrency": 8}, True),
        ({"cores_needed": 0.5, "concurrency": 8}, False),
        ({"cores_needed": 0.96, "concurrency": 0}, False),
        ({"cores_needed": None}, False),
        ({}, False),
    ],
)
def test_a_run_without_a_core_left_says_that_its_latencies_may_hold_waiting(
    config: dict[str, Any], said: bool
) -> None:
    sentence = replace(EMPTY, config=config_from(**config)).saturation
    assert sentence.startswith("the process needed 96 % of a core" if said else "")
    assert bool(sentence) == said


# --- parts of a system in which our stages lie


@pytest.mark.parametrize("stage", STAGES)
def test_stages_of_an_answer_lie_in_the_answer(stage: FailureStage) -> None:
    of_answer = {*ANSWER_STAGES, "wrongly_abstained", "hallucinated"}
    assert part_of(stage) == ("answer" if stage in of_answer else "retrieval")
