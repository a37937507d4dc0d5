"""Kinds and messages of failed verdicts, over a real socket."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.build.hostile_judge import Canned, completion, error
from tests.judges.model.conftest import OpenJudge
from tests.judges.model.groundedness_replies import GOOD, REQUEST, failed, scored


@pytest.mark.parametrize("content", ["I cannot say.", "[5]", '{"score": ', "", "   ", None, 5, {}])
def test_no_object_of_the_shape_is_unparseable_after_one_repair(
    open_judge: OpenJudge, content: Any
) -> None:
    judge, server = open_judge([completion(content)])
    judgement = judge.judge("groundedness", REQUEST)
    assert judgement.failure is not None
    assert judgement.failure.kind == "unparseable"
    assert judgement.repaired
    assert len(server.asked) == 2


@pytest.mark.parametrize("score", ["6", "-1", "1e999", "NaN", "Infinity", '"NaN"', "5.1"])
def test_a_score_off_its_scale_is_out_of_range(open_judge: OpenJudge, score: str) -> None:
    failure = failed(open_judge, completion(scored(score)))
    assert failure.kind == "out_of_range"
    assert failure.raw is not None
    assert "score" in failure.raw


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("content", [None, "", "\n\n"])
def test_a_reply_that_stands_in_the_place_of_thoughts_is_read(
    open_judge: OpenJudge, name: str, content: str | None
) -> None:
    message = {"role": "assistant", "content": content, name: f"\n{GOOD}"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    judge, server = open_judge([completion("", choices=choices)])
    assert judge.judge("groundedness", REQUEST).verdict is not None
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("thoughts", "finish_reason", "kind"),
    [
        (f"A draft: {GOOD}", "stop", "unparseable"),
        (f"{GOOD} Or rather less?", "stop", "unparseable"),
        (GOOD, "length", "truncated"),
    ],
)
def test_thoughts_without_a_reply_are_no_verdict(
    open_judge: OpenJudge, thoughts: str, finish_reason: str, kind: str
) -> None:
    message = {"role": "assistant", "content": "", "reasoning_content": thoughts}
    choices = [{"index": 0, "message": message, "finish_reason": finish_reason}]
    assert failed(open_judge, completion("", choices=choices)).kind == kind


def test_a_refusal_is_refused_without_a_second_try(open_judge: OpenJudge) -> None:
    judge, server = open_judge([completion(None, refusal="I can't help with that.")])
    failure = judge.judge("groundedness", REQUEST).failure
    assert failure is not None
    assert failure.kind == "refused"
    assert "I can't help with that." in failure.message
    assert len(server.asked) == 1


@pytest.mark.parametrize("message", [None, {"role": "assistant"}])
def test_the_filter_of_gemini_which_may_leave_out_the_message_is_refused(
    open_judge: OpenJudge, message: Any
) -> None:
    choice = {"index": 0, "finish_reason": "content_filter: PROHIBITED_CONTENT"}
    choices = [choice if message is None else {**choice, "message": message}]
    judge, server = open_judge([completion("", choices=choices)])
    failure = judge.judge("groundedness", REQUEST).failure
    assert failure is not None
    assert failure.kind == "refused"
    assert failure.message.endswith("stopped the reply: PROHIBITED_CONTENT")
    assert len(server.asked) == 1


FLAGGED = "your prompt was flagged as potentially violating our usage policy."
FILTERED = (
    "litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException - The response "
    "was filtered due to the prompt triggering Azure OpenAI's content management policy."
)
LONG = "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease it"
SMALL = "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it"
PER_MINUTE = (
    "Request too large for model `llama-3.3-70b-versatile` on tokens per minute (TPM): Limit 6000"
)
CUT = "Could not finish the message because max_tokens or model output limit was reached."


@pytest.mark.parametrize(
    ("kind", "refusal"),
    [
        ("refused", error(400, f"Invalid prompt: {FLAGGED}", code="invalid_prompt", param=None)),
        ("refused", error(400, FILTERED, code="400")),
        ("refused", error(403, 'Your input was flagged for "violence".', code=403)),
        ("refused", error(400, LONG)),
        ("refused", error(400, SMALL, code=400)),
        (
            "refused",
            Canned(status=400, body='{"message": "maximum context length is 4096 tokens"}'),
        ),
        ("refused", error(413, PER_MINUTE, code="rate_limit_exceeded")),
        ("refused", Canned(status=413, body="<h1>413 Request Entity Too Large</h1>")),
        ("truncated", error(400, CUT, param=None, code=None)),
        (
            "truncated",
            error(
                400,
                "Failed to generate JSON. See 'failed_generation' for more details.",
                code="json_validate_failed",
                failed_generation="max completion tokens reached before generating a document",
            ),
        ),
    ],
    ids=[
        "openai",
        "litellm",
        "openrouter",
        "anthropic long",
        "llama.cpp long",
        "vllm long",
        "groq long",
        "nginx long",
        "openai cut",
        "groq cut",
    ],
)
def test_an_error_about_one_prompt_or_reply_is_not_that_of_an_endpoint_that_is_away(
    open_judge: OpenJudge, kind: str, refusal: Canned
) -> None:
    judge, server = open_judge([refusal])
    failure = judge.judge("groundedness", REQUEST).failure
    assert failure is not None
    assert failure.kind == kind
    assert "check the key" not in failure.message
    # max_tokens is named as too small, and is not left out for it.
    assert len(server.asked) == 1


@pytest.mark.parametrize("content", [GOOD[:30], GOOD, None])
def test_a_reply_cut_by_its_length_is_truncated_even_if_it_reads_well(
    open_judge: OpenJudge, content: Any
) -> None:
    judge, server = open_judge([completion(content, finish_reason="length")])
    failure = judge.judge("groundedness", REQUEST).failure
    assert failure is not None
    assert failure.kind == "truncated"
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "body",
    ["", "null", "[]", "{}", '{"choices": []}', '{"choices": [null]}', '{"choices": [{}]}', "{"],
)
def test_a_body_that_is_no_completion_is_unparseable(open_judge: OpenJudge, body: str) -> None:
    assert failed(open_judge, Canned(body=body)).kind == "unparseable"


@pytest.mark.parametrize("how", ["trickle", "trickling head"])
def test_a_reply_that_trickles_beyond_the_limit_is_unreachable(
    open_judge: OpenJudge, how: Any
) -> None:
    trickle = Canned(body=completion(GOOD).body, how=how, delay_s=0.02)
    judge, _ = open_judge([trickle], timeout_s=0.2, retries=0)
    judgement = judge.judge("groundedness", REQUEST)
    assert judgement.failure is not None
    assert judgement.failure.kind == "unreachable"
    assert "no complete reply within 0.2 s" in judgement.failure.message
    assert judgement.duration_ms is not None
    assert judgement.duration_ms < 2000


def test_a_redirect_is_not_followed(open_judge: OpenJudge) -> None:
    _, other = open_judge([completion(GOOD)])
    there = Canned(status=307, headers={"location": f"{other.url}/chat/completions"})
    failure = failed(open_judge, there)
    assert failure.kind == "unreachable"
    assert "HTTP 307; redirects are not followed: set the base URL" in failure.message
    assert other.asked == []


def test_a_server_error_to_the_end_is_unreachable_and_its_page_is_cut_short(
    open_judge: OpenJudge,
) -> None:
    failure = failed(open_judge, Canned(status=500, body="oops\n" * 5000), retries=1)
    assert failure.kind == "unreachable"
    assert len(failure.message) < 500


def test_an_error_in_the_clothes_of_a_200_is_read_as_the_error(
    open_judge: OpenJudge, naps: list[float]
) -> None:
    dressed = Canned(body=json.dumps({"error": {"message": "busy", "code": 429}}))
    assert failed(open_judge, dressed, retries=1).kind == "rate_limited"
    assert len(naps) == 1


@pytest.mark.parametrize(
    ("choice_error", "said"),
    [
        ({"code": 503, "message": "Upstream idle"}, "HTTP 503: Upstream idle"),
        (None, "HTTP 502: the provider broke the reply off"),
    ],
)
def test_a_choice_that_ended_by_an_error_is_asked_again(
    open_judge: OpenJudge, naps: list[float], choice_error: Any, said: str
) -> None:
    # As OpenRouter and the gateways before it pass on what a provider did not finish.
    message = {"role": "assistant", "content": GOOD[:40]}
    choice = {"index": 0, "message": message, "finish_reason": "error", "error": choice_error}
    broken = completion("", choices=[choice])
    judge, _ = open_judge([broken, completion(GOOD)])
    judgement = judge.judge("groundedness", REQUEST)
    assert judgement.verdict is not None
    assert not judgement.repaired
    assert len(naps) == 1
    failure = failed(open_judge, broken, retries=0)
    assert failure.kind == "unreachable"
    assert said in failure.message
