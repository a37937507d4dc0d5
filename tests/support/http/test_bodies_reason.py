"""Reasons that servers write into the JSON of a failed reply."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_rageval.support.http.bodies import page_text, reply_reason, reported_error

FASTAPI = {"detail": [{"loc": ["body", "question"], "msg": "Field required", "type": "missing"}]}
PROBLEM = {"type": "about:blank", "title": "Out of credit", "status": 403, "detail": "Balance 0."}
NEST = {"statusCode": 400, "message": ["k must be positive"], "error": "Bad Request"}
AZURE = {"error": {"code": "429", "message": "Slow down.", "innererror": {"code": "x"}}}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"error": "rate limit for org-1"}, "rate limit for org-1"),
        ({"error": {"message": "no such model", "type": "invalid"}}, "no such model"),
        (
            {"error": {"code": -32602, "message": "Invalid params", "data": "missing: 'q'"}},
            "Invalid params: missing: 'q'",
        ),
        (
            {
                "error": {
                    "code": -32602,
                    "message": "Invalid",
                    "data": {"errors": FASTAPI["detail"]},
                }
            },
            "Invalid: body.question: Field required",
        ),
        ({"error": {"code": 7, "message": "Down", "data": "trace"}}, "Down"),
        (AZURE, "Slow down."),
        ({"detail": "Not authenticated"}, "Not authenticated"),
        (FASTAPI, "body.question: Field required"),
        ({"detail": [{"loc": [], "msg": "Input should be a string"}]}, "Input should be a string"),
        (PROBLEM, "Out of credit: Balance 0."),
        (NEST, "Bad Request: k must be positive"),
        ({"errors": [{"message": "one"}, {"message": "two"}]}, "one: two"),
        ({"error": True, "msg": "down"}, "down"),
        ({"Message": "upper case"}, "upper case"),
        ({}, ""),
        ({"error": None}, ""),
        (["a", 1], "a"),
        ({"error": "\x1b[31mred\u202e\nnext"}, "red next"),
    ],
)
def test_the_reason_is_found_in_the_usual_shapes(document: Any, reason: str) -> None:
    assert reply_reason(json.dumps(document)) == reason


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<!doctype html><title>403</title><style>p > b {}</style><p>CSRF&#x27;s", "403 CSRF's"),
        ("<head><!-- a > b --><script>1 < 2</script ><style>cut", ""),
        ("<Error><Code>NoSuchKey</Code>", "NoSuchKey"),
        ("1 < 2 &amp; <b>", "1 < 2 &amp; <b>"),
        ("<" * 100_000, ""),
    ],
)
def test_a_page_is_its_text_and_other_bodies_stay(body: str, text: str) -> None:
    assert " ".join(page_text(body).split()) == text


def test_no_markup_keeps_a_secret_from_being_found() -> None:
    secret = "pass<word'1234"

    def hide(text: str) -> str:
        return text.replace(secret, "***")

    for body in (f"<p>key {secret} is wrong", "<p>key pass&lt;word&#39;1234 is wrong"):
        assert page_text(body, hide).strip() == "key *** is wrong"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"code": 102, "message": "You don't own the chat"}, "You don't own the chat"),
        (
            {"type": "abort", "error": "no such workspace", "textResponse": None},
            "no such workspace",
        ),
        ({"answer": "", "error_msg": "LLM timed out"}, "LLM timed out"),
        ({"success": False, "message": "no index"}, "no index"),
        ({"ok": False, "message": "no index"}, "no index"),
        ({"ok": True, "message": "The answer is 4."}, ""),
        ({"status": "error", "detail": "no index"}, "no index"),
        ({"code": 0, "message": "success", "data": {}}, ""),
        ({"code": 200, "message": "ok"}, ""),
        ({"message": "The answer is 4."}, ""),
        ({"error": None, "answer": ""}, ""),
        ("text", ""),
    ],
)
def test_an_error_under_a_status_of_success_is_recognised(reply: Any, reason: str) -> None:
    assert reported_error(reply) == reason
