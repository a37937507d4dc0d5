"""The judge among other things: limits, threads, cassettes, plans, imports."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import vcr  # type: ignore[import-untyped]

from pytest_rageval.judges.cost import count_tokens
from pytest_rageval.judges.model.judge import MOST_CHARS
from pytest_rageval.judges.model.memory import unpinned_alias
from pytest_rageval.values.errors import ConfigError, JudgeError
from pytest_rageval.values.settings import JudgeSettings
from tests.build.hostile_judge import HostileJudge, completion, error
from tests.judges.model.conftest import DictCache, OpenJudge, model_judge
from tests.judges.model.groundedness_replies import GOOD, REQUEST


@pytest.mark.parametrize("field", ["answer", "passage"])
def test_a_text_that_no_model_reads_is_not_sent(open_judge: OpenJudge, field: str) -> None:
    long = "x" * (MOST_CHARS + 1)
    context = (replace(REQUEST.context[0], text=long), *REQUEST.context[1:])
    changes: dict[str, Any] = {"context": context} if field == "passage" else {"answer": long}
    judge, server = open_judge([completion(GOOD)])
    failure = judge.judge("groundedness", replace(REQUEST, **changes)).failure
    assert failure is not None
    assert (failure.kind, server.asked) == ("refused", [])
    assert failure.code == "prompt_too_long"
    assert judge.plan("groundedness", replace(REQUEST, **changes)).prompt_tokens == 0
    assert judge.judge("groundedness", REQUEST).verdict is not None


# --- rate limits ---------------------------------------------------------------------------


def test_limits_of_the_settings_space_the_requests_of_two_judges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with HostileJudge([completion(GOOD)]) as server:
        settings = JudgeSettings(base_url=server.url, requests_per_minute=600)
        with (
            model_judge("m", settings, environ={}) as one,
            model_judge("m", settings, environ={}) as other,
        ):
            # Connecting for the first time takes longer than the space between two requests.
            one.judge("groundedness", REQUEST)
            other.judge("groundedness", REQUEST)
            threads = [
                threading.Thread(target=judge.judge, args=("groundedness", REQUEST))
                for judge in (one, other) * 3
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    times = sorted(asked.at_s for asked in server.asked[2:])
    assert times[-1] - times[0] >= 0.4
    # The lock file stays: one that is removed could be held by two processes.
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".limit", ".lock"]


# --- threads -------------------------------------------------------------------------------


# --- plans ---------------------------------------------------------------------------------


def test_a_plan_asks_nobody_and_needs_no_key() -> None:
    judge = model_judge("m", JudgeSettings(), environ={}, needs_key=False)
    plan = judge.plan("groundedness", REQUEST)
    assert not plan.cached
    assert plan.prompt_tokens > count_tokens(REQUEST.answer)
    with pytest.raises(JudgeError, match="only to plan"):
        judge.judge("groundedness", REQUEST)


def test_a_plan_knows_what_the_cache_holds(open_judge: OpenJudge) -> None:
    judge, server = open_judge([completion(GOOD)], cache=DictCache())
    assert not judge.plan("groundedness", REQUEST).cached
    judge.judge("groundedness", REQUEST)
    assert judge.plan("groundedness", REQUEST).cached
    assert not judge.plan("groundedness", REQUEST, repeat=1).cached
    assert len(server.asked) == 1


# --- cassettes -----------------------------------------------------------------------------


def test_a_cassette_replays_the_judge_without_a_server(tmp_path: Path) -> None:
    recorder = vcr.VCR(
        cassette_library_dir=str(tmp_path),
        match_on=["method", "scheme", "host", "port", "path", "query", "body"],
        filter_headers=["authorization"],
    )
    refused = error(400, "response_format json_schema is not supported")
    settings: dict[str, Any] = {"retries": 0}
    with HostileJudge([refused, completion(GOOD)]) as server:
        settings["base_url"] = server.url
        with recorder.use_cassette("case.yaml", record_mode="once"):
            with model_judge("m", JudgeSettings(**settings), environ={}) as judge:
                first = judge.judge("groundedness", REQUEST)
    with recorder.use_cassette("case.yaml", record_mode="none") as cassette:
        with model_judge("m", JudgeSettings(**settings), environ={}) as judge:
            second = judge.judge("groundedness", REQUEST)
        assert cassette.play_count == 2
    assert first.verdict is not None
    assert (second.verdict, second.usage, second.level) == (first.verdict, first.usage, first.level)
    assert len(server.asked) == 2


# --- names and addresses -------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o",
        "gpt-4o-mini",
        "gpt-3.5-turbo",
        "chatgpt-4o-latest",
        "o3-mini",
        "claude-3-5-sonnet-latest",
        "claude-sonnet-4-5",
        "claude-opus-4",
        "anthropic/claude-sonnet-4.5",
        "gemini-2.5-flash",
        "mistral-large-latest",
        "llama3.1:latest",
        "openai/gpt-4o",
        "default",
        "",
    ],
)
def test_an_unpinned_alias_is_warned_of(model: str) -> None:
    warning = unpinned_alias(model)
    assert warning is not None
    assert f"{model!r} is an unpinned alias" in warning


def test_the_price_is_that_of_the_address() -> None:
    environ = {"OPENAI_API_KEY": "k"}
    known = model_judge("gpt-4o-2024-08-06", JudgeSettings(), environ=environ)
    assert known.price.cost_usd(1000, 0) == pytest.approx(0.0025)
    elsewhere = JudgeSettings(base_url="https://gateway.example/v1")
    other = model_judge("gpt-4o-2024-08-06", elsewhere, environ=environ)
    assert other.price.cost_usd(1000, 0) is None


def test_a_rubric_that_does_not_exist_is_refused(open_judge: OpenJudge) -> None:
    judge, server = open_judge([completion(GOOD)])
    with pytest.raises(ConfigError, match="groundednes"):
        judge.judge("groundednes", REQUEST)
    assert server.asked == []


def test_the_alternate_wording_asks_otherwise_and_is_kept_apart() -> None:
    cache = DictCache()
    with HostileJudge([completion(GOOD)]) as server:
        settings = JudgeSettings(base_url=server.url)
        with (
            model_judge("m", settings, environ={}, cache=cache) as usual,
            model_judge("m", settings, environ={}, cache=cache, alternate=True) as alternate,
        ):
            first = usual.judge("groundedness", REQUEST)
            second = alternate.judge("groundedness", REQUEST)
    assert first.rubric_version != second.rubric_version
    assert server.asked[0].prompt != server.asked[1].prompt


@pytest.mark.slow
def test_a_verdict_of_a_server_of_ones_own_needs_no_heavy_library(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from pytest_rageval.judges.cache import JudgeCache\n"
        "from pytest_rageval.judges.model.endpoint import ChatEndpoint\n"
        "from pytest_rageval.judges.model.judge import OpenAIJudge\n"
        "from pytest_rageval.values.settings import JudgeSettings\n"
        "from tests.build.hostile_judge import HostileJudge, completion\n"
        "from tests.judges.model.groundedness_replies import GOOD, REQUEST\n"
        "before = set(sys.modules)\n"
        "with HostileJudge(lambda asked: completion(GOOD)) as server:\n"
        "    settings = JudgeSettings(base_url=server.url)\n"
        "    endpoint = ChatEndpoint('m', settings, environ={})\n"
        f"    with JudgeCache(Path({str(tmp_path / 'c.sqlite')!r})) as cache:\n"
        "        judge = OpenAIJudge(endpoint, cache=cache)\n"
        "        assert judge.judge('groundedness', REQUEST).verdict\n"
        "        judge.close()\n"
        "heavy = {'genai_prices', 'sqlalchemy', 'jsonschema'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stderr
