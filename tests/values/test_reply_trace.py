from __future__ import annotations

import hashlib
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.values import reply
from pytest_rageval.values.reply import AskRequest

TEXTS = st.text(max_size=20)


def test_the_ids_follow_from_the_documented_formula() -> None:
    digest = hashlib.sha256(b"nightly\nevals/a.jsonl::c-1[small]\n2").hexdigest()
    found = reply.trace_id("nightly", "evals/a.jsonl::c-1[small]", 2)
    assert found == digest[:32]
    span = hashlib.sha256(f"{found}\n3".encode()).hexdigest()[:16]
    assert reply.traceparent(found, 3) == f"00-{found}-{span}-01"


@given(TEXTS, TEXTS, st.integers(0, 1000), st.integers(1, 1000))
def test_a_header_is_valid_and_read_again(
    run_id: str, nodeid: str, repeat: int, attempt: int
) -> None:
    found = reply.trace_id(run_id, nodeid, repeat)
    span = reply.span_id(found, attempt)
    assert reply.ids_of(reply.traceparent(found, attempt)) == (found, span)


def test_an_id_is_never_all_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    zero = SimpleNamespace(hexdigest=lambda: "0" * 64)
    monkeypatch.setattr(hashlib, "sha256", lambda _: zero)
    assert reply.trace_id("a", "b", 0) == "0" * 31 + "1"
    assert reply.span_id("a") == "0" * 15 + "1"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "00",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-4bf92f3577b34da6a3ce929d0e0e4736-{'0' * 16}-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
    ],
)
def test_a_header_that_the_standard_refuses_has_no_ids(header: str) -> None:
    assert reply.ids_of(header) is None


def test_a_request_outside_a_run_hands_no_trace_on() -> None:
    assert AskRequest(question="q").traceparent == ""
