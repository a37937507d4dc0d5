"""Results of a model's replies, over a real socket."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.build.hostile_judge import USAGE, Canned, completion, error
from tests.judges.model.conftest import OpenJudge
from tests.judges.model.groundedness_replies import GOOD, REQUEST, failed, scored

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
