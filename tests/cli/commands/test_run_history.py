"""``rageval runs sync`` and ``trend``, and what other commands tell the index."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from tests.build.runs import write_run
from tests.runs.history.builders import RESULTS, cases, rows

Output = pytest.CaptureFixture[str]
INDEX = "index.sqlite"


@pytest.fixture(autouse=True)
def _runs(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGEVAL_PROJECT", "acme/bot")
    for day in range(1, 5):
        write_run(RESULTS, f"r{day}", cases(missed=range(day)), day=day)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("RAGEVAL_DB", INDEX)
    return INDEX


def run(capsys: Output, *arguments: str, code: int = 0) -> dict[str, Any]:
    assert cli.run(["runs", *arguments, "--json"]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def lines(capsys: Output, *arguments: str, code: int = 0) -> list[str]:
    assert cli.run(["runs", *arguments]) == code
    return capsys.readouterr().out.splitlines()


# --- sync ----------------------------------------------------------------------------------------


def test_a_sync_says_what_it_did(capsys: Output, index: str) -> None:
    assert lines(capsys, "sync")[1:3] == [
        "4 added, 0 changed, 0 unchanged, 0 removed",
        "added r1",
    ]
    shutil.rmtree(RESULTS / "r1")
    found = run(capsys, "sync")
    assert found["index"].endswith(index)
    assert (found["project"], found["removed"], found["broken"]) == ("acme/bot", ["r1"], {})
    assert found["unchanged"] == ["r2", "r3", "r4"]


def test_a_sync_without_an_index_says_how_to_name_one(capsys: Output) -> None:
    assert cli.run(["runs", "sync"]) == ExitCode.USAGE
    assert "no index: expected --db or RAGEVAL_DB" in capsys.readouterr().err


def test_a_broken_run_makes_the_answer_no(capsys: Output, index: str) -> None:
    (RESULTS / "r2" / "results.jsonl").write_text("[]\n", encoding="utf-8")
    assert cli.run(["runs", "sync"]) == ExitCode.NO
    captured = capsys.readouterr()
    assert "r2/results.jsonl:1: Expected `object`, got `array`" in captured.err
    assert "4 added" in captured.out
    assert list(run(capsys, "sync", code=ExitCode.NO)["broken"]) == ["r2"]


# --- trend ---------------------------------------------------------------------------------------


def test_a_trend_is_told_from_the_folders(capsys: Output) -> None:
    found = run(capsys, "trend", "recall_at_k")
    assert (found["metric"], found["scope"], found["group"]) == ("recall_at_k", "overall", None)
    assert [point["value"] for point in found["runs"]] == [0.8, 0.6, 0.4, 0.2]
    low, high = (f"{found['runs'][3][name]:.2f}" for name in ("low", "high"))
    told = lines(capsys, "trend", "recall_at_k", "--last", "2")
    assert told[0] == "recall_at_k, higher is better"
    assert told[1].split() == ["run", "when", "n", "value", "interval", "change", "tags"]
    assert told[3].split() == ["r4", "2026-01-04", "00:00", "5", "0.200", f"{low}-{high}", "-0.200"]


def test_the_index_gives_the_same_answers(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = (
        ("recall_at_k",),
        ("recall_at_k", "--tag", "work"),
        ("mrr", "--category", "multi_hop", "--last", "2"),
        ("latency_ms.p95", "--run-tag", "main"),
        ("pass_rate", "--config", "0"),
        ("recall_any_at_k",),
    )
    assert cli.run(["runs", "tag", "r2", "main"]) == 0
    capsys.readouterr()
    read = [(run(capsys, "trend", *one), lines(capsys, "trend", *one)) for one in asked]
    monkeypatch.setenv("RAGEVAL_DB", INDEX)
    run(capsys, "sync")
    shutil.rmtree(RESULTS)
    assert [(run(capsys, "trend", *one), lines(capsys, "trend", *one)) for one in asked] == read


@pytest.mark.parametrize("source", ["folders", "index"])
def test_partial_runs_are_left_out_with_a_note_or_marked(capsys: Output, source: str) -> None:
    write_run(RESULTS, "r5", cases(4), day=5, set={"hash": "whole", "n_cases": 6})
    where = ("--db", INDEX) if source == "index" else ()
    if where:
        run(capsys, "sync", *where)
    found = lines(capsys, "trend", "mrr", *where)
    assert [line.split()[0] for line in found[2:-1]] == ["r1", "r2", "r3", "r4"]
    assert found[-1] == "1 partial run left out (--partial shows it)"
    document = run(capsys, "trend", "mrr", *where)
    assert (len(document["runs"]), document["n_partial_left_out"]) == (4, 1)
    shown = lines(capsys, "trend", "mrr", "--partial", *where)
    assert shown[-1].startswith("r5 ")
    assert shown[-1].endswith("(partial)")
    assert any(line.startswith("--- selection: ") for line in shown[-4:-1])
    last = run(capsys, "trend", "mrr", "--partial", *where)["runs"][-1]
    assert (last["run_id"], last["partial"]) == ("r5", True)


@pytest.mark.parametrize("source", ["folders", "index"])
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("recal_at_k",), "metric 'recal_at_k': in no run, did you mean \"recall_at_k\"?"),
        (
            ("stage.foo",),
            "stage 'foo': in no run; there are: hallucinated, incorrect, irrelevant_r",
        ),
        (("stage.not_cite",), "stage 'not_cite': in no run, did you mean \"not_cited\"?"),
        (("mrr", "--tag", "wurk"), "tag 'wurk': in no run, did you mean \"work\"?"),
        (("mrr", "--category", "x"), "category 'x': in no run; there are: factual, multi_hop"),
        (
            ("error_rate", "--tag", "work"),
            "metric 'error_rate': no run has it for tag 'work'; a figure of a whole run is not",
        ),
        (("mrr", "--run-tag", "main"), "run tag 'main': in no run; there are: v1"),
        (("mrr", "--run-tag", "v1", "--run-tag", "v2"), "run tag 'v2': in no run; there are: v1"),
        (("mrr", "--tag", "a", "--category", "b"), "got both, expected one of them"),
    ],
)
def test_what_no_run_has_is_a_usage_error(
    capsys: Output, source: str, arguments: tuple[str, ...], complaint: str
) -> None:
    run(capsys, "tag", "r1", "v1")
    if source == "index":
        run(capsys, "sync", "--db", INDEX)
        arguments = (*arguments, "--db", INDEX)
    assert cli.run(["runs", "trend", *arguments]) == ExitCode.USAGE
    assert complaint in capsys.readouterr().err


def test_an_index_that_was_never_made_says_so(capsys: Output, index: str) -> None:
    assert cli.run(["runs", "trend", "mrr"]) == ExitCode.USAGE
    assert "there is no index of runs; `rageval runs sync` makes one" in capsys.readouterr().err
    assert not Path(index).exists()


# --- other commands ------------------------------------------------------------------------------


def test_tags_and_removals_reach_the_index_at_once(capsys: Output, index: str) -> None:
    run(capsys, "sync")
    run(capsys, "tag", "r1", "main")
    run(capsys, "tag", "r2", "main")
    assert dict(rows(index, "evaluation_runs", "run_id, tags")) == {
        **{"r1": "", "r2": "main"},
        **{"r3": "", "r4": ""},
    }
    run(capsys, "tag", "main", "--delete")
    run(capsys, "prune", "--keep", "1")
    assert rows(index, "evaluation_runs", "run_id, tags") == [("r4", "")]
    assert run(capsys, "sync")["unchanged"] == ["r4"]


def test_a_command_whose_index_is_down_warns_and_does_its_work(
    capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGEVAL_DB", "postgresql:/ann:sesame@host/db")
    assert cli.run(["runs", "tag", "r1", "main", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["run_id"] == "r1"
    assert captured.err.startswith("warning: not in the index of runs: ")
    assert len(captured.err.splitlines()) == 1
    assert "sesame" not in captured.err


def test_a_damaged_run_is_put_in_as_far_as_it_can_be_read(capsys: Output, index: str) -> None:
    Path("evals/results/r1/metrics.json").write_text("{", encoding="utf-8")
    assert cli.run(["runs", "tag", "r1", "main"]) == 0
    assert "metrics.json" in capsys.readouterr().err
    assert rows(index, "evaluation_runs", "run_id") == [("r1",)]


def test_a_scored_run_that_is_saved_is_put_in(capsys: Output, index: str) -> None:
    Path("cases.jsonl").write_text('{"id": "a", "question": "?"}\n', encoding="utf-8")
    Path("responses.jsonl").write_text('{"id": "a", "response": {"answer": "!"}}\n', "utf-8")
    score = ["score", "cases.jsonl", "responses.jsonl", "--json"]
    assert cli.run(score) == 0
    assert not Path(index).exists()
    assert cli.run([*score, "--save", "scored"]) == 0
    assert rows(index, "test_results", "run_id, case_id") == [("scored", "a")]


# --- colour --------------------------------------------------------------------------------------
