from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmarks import loopback_mock as mock
from benchmarks import throughput as bench

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
    text = bench.render([RESULT, replace(RESULT, contender="script", ideal_s=0.0)])
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


@pytest.mark.slow
def test_contenders_do_the_same_work_and_stay_within_the_limit() -> None:
    names = ["ours", "ours, all missed", "asyncio script", "plain pytest -n 16"]
    with bench.mock(20.0, 30.0) as url:
        for name in names:
            # It raises unless every case was asked once and judged twice.
            result = bench.measure(name, 24, 4, url, 80.0)
            assert result.in_flight <= result.in_flight_wanted == 4
            assert result.wall_s > result.ideal_s == pytest.approx(24 * 0.08 / 4)
            assert result.cpu_s > 0
            assert result.rss_mb > 20


@pytest.mark.slow
def test_a_small_run_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--cases", "2", "6", "--zero-latency", "--contenders", "ours", "--json"]
    assert bench.main(few) == 0
    document = json.loads(capsys.readouterr().out)
    assert [row["cases"] for row in document["results"]] == [2, 6]
    assert list(document["cpu_ms_per_more_case"]) == ["ours"]


def test_a_contender_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"broken": lambda url, concurrency: ["-c", "raise SystemExit('no such luck')"]}
    monkeypatch.setattr(bench, "CONTENDERS", broken)
    with (
        bench.mock(0.0, 0.0) as url,
        pytest.raises(RuntimeError, match=r"(?s)exit 1.*no such luck"),
    ):
        bench.measure("broken", 2, 4, url, 0.0)


@pytest.mark.parametrize("option", ["--cases", "--concurrency", "--repeats"])
def test_a_number_below_one_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main([option, "0"])
    assert "got 0, expected at least 1" in capsys.readouterr().err
