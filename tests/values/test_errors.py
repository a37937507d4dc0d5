"""The text of a fault in a case file, and of an error about several."""

from __future__ import annotations

import pytest

from pytest_rageval.values.errors import (
    EndpointError,
    Fault,
    JudgeError,
    RagEvalError,
    faults_error,
    target_error,
)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Fault(code="missing"), "missing"),
        (Fault(file="a.jsonl", code="missing"), "a.jsonl: missing"),
        (Fault(file="a.jsonl", line=3, code="missing"), "a.jsonl:3: missing"),
        (Fault(file="a.jsonl", line=3, field="k", code="missing"), "a.jsonl:3: k: missing"),
        (Fault(line=3, field="k", code="missing"), "k: missing"),
    ],
)
def test_a_fault_begins_with_its_place(fault: Fault, text: str) -> None:
    assert str(fault) == text


def test_an_error_lists_every_fault_and_keeps_it() -> None:
    faults = [Fault(file="a", line=line, code="missing") for line in (1, 2)]
    error = faults_error(iter(faults))
    assert str(error) == "a:1: missing\na:2: missing"
    assert error.faults == tuple(faults)


def test_an_error_of_the_target_keeps_its_kind_and_attempts() -> None:
    error = EndpointError("timeout", "no reply in 5 s", attempts=3)
    assert (str(error), error.kind, error.message, error.attempts) == (
        "no reply in 5 s",
        "timeout",
        "no reply in 5 s",
        3,
    )


def test_each_message_can_end_with_its_code() -> None:
    faults = [Fault(file="a", line=line, code="missing") for line in (1, 2)]
    assert (
        faults_error(faults).coded == "a:1: missing [input.missing]\na:2: missing [input.missing]"
    )
    assert target_error("http_server", status=503).coded == "HTTP 503 [target.http_server]"
    assert JudgeError("no_text").coded == "the reply contains no text [judge.no_text]"
    assert [one.coded for one in (RagEvalError("a\nb"), EndpointError("http", "no"))] == [
        "a\nb",
        "no",
    ]
