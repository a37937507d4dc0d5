"""Kinds and messages of failed verdicts, over a real socket."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.build.hostile_judge import USAGE, Canned, completion, error
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


# --- results of a model's replies, over a real socket

# --- verdicts ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Here is my verdict:\n\n{GOOD}\n\nI hope this helps {{really}}.",
        f"\ufeff  {GOOD}  ",
        GOOD.replace(": 5}", ': "5"}'),
        GOOD.replace(": 5}", ": 5.0}"),
        GOOD.replace("All said.", "All\nis\tsaid\x02."),
        GOOD.replace(", ", ",\n\t"),
        [{"type": "text", "text": GOOD[:20]}, {"type": "text", "text": GOOD[20:]}],
        [{"type": "reasoning", "text": '{"score": 1}'}, {"type": "output_text", "text": GOOD}],
        [{"type": "thinking", "thinking": [{"type": "text", "text": "1?"}]}, {"text": GOOD}],
    ],
)
def test_a_verdict_is_read_in_whatever_wrapping_it_comes(
    open_judge: OpenJudge, content: Any
) -> None:
    judge, server = open_judge([completion(content)])
    judgement = judge.judge("groundedness", REQUEST)
    assert judgement.failure is None
    assert judgement.verdict is not None
    assert judgement.verdict.scores["groundedness"] == 5.0
    assert judgement.verdict.claims[0].supported
    assert not judgement.repaired
    assert len(server.asked) == 1


def test_a_judgement_says_how_it_came_about(open_judge: OpenJudge) -> None:
    judge, server = open_judge([completion(GOOD)], model="judge-2024-08-06", seed=7)
    judgement = judge.judge("groundedness", REQUEST)
    assert judgement.judge == judge.identity == f"judge-2024-08-06 at {server.host}"
    assert judgement.model == "judge-2024-08-06"
    assert judgement.system_fingerprint == "fp_1"
    assert judgement.level == "json_schema"
    assert judgement.parameters == {"temperature": 0.0, "seed": 7, "max_tokens": 1024}
    assert judgement.dropped_parameters == ()
    assert judgement.rubric == "groundedness"
    assert judgement.rubric_version.startswith("groundedness")
    assert len(judgement.prompt_hash) == 64
    assert judgement.duration_ms is not None
    assert judgement.duration_ms > 0
    assert judgement.usage.calls == 1
    assert judgement.usage.prompt_tokens == USAGE["prompt_tokens"]


def test_temperature_0_seed_and_the_schema_are_sent_explicitly(open_judge: OpenJudge) -> None:
    judge, server = open_judge([completion(GOOD)])
    judge.judge("groundedness", REQUEST)
    sent = server.asked[0].body
    assert server.asked[0].path == "/v1/chat/completions"
    assert (sent["temperature"], sent["seed"], sent["max_tokens"]) == (0.0, 0, 1024)
    shape = sent["response_format"]
    assert shape["type"] == "json_schema"
    assert shape["json_schema"]["strict"] is True
    schema = shape["json_schema"]["schema"]
    assert "score" in schema["required"]
    # Grammars mostly skip minimum and maximum.
    assert schema["properties"]["score"]["enum"] == [0, 1, 2, 3, 4, 5]


def test_missing_usage_is_unknown_tokens_and_unknown_cost(open_judge: OpenJudge) -> None:
    judge, _ = open_judge([completion(GOOD, usage=None)], input_per_mtok=1, output_per_mtok=1)
    usage = judge.judge("groundedness", REQUEST).usage
    assert not usage.tokens_reported
    assert (usage.prompt_tokens, usage.completion_tokens) == (0, 0)
    assert usage.cost_usd is None
    assert usage.cost_usd_uncached is None


@pytest.mark.parametrize(
    ("usage", "completion_tokens"),
    [
        # The example of xAI's reference, where the total is that of all three.
        (
            {
                "prompt_tokens": 32,
                "completion_tokens": 9,
                "total_tokens": 135,
                "completion_tokens_details": {"reasoning_tokens": 94},
            },
            103,
        ),
        # Gemini that thought to the end of its limit.
        ({"prompt_tokens": 300, "total_tokens": 1324}, 1024),
        ({"prompt_tokens": 300, "completion_tokens": 40, "total_tokens": 340}, 40),
        ({"prompt_tokens": 300, "completion_tokens": 40, "total_tokens": 0}, 40),
    ],
)
def test_tokens_of_reasoning_are_paid_for_as_tokens_of_the_completion(
    open_judge: OpenJudge, usage: dict[str, Any], completion_tokens: int
) -> None:
    judge, _ = open_judge([completion(GOOD, usage=usage)], input_per_mtok=1, output_per_mtok=10)
    found = judge.judge("groundedness", REQUEST).usage
    assert found.tokens_reported
    assert found.completion_tokens == completion_tokens
    expected = (usage["prompt_tokens"] + 10 * completion_tokens) / 1e6
    assert found.cost_usd == pytest.approx(expected)


def test_an_unknown_price_is_none_with_tokens(open_judge: OpenJudge) -> None:
    judge, _ = open_judge([completion(GOOD)])
    usage = judge.judge("groundedness", REQUEST).usage
    assert usage.cost_usd is None
    assert usage.completion_tokens == 40


# --- retries -------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 409, 500, 502, 503, 529])
def test_one_passing_error_is_a_verdict(
    open_judge: OpenJudge, naps: list[float], status: int
) -> None:
    judge, server = open_judge([error(status, "try later"), completion(GOOD)])
    judgement = judge.judge("groundedness", REQUEST)
    assert judgement.verdict is not None
    assert judgement.usage.calls == len(server.asked) == 2
    assert len(naps) == 1
    assert 0.5 <= naps[0] < 1.0


def test_retry_after_is_honoured(open_judge: OpenJudge, naps: list[float]) -> None:
    busy = error(429, "slow down", headers={"retry-after": "7"})
    judge, _ = open_judge([busy, completion(GOOD)])
    assert judge.judge("groundedness", REQUEST).verdict is not None
    assert naps == [7.0]


RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36.429760048s"}


@pytest.mark.parametrize("how", ["header", "body"])
def test_a_limit_of_the_day_is_not_waited_for(
    open_judge: OpenJudge, naps: list[float], how: str
) -> None:
    details = [{**RETRY_INFO, "retryDelay": "7200s"}] if how == "body" else []
    headers = {"retry-after": "7200"} if how == "header" else {}
    body = json.dumps({"error": {"message": "daily limit", "details": details}})
    failure = failed(open_judge, Canned(status=429, body=body, headers=headers))
    assert failure.kind == "rate_limited"
    assert failure.message.endswith("HTTP 429: daily limit; asks to wait 7200 s")
    assert naps == []


# --- the repair turn -----------------------------------------------------------------------


@pytest.mark.parametrize("bad", ["no idea", scored("7")])
def test_a_repair_turn_can_save_a_verdict(open_judge: OpenJudge, bad: str) -> None:
    judge, server = open_judge(
        [completion(bad), completion(GOOD)], input_per_mtok=1.0, output_per_mtok=1.0
    )
    judgement = judge.judge("groundedness", REQUEST)
    assert judgement.verdict is not None
    assert judgement.repaired
    assert judgement.usage.calls == 2
    assert judgement.usage.prompt_tokens == 400
    assert judgement.usage.completion_tokens == 80
    assert judgement.usage.cost_usd == pytest.approx(480e-6)
    assert bad in server.asked[1].prompt
