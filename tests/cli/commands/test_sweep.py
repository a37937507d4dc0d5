"""``rageval sweep`` over a target that counts its questions."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.values.errors import StorageError
from tests.build.files import write_lines
from tests.build.run_files import documents
from tests.build.sweep_target import (
    SweepTarget,
    sweep_case,
    sweep_target,
    write_sweep_project,
)
from tests.plugin.long_runs import wait_until

Output = pytest.CaptureFixture[str]
FOLDER = Path("evals/results/sweep")


@pytest.fixture
def target() -> Iterator[SweepTarget]:
    with sweep_target() as found:
        write_sweep_project(found.url)
        yield found


def sweep(capsys: Output, *arguments: str, expected: int = ExitCode.YES) -> dict[str, Any]:
    assert cli.run(["sweep", *arguments, "--json"]) == expected
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def refused(capsys: Output, *arguments: str, code: int = ExitCode.USAGE) -> str:
    assert cli.run(["sweep", *arguments]) == code
    return " ".join(capsys.readouterr().err.split())


def in_process(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pytest_rageval.cli.main", "sweep", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(target: SweepTarget, n: int) -> None:
    for _ in range(3000):
        if target.asked.total() >= n:
            return
        time.sleep(0.01)
    raise AssertionError(f"{target.asked.total()} questions, expected {n}")


# --- the outcome ------------------------------------------------------------------------------


def test_the_planted_winner_is_found_and_kept_and_a_sweep_goes_on_only_with_its_file_and_cases(
    target: SweepTarget, capsys: Output
) -> None:
    assert "contains no sweep 'sweep' to resume" in refused(capsys, "--resume")
    plain = Path("pyproject.toml").read_text("utf-8")
    Path("pyproject.toml").write_text(plain.replace("no_report = true\n", ""), encoding="utf-8")
    assert cli.run(["sweep"]) == ExitCode.YES
    out = capsys.readouterr().out
    assert "boost=5" in out
    assert out.endswith(
        "in evals/results/sweep: sweep.md, sweep.html, best.toml, sweep.json and the runs\n"
    )
    assert "boost=5" in (FOLDER / "sweep.md").read_text("utf-8")
    page = (FOLDER / "sweep.html").read_text("utf-8")
    assert "boost=5" in page
    best = tomllib.loads((FOLDER / "best.toml").read_text("utf-8"))
    assert best["tool"]["rageval"]["params"] == {"boost": 5}
    runs = [run for run in FOLDER.glob("*/") if run.is_dir()]
    assert all((run / "report.html").is_file() for run in runs)
    assert all(f'href="{run.name}/report.html"' in page for run in runs)

    Path("pyproject.toml").write_text(
        plain, encoding="utf-8"
    )  # the pages take longer than the rest
    document = sweep(capsys, "--resume")
    assert (document["verdict"], document["winner"]) == ("better", {"boost": 5})
    assert [row["parameters"]["boost"] for row in document["ranking"]] == [5, 1, 0]
    assert document["requests_spent"] == target.asked.total() == 120
    assert document["holdout"] == 0
    stored = json.loads((FOLDER / "sweep.json").read_text("utf-8"))
    assert {**stored, "folder": document["folder"]} == document
    run = FOLDER / document["ranking"][0]["run"]
    metrics = json.loads((run / "metrics.json").read_text("utf-8"))
    assert metrics["metrics"]["recall_at_k"]["mean"] == document["ranking"][0]["objective"]

    Path("sweep.toml").write_text("[query]\nboost = [0, 5]\n", encoding="utf-8")
    assert "sweep was begun, in query; give the same" in refused(capsys, "--resume")
    write_sweep_project(target.url, n=8)
    assert "(40 then, 8 now)" in refused(capsys, "--resume")
    assert sweep(capsys, expected=ExitCode.NO)["folder"] == "evals/results/sweep-2"


def test_a_dry_run_asks_nothing(target: SweepTarget, capsys: Output) -> None:
    document = sweep(capsys, "--dry-run")
    assert (document["requests"], document["requests_grid"]) == (120, 120)
    assert (len(document["configurations"]), document["index_builds"]) == (3, 0)
    assert document["judged_answers"] == 120
    assert cli.run(["sweep", "--dry-run"]) == ExitCode.YES
    out = capsys.readouterr().out
    assert "requests        120 of 120" in out
    assert out.endswith("nothing was asked\n")
    assert not target.asked
    assert not FOLDER.exists()


@pytest.mark.slow
def test_held_out_cases_are_asked_of_the_finalists_and_decide(
    target: SweepTarget, capsys: Output
) -> None:
    text = "[query]\nboost = [0, 1, 2, 3, 4, 6]\n[search]\nholdout = 0.5\nmethod = 'grid'\n"
    write_sweep_project(target.url, n=60, sweep=text)
    document = sweep(capsys, "--dry-run")
    assert (document["requests"], document["holdout"]) == (6 * 30 + 4 * 30, 30)
    cli.run(["sweep", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["requests_spent"] == target.asked.total() == 6 * 30 + 4 * 30
    assert set(target.asked.values()) == {1}
    assert document["ranking"][0]["parameters"] == {"boost": 6}
    assert document["tests"][0]["n"] == 30
    assert sum(row["held"] is not None for row in document["ranking"]) == 4


# --- several in flight, interrupted, resumed --------------------------------------------------


@pytest.mark.slow
def test_an_error_in_the_middle_says_how_to_go_on(
    target: SweepTarget, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_rageval.engine.sweep.runner import SweepRunner

    def fails(runner: SweepRunner) -> None:
        raise StorageError("disk full")

    monkeypatch.setattr(SweepRunner, "run", fails)
    text = refused(capsys)
    assert "what was measured is kept: `rageval sweep --resume` continues" in text


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_a_stopped_sweep_goes_on_and_asks_nothing_twice(
    target: SweepTarget, capsys: Output, name: str
) -> None:
    number = signal.Signals[name]
    target.pause_s, target.most = 0.05, 75
    with in_process() as process:
        wait_for(target, 76)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    target.answer_all()
    if number != signal.SIGKILL:
        assert process.returncode == ExitCode.INTERRUPTED
        assert "`rageval sweep --resume` continues" in err
    lines = sum(len(f.read_text("utf-8").splitlines()) for f in FOLDER.glob("*/results.jsonl"))
    assert lines >= 40
    before = target.settled_total()
    target.pause_s = 0.0
    document = sweep(capsys, "--resume")
    assert document["winner"] == {"boost": 5}
    # Asked again is only what was in flight when the process ended.
    assert target.asked.total() - 120 <= before - lines
    again = target.asked.total()
    sweep(capsys, "--resume")
    assert target.asked.total() == again


SLOW_BUILD = """
import pathlib, signal, sys, time

def end(*_):
    pathlib.Path("ended").touch()
    sys.exit()

signal.signal(signal.SIGTERM, end)
pathlib.Path("begun").touch()
time.sleep(60)
"""


@pytest.mark.posix
def test_a_terminated_sweep_ends_the_build_that_is_running(target: SweepTarget) -> None:
    Path("build.py").write_text(SLOW_BUILD, encoding="utf-8")
    build = f"'{sys.executable}' build.py; true"
    content = f"[query]\nboost = [0]\n[index]\nsize = [1, 2]\n[index.build]\ncommand = {build!r}\n"
    Path("sweep.toml").write_text(content, encoding="utf-8")
    with in_process() as process:
        wait_until(Path("begun").exists, "the build to begin")
        process.terminate()
        _, err = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED
    assert "`rageval sweep --resume` continues" in err
    wait_until(Path("ended").exists, "the build to end")


def test_a_target_that_is_down_is_unreachable(target: SweepTarget, capsys: Output) -> None:
    write_sweep_project("http://127.0.0.1:9")
    text = refused(capsys, code=ExitCode.UNREACHABLE)
    assert "the target cannot be reached: gave up after 10 connection errors" in text
    assert "is kept: `rageval sweep --resume` continues" in text
    again = ["sweep.toml", "--name", "mine"]
    text = refused(capsys, *again, code=ExitCode.UNREACHABLE)
    assert "is kept: `rageval sweep sweep.toml --name mine --resume` continues" in text


# --- index builds -----------------------------------------------------------------------------

BUILD = """
[query]
boost = [0, 5]
[index]
size = [100, 200, 300]
[index.build]
command = 'echo $RAGEVAL_SWEEP_SIZE >> built; test $RAGEVAL_SWEEP_SIZE != 200'
"""


def test_each_index_is_built_once_and_a_failed_one_leaves_the_others(
    target: SweepTarget, capsys: Output
) -> None:
    write_sweep_project(target.url, n=20, sweep=BUILD)
    assert cli.run(["sweep", "--json"]) == ExitCode.NO  # two indexes are equally good
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert Path("built").read_text("utf-8").split() == ["100", "200", "300"]
    assert {row["parameters"]["size"] for row in document["ranking"]} == {100, 300}
    assert any("size=200: exit code 1" in note for note in document["notes"])
    assert "error: " in err
    assert "(no output)" in err


@pytest.mark.slow
def test_a_resumed_sweep_builds_only_what_is_still_asked(
    target: SweepTarget, capsys: Output
) -> None:
    write_sweep_project(target.url, n=10, sweep=BUILD.split("; test")[0] + "'\n")
    cli.run(["sweep"])
    cli.run(["sweep", "--resume"])
    assert Path("built").read_text("utf-8").split() == ["100", "200", "300"]
    last = max(FOLDER.glob("*/results.jsonl"), key=lambda file: file.stat().st_mtime)
    lines = last.read_text("utf-8").splitlines(keepends=True)
    last.write_text("".join(lines[:-1]), encoding="utf-8")
    asked = target.asked.total()
    capsys.readouterr()
    cli.run(["sweep", "--resume"])
    assert target.asked.total() == asked + 1
    assert Path("built").read_text("utf-8").split() == ["100", "200", "300"]


def test_a_range_is_searched_by_proposals_and_goes_on_without_asking_twice(
    target: SweepTarget, capsys: Output
) -> None:
    text = "[query]\nboost = { min = 0, max = 8, step = 3 }\n"
    Path("sweep.toml").write_text(text, encoding="utf-8")
    assert sweep(capsys, "--dry-run")["requests"] == 3 * 40
    document = sweep(capsys)
    assert (document["method"], document["verdict"]) == ("optuna", "better")
    assert document["requests_spent"] == document["requests_grid"] == 3 * 40
    assert document["winner"] == {"boost": 6}
    assert document["ranking"][-1]["baseline"]
    assert max(target.asked.values()) == 1
    asked = target.asked.total()
    again = sweep(capsys, "--resume")
    assert target.asked.total() == asked
    assert [row["key"] for row in again["ranking"]] == [row["key"] for row in document["ranking"]]


# --- wrong input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text", "fault"),
    [
        (["no.toml"], "", "'no.toml' is not there"),
        (["sweep.toml", "--quick"], "", "expected none with --quick"),
        (["--dry-run", "--resume"], "", "expected one of them"),
        (["--name", "../x"], "", "--name: got '../x', expected 1 to 100 letters"),
        (["--name", "nul.1"], "", "--name: got 'nul.1', expected 1 to 100 letters"),
        (["--name", "last"], "", "--name: got 'last'"),
        ([], "[query]\nk = [1, 2]\n[search]\nholdout = 0.1\n", "sweep.toml: holdout"),
        ([], "[query]\nquestion = [1, 2]\n", "sweep.toml: query.question: got 'question'"),
        ([], "[query]\nk = [0, 2]\n", "sweep.toml: query.k: got 0"),
        (
            [],
            'objective = "recall_at_tokens"\n[query]\nk = [3, 5]\n',
            "sweep.toml: objective recall_at_tokens: no case can have a value of it",
        ),
        (
            [],
            'constraints = ["recall_at_tokens>=0.5"]\n[query]\nk = [3, 5]\n',
            "token counts or texts, if token_budget is set in [tool.rageval]",
        ),
        (
            [],
            'constraints = ["mrr[none]>=0.1"]\n[query]\nk = [3, 5]\n',
            "sweep.toml: constraint on mrr [none]: no case has the category 'none'",
        ),
        ([], "[query]\nk = {min = 0, max = 9}\n", "sweep.toml: query.k: got 0"),
        ([], "[query]\nvector_weight = {min = 0, max = 1}\nk = [5, 0]\n", "query.k: got 0"),
        ([], '[index]\na = [1, 2]\n[index.build]\nfixture = "f"\n', "so it cannot use a fixture"),
        ([], "[index]\na = [1, 2]\n[index.build]\nembedded = true\n", "embedded = true builds"),
    ],
)
def test_wrong_input_is_named(
    target: SweepTarget, capsys: Output, arguments: list[str], text: str, fault: str
) -> None:
    if text:
        Path("sweep.toml").write_text(text, encoding="utf-8")
    assert fault in refused(capsys, *arguments)
    assert not target.asked


# --- as pytest does it ------------------------------------------------------------------------


@pytest.mark.slow
def test_a_configuration_has_the_records_and_numbers_of_a_session(
    target: SweepTarget, capsys: Output
) -> None:
    lines = [sweep_case(i, category="ab"[i % 2]) for i in range(120)]
    write_lines(Path("evals/set.jsonl"), *lines)
    Path("sweep.toml").write_text(
        '[query]\nk = [1, 3]\nboost = [0, 2, 5]\ntone = ["a", "b"]\n[search]\nmethod = "halving"\n',
        encoding="utf-8",
    )
    cli.run(["sweep", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["requests_spent"] <= 0.45 * document["requests_grid"]
    assert max(target.asked.values()) <= 4  # one for each k and tone
    asked = target.asked.total()
    cli.run(["sweep", "--resume", "--json"])
    again = json.loads(capsys.readouterr().out)
    assert target.asked.total() == asked == document["requests_spent"]
    assert again == document
    best = document["ranking"][0]
    values = best["parameters"]
    assert values["boost"] == 5
    flags = ["--rag-k", str(values["k"])]
    for name in ("boost", "tone"):
        flags += ["--rag-param", f"{name}={values[name]}"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "evals", *flags]
    done = subprocess.run(
        [*command, "--rageval-run-id", "s"], capture_output=True, text=True, check=False
    )
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    found, session = (documents(folder) for folder in (FOLDER / best["run"], FOLDER.parent / "s"))
    for one in (found, session):
        one.pop("config.json")
    assert found == session
