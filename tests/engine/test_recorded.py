"""Recorded responses, line by line: any order, repeats, faults and pipes."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.recorded import RecordedRun
from pytest_rageval.values.errors import DatasetError
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import Settings
from tests.build.files import write_lines

SETTINGS = Settings(rootdir=".", k=2)


def case_line(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "question": f"{name}?",
        "gold_supports": [{"rel_path": f"{name}.md", "heading_path": "# A"}],
    }


def response_line(name: str, *paths: str, **more: Any) -> dict[str, Any]:
    chunks = [{"rel_path": path, "heading_path": "# A > ## B"} for path in paths]
    return {"id": name, "response": {"answer": "a", "debug": {"retrieved_chunks": chunks}}, **more}


def scored(tmp_path: Path, cases: list[Any], responses: list[Any]) -> list[CaseRecord]:
    run = RecordedRun(
        write_lines(tmp_path / "c.jsonl", *cases),
        write_lines(tmp_path / "r.jsonl", *responses),
        SETTINGS,
    )
    return list(run.records())


NAMES = [f"c{i:02}" for i in range(30)]


def test_a_record_does_not_depend_on_the_cases_around_it(tmp_path: Path) -> None:
    cases = [case_line(name) for name in NAMES]
    found = [["x.md", f"{name}.md"][: i % 3] for i, name in enumerate(NAMES)]
    responses = [
        response_line(name, *paths) for name, paths in zip(NAMES, found, strict=True) if paths
    ]
    records = scored(tmp_path, cases, responses)
    assert [record.case.id for record in records] == NAMES
    for case, record in zip(cases, records, strict=True):
        alone = [one for one in responses if one["id"] == case["id"]]
        [expected] = scored(tmp_path, [case], alone)
        assert replace(record, lineno=1) == expected


def test_the_order_of_responses_does_not_matter(tmp_path: Path) -> None:
    cases = [case_line(name) for name in NAMES]
    responses = [response_line(name, "x.md", f"{name}.md") for name in NAMES]
    expected = scored(tmp_path, cases, responses)
    assert [record.scores.metrics["mrr"] for record in expected] == [0.5] * len(NAMES)
    for seed in range(5):
        mixed = random.Random(seed).sample(responses, len(responses))
        assert scored(tmp_path, cases, mixed) == expected


def test_further_responses_of_a_case_are_repeats(tmp_path: Path) -> None:
    responses = [
        response_line("a", "x.md", repeat=2),
        response_line("a", "a.md"),
        response_line("b", "b.md"),
        response_line("a", "x.md", "a.md", repeat=1),
    ]
    found = scored(tmp_path, [case_line("a"), case_line("b")], responses)
    assert [(r.case.id, r.repeat, r.scores.metrics["mrr"]) for r in found] == [
        ("a", 0, 1.0),
        ("b", 0, 1.0),
        ("a", 1, 0.5),
        ("a", 2, 0.0),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (response_line("a", repeat=-1), "repeat: got -1, expected an integer of at least 0"),
        (response_line("a", repeat=True), "repeat: got True, expected an integer of at least 0"),
        (response_line("b", repeat=1), "id: 'b' is already that of the response on line 2"),
    ],
)
def test_a_repeat_that_is_none_is_named(line: dict[str, Any], message: str, tmp_path: Path) -> None:
    lines = [response_line("b"), response_line("b", repeat=1), line]
    with pytest.raises(DatasetError) as caught:
        scored(tmp_path, [case_line("a"), case_line("b")], lines)
    assert str(caught.value).endswith(f"r.jsonl:3: {message}")


@pytest.mark.parametrize("listed", [False, True])
def test_responses_over_several_lines_are_one_fault(tmp_path: Path, listed: bool) -> None:
    cases = write_lines(tmp_path / "c.jsonl", case_line("a"), case_line("b"))
    responses = [response_line("a", "a.md"), response_line("b", "b.md")]
    path = tmp_path / "r.jsonl"
    values = [responses] if listed else responses
    path.write_text("\n".join(json.dumps(one, indent=1) for one in values), encoding="utf-8")
    with pytest.raises(DatasetError) as caught:
        list(RecordedRun(cases, path, SETTINGS).records())
    message = r"r.jsonl:1: one JSON value is on lines 1 to \d+(, and 1 more such)?; "
    assert re.search(message + "write each object on one line$", str(caught.value))
    assert len(caught.value.faults) == 1


def test_a_recorded_failure_is_the_target_s_failure(tmp_path: Path) -> None:
    responses = [
        {"id": "a", "error": {"kind": "timeout", "message": "no reply within 60 s"}},
        {"id": "b", "response": None, "error": {"kind": "http"}},
    ]
    found = scored(tmp_path, [case_line("a"), case_line("b")], responses)
    assert [(r.error.kind, r.error.message) for r in found if r.error] == [
        ("timeout", "no reply within 60 s"),
        ("http", "recorded as failed"),
    ]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("late", "error: got 'late', expected {"),
        ({"kind": "slow"}, "error.kind: got 'slow', expected one of timeout, "),
        ({"kind": "http", "message": 5}, "error.message: got 5, expected a string"),
    ],
)
def test_a_recorded_failure_of_no_kind_is_named(
    error: object, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DatasetError) as caught:
        scored(tmp_path, [case_line("a")], [{"id": "a", "error": error}])
    assert message in str(caught.value)


def test_cases_without_a_response_are_counted(tmp_path: Path) -> None:
    run = RecordedRun(
        write_lines(tmp_path / "c.jsonl", *[case_line(name) for name in NAMES]),
        write_lines(tmp_path / "r.jsonl", response_line("c00")),
        SETTINGS,
    )
    list(run.records())
    assert run.findings.warnings == ("29 of 30 cases have no recorded response",)
