"""Adaptation of a judge to the form of request that an endpoint accepts."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.judges.model.wire import (
    Form,
    after_refusal,
)
from pytest_rageval.values.settings import JudgeSettings
from tests.build.hostile_judge import Asked, Canned, completion, error
from tests.judges.model.conftest import DictCache, OpenJudge
from tests.judges.model.groundedness_replies import GOOD, REQUEST


def level_of(asked: Asked) -> str:
    shape = asked.body.get("response_format")
    return "text" if shape is None else str(shape["type"])


def refusing(*levels: str, status: int = 400) -> Any:
    """A server that refuses these levels."""

    def reply(asked: Asked) -> Canned:
        level = level_of(asked)
        if level in levels:
            return error(status, f"'response_format' of type '{level}' is not supported")
        return completion(GOOD)

    return reply


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize(
    ("refused", "level"),
    [
        ((), "json_schema"),
        (("json_schema",), "json_object"),
        (("json_schema", "json_object"), "text"),
    ],
)
def test_a_refused_format_goes_one_level_down(
    open_judge: OpenJudge, refused: tuple[str, ...], level: str, status: int
) -> None:
    judge, server = open_judge(refusing(*refused, status=status))
    judgement = judge.judge("groundedness", REQUEST)
    assert judgement.verdict is not None
    assert judgement.level == level
    assert judgement.usage.calls == len(server.asked) == len(refused) + 1


@pytest.mark.parametrize("structured_output", ["auto", "json_object"])
def test_a_schema_beside_json_object_is_left_out_where_refused(
    open_judge: OpenJudge, structured_output: str
) -> None:
    def reply(asked: Asked) -> Canned:
        shape = asked.body["response_format"]
        if shape["type"] == "json_schema":
            return error(400, "'response_format' of type 'json_schema' is not supported")
        if "schema" in shape:
            param = "response_format.schema"
            return error(400, f"Unknown parameter: '{param}'.", param=param)
        return completion(GOOD)

    judge, server = open_judge(reply, structured_output=structured_output)
    judgement = judge.judge("groundedness", REQUEST)
    assert judgement.level == "json_object"
    assert judgement.dropped_parameters == ("response_format.schema",)
    assert server.asked[-1].body["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize("level", ["json_object", "text"])
def test_below_json_schema_the_schema_stands_in_the_prompt(
    open_judge: OpenJudge, level: str
) -> None:
    judge, server = open_judge([completion(GOOD)], structured_output=level)
    judge.judge("groundedness", REQUEST)
    assert level_of(server.asked[0]) == level
    assert '"required"' in server.asked[0].prompt


def test_the_level_is_found_once(open_judge: OpenJudge) -> None:
    judge, server = open_judge(refusing("json_schema"))
    judge.judge("groundedness", REQUEST)
    judge.judge("correctness", REQUEST)
    assert list(map(level_of, server.asked)) == ["json_schema", "json_object", "json_object"]


def test_the_level_is_remembered_for_the_next_run(open_judge: OpenJudge) -> None:
    cache = DictCache()
    judge, server = open_judge(refusing("json_schema"), cache=cache)
    judge.judge("groundedness", REQUEST)
    again = judge.reopened()
    again.judge("groundedness", REQUEST, repeat=1)
    assert list(map(level_of, server.asked)) == ["json_schema", "json_object", "json_object"]


@pytest.mark.parametrize("name", ["temperature", "seed"])
def test_a_refused_parameter_is_dropped_recorded_and_remembered(
    open_judge: OpenJudge, name: str
) -> None:
    def reply(asked: Asked) -> Canned:
        if name in asked.body:
            return error(400, f"Unsupported value: '{name}' does not support 0.", param=name)
        return completion(GOOD)

    judge, server = open_judge(reply, cache=DictCache())
    judgement = judge.judge("groundedness", REQUEST)
    assert judgement.verdict is not None
    assert judgement.dropped_parameters == (name,)
    assert name not in judgement.parameters
    assert judgement.level == "json_schema"
    judge.reopened().judge("correctness", REQUEST)
    assert len(server.asked) == 3


def test_max_tokens_is_sent_under_its_newer_name_where_asked_for(open_judge: OpenJudge) -> None:
    def reply(asked: Asked) -> Canned:
        if "max_tokens" in asked.body:
            return error(
                400,
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                "'max_completion_tokens' instead.",
                param="max_tokens",
            )
        return completion(GOOD)

    judge, server = open_judge(reply, max_tokens=99)
    judgement = judge.judge("groundedness", REQUEST)
    assert judgement.parameters["max_completion_tokens"] == 99
    assert judgement.dropped_parameters == ("max_tokens",)
    assert server.asked[1].body["max_completion_tokens"] == 99


def test_instructions_go_into_the_users_message_where_the_system_role_is_refused(
    open_judge: OpenJudge, naps: list[float]
) -> None:
    def reply(asked: Asked) -> Canned:
        if any(message["role"] == "system" for message in asked.body["messages"]):
            return error(400, "System role not supported")
        return completion(GOOD)

    judge, server = open_judge(reply, cache=DictCache())
    judgement = judge.judge("groundedness", REQUEST)
    assert judgement.verdict is not None
    assert judgement.level == "json_schema"
    assert judgement.dropped_parameters == ("system role",)
    refused, taken = server.asked
    assert [message["role"] for message in taken.body["messages"]] == ["user"]
    instructions, data = (message["content"] for message in refused.body["messages"])
    assert taken.prompt == f"{instructions}\n\n{data}"
    judge.reopened().judge("correctness", REQUEST)
    assert len(server.asked) == 3
    assert naps == []


@pytest.mark.parametrize(
    ("status", "body"),
    [
        # vLLM with Gemma 2, with the first template of Mistral, LM Studio, llama.cpp.
        (400, {"object": "error", "message": "System role not supported", "code": 400}),
        (400, {"message": "Conversation roles must alternate user/assistant/user/assistant/..."}),
        (400, {"error": 'Error rendering prompt: "Only user and assistant roles are supported!".'}),
        (500, {"error": {"code": 500, "message": "Jinja Exception: System role not supported"}}),
        # Gemini's API, OpenAI, Bedrock, a gateway that validates the roles.
        (400, [{"error": {"message": "Developer instruction is not enabled for models/gemma-3"}}]),
        (400, {"error": {"message": "Unsupported value", "param": "messages[0].role"}}),
        (400, {"message": "This model doesn't support system messages."}),
        (
            422,
            {"detail": [{"loc": ["body", "messages", 0, "role"], "msg": "Input should be 'user'"}]},
        ),
    ],
)
def test_a_refusal_of_the_system_role_is_known_by_its_words(status: int, body: Any) -> None:
    without = Form("json_schema", ("system role",))
    assert after_refusal(FORM, status, body, SETTINGS) == without
    assert after_refusal(without, status, body, SETTINGS) is None


def test_further_fields_are_sent_count_for_the_cache_and_are_never_dropped(
    open_judge: OpenJudge,
) -> None:
    wrong = error(400, "Invalid value: 'tiny'.", param="reasoning_effort")

    def reply(asked: Asked) -> Canned:
        return wrong if asked.body["reasoning_effort"] == "tiny" else completion(GOOD)

    judge, server = open_judge(reply, cache=DictCache(), extra_body={"reasoning_effort": "tiny"})
    failure = judge.judge("groundedness", REQUEST).failure
    assert failure is not None
    assert failure.message.endswith("HTTP 400: Invalid value: 'tiny'.")
    assert len(server.asked) == 1
    for effort in ("low", "high", "low"):
        other = judge.reopened(extra_body={"reasoning_effort": effort})
        assert other.judge("groundedness", REQUEST).parameters["reasoning_effort"] == effort
    assert [asked.body["reasoning_effort"] for asked in server.asked] == ["tiny", "low", "high"]


def test_a_server_that_refuses_everything_is_given_up(open_judge: OpenJudge) -> None:
    everything = "response_format temperature seed max_tokens max_completion_tokens"
    judge, server = open_judge([error(400, everything)])
    judgement = judge.judge("groundedness", REQUEST)
    assert judgement.failure is not None
    assert judgement.failure.kind == "unreachable"
    # Two levels down, four parameters out, and the last refusal.
    assert len(server.asked) == judgement.usage.calls == 7
    assert set(judgement.dropped_parameters) == {
        "temperature",
        "seed",
        "max_tokens",
        "max_completion_tokens",
    }


# --- what a refusal is about ---------------------------------------------------------------

SETTINGS = JudgeSettings()
FORM = Form("json_schema")


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "Invalid schema for response_format 'groundedness'"}},
        {"error": {"message": "no", "param": "response_format"}},
        {"error": "json_schema is not supported by this model"},
        {"message": "structured outputs are not available"},
        {"detail": [{"loc": ["body", "response_format", "type"], "msg": "Input should be 'text'"}]},
        {"detail": "response_format: extra fields not permitted"},
        "unknown field response_format",
        # Claude, Gemini twice, and a model of Bedrock, each behind a gateway or under its own API.
        "output_config.format.schema: For 'integer' type, property 'minimum' is not supported",
        'generation_config.response_schema.properties["score"].enum: only allowed for STRING type',
        "The specified schema produces a constraint that has too many states for serving.",
        "The model doesn't support the outputConfig.textFormat field.",
    ],
)
def test_a_refusal_of_the_format_is_known_by_its_words(body: Any) -> None:
    assert after_refusal(FORM, 400, body, SETTINGS) == Form("json_object")
