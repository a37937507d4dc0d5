"""The numbers of a run in its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.runs.read import read_documents
from pytest_rageval.runs.store import write_numbers
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord
from tests.build.records import failed, hits, record
from tests.build.verdicts import called


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def document(records: list[CaseRecord], name: str = "metrics") -> dict[str, Any]:
    write_numbers(Path.cwd(), aggregate(records))
    found: dict[str, Any] = json.loads(Path(f"{name}.json").read_bytes())
    return found


def places(value: object, words: tuple[str, ...], path: str = "") -> list[str]:
    """Paths of the keys that hold one of the words."""
    if not isinstance(value, dict):
        return []
    found = [f"{path}.{key}" for key in value if any(word in str(key) for word in words)]
    return found + [p for k, v in value.items() for p in places(v, words, f"{path}.{k}")]


RUN = [
    *hits(1, 0, 1, latency={"total_ms": 5, "retrieval_ms": 2}, tags=("work",)),
    record("z", judgements=called(5, usd=0.1), vaults=("v",)),
    failed("y", "timeout"),
]


@pytest.mark.parametrize("records", [RUN, []], ids=["run", "nothing"])
def test_numbers_are_read_as_they_were_written(records: list[CaseRecord]) -> None:
    write_numbers(Path.cwd(), aggregate(records))
    found = read_documents(Path.cwd()).aggregate
    assert found is not None
    assert found.by_tag.keys() == aggregate(records).by_tag.keys()
    assert document(records)["schema_version"] == 1
    small = read_documents(Path.cwd(), groups=False).aggregate
    assert small is not None
    assert (small.metrics, small.latency, small.by_tag) == (found.metrics, found.latency, {})


def test_means_have_counts_and_an_interval() -> None:
    found = document(RUN)["metrics"]["hit_at_k"]
    assert (found["n"], found["n_not_applicable"], found["n_error"]) == (3, 2, 0)
    assert found["method"] == "wilson"
    assert found["low"] < found["mean"] < found["high"]


def test_a_mean_that_is_missing_has_a_reason() -> None:
    found = document([failed("a", metrics={"mrr": None})])["metrics"]
    assert found["mrr"]["reason"] == "no case was scored (0 not applicable, 1 error)"
    assert found["map"]["reason"] == "no case was scored (1 not applicable, 0 errors)"


def test_times_and_money_have_their_own_places() -> None:
    found = document(RUN)
    times = places(found, ("_ms", "_s_", "wall"))
    money = [
        place
        for place in places(found, ("usd", "token", "cost_"))
        if place.rpartition(".")[2] not in BUILT_IN.cases  # a context's tokens
    ]
    assert times
    assert all(place.startswith(".latency") for place in times)
    assert set(money) == {".cost_usd", ".cost_usd_uncached", ".judge_tokens"}


def test_groups_are_apart_and_without_what_applies_to_none_of_their_cases() -> None:
    found = document(RUN, "groups")
    assert list(found["by_tag"]["work"]) == ["hit_at_k"]
    assert found["by_tag"]["work"]["hit_at_k"]["mean"] == pytest.approx(2 / 3)
    assert found["by_category"]["general"]["hit_at_k"]["n"] == 3
    assert document(RUN).keys().isdisjoint(found.keys() - {"schema_version"})


def test_correctness_stands_apart_by_reference_with_its_counts() -> None:
    records = [
        record(name, {"correctness": score}, case=Case(id=name, question="?", expected_answer=text))
        for name, score, text in (("a", 2.0, "so"), ("b", 4.0, None))
    ]
    apart = document(records)["correctness_by_reference"]
    assert {name: (part["mean"], part["n"]) for name, part in apart.items()} == {
        "reference": (2.0, 1),
        "no_reference": (4.0, 1),
    }
    assert document(records[:1])["correctness_by_reference"] == {}
