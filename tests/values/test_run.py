"""Properties of a stored run whose documents may be missing or from another tool."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.values.run import ASSUMED, StoredRun
from tests.build.records import record

EMPTY = StoredRun(folder=Path("evals/results/r1"))


def test_a_run_without_documents_has_a_name_and_nothing_else() -> None:
    assert EMPTY.run_id == "r1"
    assert EMPTY.n_cases == 0
    assert (EMPTY.given, EMPTY.set, EMPTY.skipped) == ({}, {}, frozenset())
    assert (EMPTY.timeout_ms, EMPTY.wall_s, EMPTY.timestamp) == (None, None, None)
    assert (EMPTY.dataset_hash, EMPTY.config_hash) == (None, None)
    assert ASSUMED.judge == "none"


def test_the_documents_are_read_through_properties() -> None:
    config: dict[str, Any] = {
        "settings": {"target": {"timeout_s": 2.5}},
        "set": {"n_cases": 4},
        "skipped": ["evals/set.jsonl::a"],
        "wall_s": 12,
    }
    run = replace(EMPTY, config=config)
    assert run.timeout_ms == 2500
    assert run.set == {"n_cases": 4}
    assert run.skipped == {"evals/set.jsonl::a"}
    assert run.wall_s == 12.0


@pytest.mark.parametrize("wrong", [3, [], None, "", True])
def test_a_part_of_another_type_counts_as_missing(wrong: object) -> None:
    run = replace(
        EMPTY,
        config={"settings": wrong, "set": wrong, "wall_s": "soon", "timestamp": wrong},
        metrics={"dataset_hash": wrong},
    )
    assert (run.given, run.set) == ({}, {})
    assert (run.timeout_ms, run.wall_s, run.dataset_hash) == (None, None, None)
    assert not run.timestamp


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
    assert replace(EMPTY, config={"settings": {"target": target}}).timeout_ms == limit


@pytest.mark.parametrize(
    ("settings", "judge"),
    [
        ({}, None),
        ({"judge": "m"}, "m"),
        ({"judge": "m", "retrieval_only": False}, "m"),
        ({"judge": "m", "retrieval_only": True}, "none"),
    ],
)
def test_retrieval_alone_is_not_judged(settings: dict[str, Any], judge: str | None) -> None:
    assert replace(EMPTY, config={"settings": settings}).judge == judge


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
    config = {"settings": {"judge": named}, "judges": judges}
    assert replace(EMPTY, config=config).judge == judge


def test_the_numbers_document_is_asked_before_the_settings_document() -> None:
    run = replace(
        EMPTY, config={"timestamp": "old", "config_hash": "c"}, metrics={"timestamp": "new"}
    )
    assert (run.timestamp, run.config_hash) == ("new", "c")


def test_a_case_counts_once_however_often_it_was_asked() -> None:
    records = [
        record("a"),
        record("a", repeat=1),
        record("a", parameters="[small]"),
        record("a", file="evals/other.jsonl"),
    ]
    assert replace(EMPTY, records=records).n_cases == 3


@pytest.mark.parametrize(
    ("config", "concurrency"),
    [
        ({"concurrency": 16, "settings": {"concurrency": 8}}, 16),
        ({"concurrency": None, "settings": {"concurrency": 8}}, None),
        ({"settings": {"concurrency": 8}}, None),  # of each of its processes
        ({"concurrency": "8"}, None),
        ({}, None),
    ],
)
def test_the_concurrency_of_an_older_run_is_unknown(
    config: dict[str, Any], concurrency: int | None
) -> None:
    assert replace(EMPTY, config=config).concurrency == concurrency


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"cores_needed": 0.96, "concurrency": 8}, True),
        ({"cores_needed": 0.5, "concurrency": 8}, False),
        ({"cores_needed": 0.96, "concurrency": 0}, False),
        ({"cores_needed": None}, False),
        ({"cores_needed": "much"}, False),
        ({}, False),
    ],
)
def test_a_run_without_a_core_left_says_that_its_latencies_may_hold_waiting(
    config: dict[str, Any], said: bool
) -> None:
    sentence = replace(EMPTY, config=config).saturation
    assert sentence.startswith("the process needed 96 % of a core" if said else "")
    assert bool(sentence) == said
