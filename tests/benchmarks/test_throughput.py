from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import loopback_mock as mock
from benchmarks import throughput as bench
from benchmarks import throughput_contenders as contenders

RESULT = bench.Result(
    contender="ours",
    cases=100,
    in_flight_wanted=32,
    wall_s=5.0,
    ideal_s=2.5,
    cpu_s=1.5,
    rss_mb=80.0,
    in_flight=32,
)


def test_one_more_case_costs_what_many_cost_beyond_few() -> None:
    many = replace(RESULT, cases=1000, cpu_s=6.0)
    assert bench.slopes([RESULT, many, replace(RESULT, contender="script")]) == {"ours": 5.0}


def test_the_table_shows_wall_time_beside_the_ideal() -> None:
    text = bench.render([RESULT, replace(RESULT, contender="script", ideal_s=0.0)], {})
    ours, script = text.splitlines()[1:3]
    assert ours.split() == ["ours", "100", "5.00", "2.00", "1.50", "15.00", "80", "32", "of", "32"]
    assert script.split()[3] == "-"


def test_the_judge_gives_the_simplest_reply_of_the_shape_that_is_asked_for() -> None:
    schema = {
        "type": "object",
        "properties": {
            "score": {"type": "integer", "minimum": 3},
            "claims": {"type": "array", "items": {"anyOf": [{"type": "boolean"}]}},
            "level": {"enum": ["low", "high"]},
            "reason": {"type": ["string", "null"]},
        },
    }
    assert mock.simplest(schema) == {"score": 3, "claims": [True], "level": "low", "reason": "ok"}
    request = {"response_format": {"json_schema": {"schema": schema}}}
    reply = json.loads(mock.completion(request))
    assert json.loads(reply["choices"][0]["message"]["content"])["score"] == 3


def test_a_judge_that_is_asked_to_call_a_tool_calls_it() -> None:
    schema = {"type": "object", "properties": {"pass": {"type": "boolean"}}}
    tool = {"type": "function", "function": {"name": "grade", "parameters": schema}}
    (choice,) = json.loads(mock.completion({"tools": [tool]}))["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls"
    assert call["function"] == {"name": "grade", "arguments": '{"pass": true}'}


def test_a_judge_that_is_asked_for_no_shape_gives_a_verdict() -> None:
    (choice,) = json.loads(mock.completion({}))["choices"]
    assert json.loads(choice["message"]["content"]) == mock.VERDICT


def test_who_had_more_in_flight_than_asked_is_named_once() -> None:
    many = replace(RESULT, in_flight=64)
    lines = bench.render([many, replace(many, cases=1000), RESULT], {}).splitlines()
    assert [line for line in lines if "more in flight" in line] == [
        "ours: had more in flight than it was asked to; the ideal is that of what was asked"
    ]


def test_who_is_left_out_is_named_with_the_command_that_makes_its_environment() -> None:
    assert (
        bench.render([RESULT], {"ragas": "make it"}).splitlines()[-1] == "ragas: left out; make it"
    )


@pytest.mark.slow
def test_contenders_do_the_same_work_and_stay_within_the_limit(tmp_path: Path) -> None:
    with bench.mock(20.0, 30.0) as served:
        for contender in contenders.CONTENDERS.values():
            # It raises unless every case was asked once and judged twice.
            result = bench.measure(contender, 24, 4, served, tmp_path)
            assert result.in_flight <= result.in_flight_wanted == 4
            assert result.wall_s > result.ideal_s == pytest.approx(24 * 0.08 / 4)
            assert result.cpu_s > 0
            assert result.rss_mb > 20


@pytest.mark.slow
@pytest.mark.parametrize("name", contenders.RIVALS)
def test_another_tool_does_the_same_work(name: str, tmp_path: Path) -> None:
    found, left_out = contenders.find_rivals(contenders.environments())
    if name in left_out:
        pytest.skip(f"no environment; {left_out[name]}")
    with bench.mock(20.0, 30.0) as served:
        result = bench.measure(found[name], 12, 3, served, tmp_path)
    # Two of them judge a case by both rubrics at once.
    assert result.in_flight <= 2 * result.in_flight_wanted == 6


def make_program(path: Path, script: Path) -> None:
    """Write a program that runs a script of ours, whatever script it is told to run."""
    path.parent.mkdir(parents=True)
    path.write_text(
        f'#!/bin/sh\nshift\nexec "{sys.executable}" "{script}" "$@"\n', encoding="utf-8"
    )
    path.chmod(0o755)


@pytest.mark.slow
def test_another_tool_is_started_by_the_python_of_its_environment(tmp_path: Path) -> None:
    script = contenders.ROOT / "benchmarks" / "throughput_script.py"
    make_program(tmp_path / "ragas" / "bin" / "python", script)
    found, left_out = contenders.find_rivals(tmp_path)
    assert list(found) == ["ragas"]
    assert list(left_out) == ["deepeval", "pydantic-evals", "inspect-ai", "promptfoo"]
    with bench.mock(0.0, 0.0) as served:
        result = bench.measure(found["ragas"], 6, 2, served, tmp_path)
    assert (result.contender, result.cases, result.in_flight <= 2) == ("ragas", 6, True)


def test_another_tool_gets_a_home_and_no_account_of_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFIDENT_API_KEY", "secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    rival = contenders.RIVALS["deepeval"].contender(tmp_path)
    own = contenders.environment(rival, "http://127.0.0.1:1", tmp_path)
    assert own["HOME"] == str(tmp_path)
    assert own["DEEPEVAL_TELEMETRY_OPT_OUT"] == own["PROMPTFOO_DISABLE_TELEMETRY"] == "1"
    assert own["OPENAI_BASE_URL"] == "http://127.0.0.1:1/v1"
    assert {"CONFIDENT_API_KEY", "HTTPS_PROXY"} & own.keys() == set()
    node = contenders.RIVALS["promptfoo"].contender(tmp_path)
    found = contenders.environment(node, "http://127.0.0.1:1", tmp_path)
    assert found["HTTPS_PROXY"].startswith("http://127.0.0.1:")
    ours = contenders.environment(contenders.CONTENDERS["ours"], "http://127.0.0.1:1", tmp_path)
    assert ours["CONFIDENT_API_KEY"] == "secret"


@pytest.mark.parametrize("name", contenders.RIVALS)
def test_the_command_of_an_environment_names_its_folder_and_versions(name: str) -> None:
    rival = contenders.RIVALS[name]
    folder = Path("/envs of mine") / name
    parts = shlex.split(rival.installation(folder))
    assert str(folder) in parts
    assert set(rival.requirements) <= set(parts)
    assert rival.program(folder).is_relative_to(folder)
    assert (contenders.RIVALS_FOLDER / rival.script).is_file()


def test_environments_are_where_the_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGEVAL_BENCH_ENVS", "mine")
    assert contenders.environments() == Path.cwd() / "mine"
    monkeypatch.setenv("RAGEVAL_BENCH_ENVS", "")
    assert contenders.environments() == contenders.ENVIRONMENTS


def test_asking_for_a_tool_without_environment_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAGEVAL_BENCH_ENVS", str(tmp_path))
    with pytest.raises(SystemExit):
        bench.main(["--contenders", "ours", "promptfoo"])
    assert "promptfoo has no environment; npm install --prefix" in capsys.readouterr().err


@pytest.mark.slow
def test_a_small_run_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--cases", "2", "6", "--zero-latency", "--contenders", "ours", "--json"]
    assert bench.main(few) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["cases"] for row in document["results"]] == [2, 6]
    assert list(document["cpu_ms_per_more_case"]) == ["ours"]


def test_a_contender_that_fails_is_an_error(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no such luck')"]
    broken = contenders.Contender(name="broken", command=lambda url, concurrency: command)
    with (
        bench.mock(0.0, 0.0) as served,
        pytest.raises(RuntimeError, match=r"(?s)broken: exit 1.*no such luck"),
    ):
        bench.measure(broken, 2, 4, served, tmp_path)


def test_a_contender_that_asks_nothing_is_an_error() -> None:
    idle = contenders.Contender(name="idle", command=lambda url, concurrency: ["true"])
    with pytest.raises(RuntimeError, match=r"idle: exit 0, .*'asked': 0"):
        bench.measure_all([idle], [100], 4, repeats=1, zero=True)


@pytest.mark.parametrize("option", ["--cases", "--concurrency", "--repeats"])
def test_a_number_below_one_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main([option, "0"])
    assert "got 0, expected at least 1" in capsys.readouterr().err
