from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from pytest_rageval.judges.model.endpoint import ChatEndpoint
from pytest_rageval.judges.model.judge import OpenAIJudge
from pytest_rageval.support.http.pacing import Pacing
from pytest_rageval.values.settings import JudgeSettings
from tests.build.hostile_judge import HostileJudge, Script

KEY = "sk-proj-4f7a9c1e2b8d6f3a5c7e9b1d"


class DictCache:
    """The cache's contract, in memory; values go through JSON as they do in a database."""

    def __init__(self) -> None:
        self.verdicts: dict[str, str] = {}
        self.levels: dict[tuple[str, str], str] = {}

    def get(self, key: str) -> dict[str, Any] | None:
        return _loaded(self.verdicts.get(key))

    def put(self, key: str, document: Mapping[str, Any], *, identity: str) -> bool:
        self.verdicts[key] = json.dumps(document, allow_nan=False)
        return bool(identity)

    def get_level(self, endpoint: str, model: str) -> dict[str, Any] | None:
        return _loaded(self.levels.get((endpoint, model)))

    def put_level(self, endpoint: str, model: str, document: Mapping[str, Any]) -> bool:
        self.levels[endpoint, model] = json.dumps(document, allow_nan=False)
        return True


def _loaded(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    value: dict[str, Any] = json.loads(text)
    return value


def model_judge(
    model: str,
    settings: JudgeSettings,
    *,
    environ: Mapping[str, str],
    needs_key: bool = True,
    pacing: Pacing | None = None,
    **options: Any,
) -> OpenAIJudge:
    """Open a judge with an endpoint of its own."""
    endpoint = ChatEndpoint(model, settings, environ=environ, needs_key=needs_key, pacing=pacing)
    return OpenAIJudge(endpoint, **options)


class ReopenableJudge(OpenAIJudge):
    """A judge that can be opened once more as the next run would."""

    reopened: Callable[..., OpenAIJudge]


OpenJudge = Callable[..., tuple[ReopenableJudge, HostileJudge]]


@pytest.fixture
def naps() -> list[float]:
    """Pauses that the judge requested between attempts, without waiting."""
    return []


@pytest.fixture
def open_judge(naps: list[float]) -> Iterator[OpenJudge]:
    """Open a judge that asks a hostile server of its own."""
    with ExitStack() as stack:

        def opened(
            script: Script, *, model: str = "judge", cache: Any = None, **settings: Any
        ) -> tuple[ReopenableJudge, HostileJudge]:
            server = stack.enter_context(HostileJudge(script))

            def once_more(**changes: Any) -> ReopenableJudge:
                values = {"timeout_s": 5.0, **settings, **changes}
                endpoint = ChatEndpoint(
                    values.pop("model", model),
                    JudgeSettings(base_url=server.url, **values),
                    environ={"OPENAI_API_KEY": KEY},
                    pacing=Pacing(sleep=naps.append, rng=random.Random(1)),
                )
                judge = ReopenableJudge(endpoint, cache=cache)
                judge.reopened = once_more
                return stack.enter_context(judge)

            return once_more(), server

        yield opened
