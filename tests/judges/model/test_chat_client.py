"""Clients of the openai package that a project makes, as the judge's."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.judges.model.chat_client import open_given
from pytest_rageval.judges.opening import open_judge
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import JudgeSettings, Settings
from pytest_rageval.values.verdict import Judgement
from tests.build.hostile_judge import HostileJudge, completion, error
from tests.judges.model.conftest import KEY
from tests.judges.model.groundedness_replies import GOOD, REQUEST


@pytest.fixture
def project(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write the module that makes a client, and return the settings that name it."""
    name = f"clients_{random.Random(request.node.name).randrange(10**9)}"
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def written(made: str) -> Settings:
        (tmp_path / f"{name}.py").write_text(f"import openai\nMADE = []\n{made}", encoding="utf-8")
        judging = JudgeSettings(openai_client=f"{name}:make", no_cache=True, retries=1)
        return Settings(rootdir=str(tmp_path), judge="m", judging=judging)

    return written


def verdict(settings: Settings) -> Judgement:
    with open_judge(settings, environ={}, sleep=lambda _: None) as judge:
        assert judge is not None
        return judge.judge("groundedness", REQUEST)


def test_a_client_of_the_project_carries_the_requests_and_is_closed(project: Any) -> None:
    with HostileJudge([error(429, "later"), completion(GOOD)]) as server:
        settings = project(
            "def make():\n"
            f"    MADE.append(openai.AsyncOpenAI(base_url={server.url!r}, api_key={KEY!r},\n"
            "        default_headers={'X-Team': 'docs'}))\n"
            "    return MADE[0]\n"
        )
        judgement = verdict(settings)
        made = __import__(settings.judging.openai_client.partition(":")[0]).MADE
    assert judgement.verdict is not None
    # Its own attempts would come on top of ours.
    assert len(server.asked) == 2
    assert server.asked[1].headers["x-team"] == "docs"
    assert server.asked[1].headers["authorization"] == f"Bearer {KEY}"
    assert server.asked[1].body["model"] == "m"
    assert [one.is_closed() for one in made] == [True]


def test_a_client_of_azure_asks_its_deployment(project: Any) -> None:
    with HostileJudge([completion(GOOD)]) as server:
        url = server.url.removesuffix("/v1")
        judgement = verdict(
            project(
                "def make():\n"
                f"    return openai.AsyncAzureOpenAI(azure_endpoint={url!r}, api_key={KEY!r},\n"
                "        api_version='2024-10-21')\n"
            )
        )
    assert judgement.verdict is not None
    assert server.asked[0].path == ("/openai/deployments/m/chat/completions?api-version=2024-10-21")
    assert server.asked[0].headers["api-key"] == KEY


@pytest.mark.parametrize("status", [400, 401])
def test_its_key_is_not_repeated(project: Any, status: int) -> None:
    with HostileJudge([error(status, f"Wrong key {KEY}")]) as server:
        judgement = verdict(
            project(f"make = openai.AsyncOpenAI(base_url={server.url!r}, api_key={KEY!r})\n")
        )
    assert judgement.failure is not None
    assert f"HTTP {status}" in judgement.failure.message
    assert KEY not in judgement.failure.message


@pytest.mark.parametrize(
    "made", ["openai.OpenAI(api_key='k')", "lambda: openai.OpenAI(api_key='k')", "'gpt-4o'"]
)
def test_anything_else_is_refused_before_the_first_case(project: Any, made: str) -> None:
    with (
        pytest.raises(ConfigError, match=r"openai_client: .*expected an AsyncOpenAI"),
        open_given(project(f"make = {made}\n")),
    ):
        pass
