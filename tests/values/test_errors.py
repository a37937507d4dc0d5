"""The text of a fault in a case file, and of an error about several."""

from __future__ import annotations

import pytest

from pytest_rageval.values import errors
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


def test_a_message_is_never_much_longer_than_a_screen() -> None:
    assert str(RagEvalError("x" * 1000)) == "x" * 1000
    assert str(RagEvalError(f"a\n{'x' * 1001}\nb")) == f"a\n{'x' * 997}...\nb"
    assert str(RagEvalError("a\n" * 2000)).splitlines()[-2:] == ["a", "and 1,701 more lines"]
    assert EndpointError("http", "x" * 5000).message == "x" * 997 + "..."


def test_an_error_lists_every_fault_and_keeps_it() -> None:
    faults = [Fault(file="a", line=line, code="missing") for line in (1, 2)]
    error = faults_error(iter(faults))
    assert str(error) == "a:1: missing\na:2: missing"
    assert error.faults == tuple(faults)


def test_every_exception_of_the_module_is_caught_as_one_of_the_package() -> None:
    found = [one for one in vars(errors).values() if isinstance(one, type)]
    raised = [one for one in found if issubclass(one, Exception)]
    assert len(raised) == 6
    assert all(issubclass(one, RagEvalError) for one in raised)


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
    assert JudgeError("no", code="timeout").coded == "no [judge.timeout]"
    assert [one.coded for one in (RagEvalError("a\nb"), EndpointError("http", "no"))] == [
        "a\nb",
        "no",
    ]
