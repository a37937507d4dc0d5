"""A real judge on loopback that misbehaves in one way."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.loopback_mock import simplest
from pytest_rageval.authoring.doctor.findings import Finding
from pytest_rageval.authoring.doctor.judge import check_judge
from pytest_rageval.values.settings import JudgeSettings, Settings
from tests.build.hostile_judge import Asked, Canned, HostileJudge, completion, error

MODEL = "judge-2024-08-06"
CODE = re.compile(r"code ([0-9A-F]{4}-[0-9A-F]{4})")


def tokens(asked: Asked) -> int:
    return len(asked.prompt) // 4


def usage(count: int) -> dict[str, int]:
    return {"prompt_tokens": count, "completion_tokens": 9, "total_tokens": count + 9}


def verdict(asked: Asked) -> dict[str, Any]:
    """A verdict in the shape that the request, or its prompt, asks for."""
    shape = asked.body.get("response_format", {})
    schema = shape.get("json_schema", {}).get("schema") or shape.get("schema")
    if schema is None:
        found = {"claims": [], "score": 5} if "groundedness" in asked.prompt else {"score": 5}
        return {"reasoning": "fine", **found}
    value: dict[str, Any] = simplest(schema)
    return value


def good(asked: Asked, seen: Callable[[str], str] = lambda text: text) -> Canned:
    """Answer well; ``seen`` is what of a long prompt the model sees."""
    text = asked.body["messages"][-1]["content"]
    if "First line:" in text:
        codes = " ".join(CODE.findall(seen(text)))
        return completion(codes, usage=usage(tokens(asked)))
    return completion(json.dumps(verdict(asked)))


def diagnose(
    script: Callable[[Asked], Canned],
    *,
    model: str = MODEL,
    probe_chars: int = 20_000,
    **judging: Any,
) -> list[Finding]:
    with HostileJudge(script) as server:
        settings = Settings(
            rootdir=".", judge=model, judging=JudgeSettings(base_url=server.url, **judging)
        )
        return list(
            check_judge(settings, environ={}, probe_chars=probe_chars, sleep=lambda seconds: None)
        )


def troubles(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(one.level, one.check) for one in findings if one.level != "ok"]


def test_a_judge_that_is_all_well() -> None:
    findings = diagnose(good)
    assert troubles(findings) == []
    assert [one.check for one in findings] == [
        "model name",
        "structured output",
        "served model",
        "groundedness",
        "correctness",
        "long prompts",
        "admission",
        "admission",
    ]


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (lambda text: text[-4_000:], "the beginning of a prompt"),
        (lambda text: text[:4_000], "the end of a prompt"),
    ],
)
def test_a_prompt_that_is_cut_in_silence_fails(seen: Callable[[str], str], said: str) -> None:
    findings = diagnose(lambda asked: good(asked, seen))
    assert troubles(findings) == [("FAIL", "long prompts")]
    (found,) = (one for one in findings if one.check == "long prompts")
    assert said in found.message
    assert "context" in found.fix


def test_a_model_name_that_may_change_warns() -> None:
    findings = diagnose(good, model="gpt-4o", probe_chars=0)
    assert ("warn", "model name") in troubles(findings)


def test_a_server_without_schemas_warns_with_the_level_it_takes() -> None:
    def no_schema(asked: Asked) -> Canned:
        if "response_format" in asked.body:
            return error(400, "response_format is not supported")
        return completion(json.dumps({"reasoning": "fine", "claims": [], "score": 5}))

    findings = diagnose(no_schema, probe_chars=0, rubrics=("groundedness",))
    assert ("warn", "structured output") in troubles(findings)


@pytest.mark.parametrize(
    "reply",
    [
        completion("I would rather not."),
        completion('{"score": 9}'),
        completion("{", finish_reason="length"),
        completion(None, refusal="no"),
    ],
    ids=["prose", "out of range", "cut", "refused"],
)
def test_a_verdict_that_cannot_be_read_fails(reply: Canned) -> None:
    findings = diagnose(lambda asked: reply, probe_chars=0, rubrics=("groundedness",))
    [found] = [one for one in findings if one.level == "FAIL"]
    assert (found.check, found.unreachable) == ("groundedness", False)
    assert found.fix


@pytest.mark.parametrize(
    ("status", "fix"), [(401, "the key"), (404, "the model"), (503, "start the server")]
)
def test_a_judge_that_does_not_answer_is_unreachable_and_asked_no_more(
    status: int, fix: str
) -> None:
    findings = diagnose(lambda asked: error(status, "no"))
    failed = [one for one in findings if one.level == "FAIL"]
    assert [(one.check, one.unreachable) for one in failed] == [("groundedness", True)]
    assert fix in failed[0].fix


def test_a_missing_key_is_a_fault_of_the_settings() -> None:
    settings = Settings(
        rootdir=".", judge="m-1", judging=JudgeSettings(base_url="https://judge.example/v1")
    )
    [found] = check_judge(settings, environ={}, probe_chars=9)
    assert (found.level, found.check) == ("FAIL", "settings")
    assert "OPENAI_API_KEY" in found.message
