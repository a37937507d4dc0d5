"""Calls of clients of the user, as the tests of them make and read them."""

from __future__ import annotations

from pytest_rageval.values.reply import AskRequest, AskResponse, AskResult
from tests.build.asking import ask_client

QUESTION = AskRequest(question="q")


def call(client: object) -> AskResult:
    ticks = iter([1.0, 1.5])
    return ask_client(client, QUESTION, clock=lambda: next(ticks))


def response_of(result: AskResult) -> AskResponse:
    assert result.error is None
    assert result.response is not None
    return result.response


def error_of(result: AskResult) -> tuple[str, str]:
    assert result.response is None
    assert result.error is not None
    return result.error.kind, result.error.message
