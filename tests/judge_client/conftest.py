from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from pytest_rageval.judge_client import OpenAIJudge
from pytest_rageval.models import JudgeSettings
from tests.hostile_judge import HostileJudge, Script

KEY = "sk-proj-4f7a9c1e2b8d6f3a5c7e9b1d"

OpenJudge = Callable[..., tuple[OpenAIJudge, HostileJudge]]


@pytest.fixture
def naps() -> list[float]:
    """How long the judge wanted to pause between attempts; nobody really does."""
    return []


@pytest.fixture
def open_judge(naps: list[float]) -> Iterator[OpenJudge]:
    """Open a judge that asks a hostile server of its own."""
    with ExitStack() as stack:

        def opened(
            script: Script, *, model: str = "judge", cache: Any = None, **settings: Any
        ) -> tuple[OpenAIJudge, HostileJudge]:
            server = stack.enter_context(HostileJudge(script))
            judge = OpenAIJudge(
                model,
                JudgeSettings(base_url=server.url, **{"timeout_s": 5.0, **settings}),
                environ={"OPENAI_API_KEY": KEY},
                cache=cache,
                sleep=naps.append,
                rng=random.Random(1),
            )
            return stack.enter_context(judge), server

        yield opened
