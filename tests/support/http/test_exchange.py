"""Failures of an exchange, without a network."""

from __future__ import annotations

from pytest_rageval.support.http.address import join_url
from pytest_rageval.support.http.exchange import failure


def test_a_failure_names_the_address_without_its_secrets_and_keeps_its_cause() -> None:
    address = join_url("http://ann:pa55word@rag.test", "/ask?api_key=s3cret")
    cause = OSError("down")
    error = failure("connection", address, "no way", cause=cause)
    assert str(error) == "http://rag.test/ask: no way"
    assert (error.kind, error.__cause__) == ("connection", cause)
