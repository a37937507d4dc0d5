"""Arguments that were not given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.runs.tags import write_tag
from tests.build.files import write_lines
from tests.build.projects import work_in
from tests.build.runs import run_of, write_run

Output = pytest.CaptureFixture[str]
RESULTS = Path("evals/results")
CASE = {"id": "a", "question": "q", "gold_supports": [{"rel_path": "a.md"}]}
GENERATED = {**CASE, "id": "g", "question": "When?", "review": "generated"}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with a case file and three runs."""
    folder = work_in(tmp_path, monkeypatch)
    write_lines(Path("evals/set.jsonl"), CASE)
    thresholds("")
    for day in (1, 2, 3):
        write_run(RESULTS, f"r{day}", run_of(5), day=day)
    return folder


def call(capsys: Output, *arguments: str, code: int = ExitCode.YES) -> tuple[str, list[str]]:
    """Return what a command prints, and the lines on stderr."""
    assert cli.run(arguments) == code
    out, err = capsys.readouterr()
    return out, err.splitlines()


def setting(text: str) -> None:
    Path("pyproject.toml").write_text(f"[tool.rageval]\n{text}\n", encoding="utf-8")


def thresholds(line: str) -> None:
    text = f'{line}\n[cases]\non_miss = "report"\n'
    Path("thresholds.toml").write_text(text, encoding="utf-8")


# --- runs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["gate"], ["report"], ["runs", "show"]])
def test_a_command_without_a_run_takes_the_last(command: list[str], capsys: Output) -> None:
    out, err = call(capsys, *command, "r3")
    assert call(capsys, *command) == (out, ["assumed RUN: r3, the last run", *err])


def test_without_runs_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    work_in(tmp_path / "empty", monkeypatch)
    for command in (["gate"], ["report"], ["explain"], ["compare"]):
        out, err = call(capsys, *command, code=ExitCode.USAGE)
        assert (out, len(err)) == ("", 1)
        assert "yet: run `pytest" in err[0]


# --- two runs ----------------------------------------------------------------------------------


def pair(capsys: Output, *arguments: str) -> tuple[str, str, list[str]]:
    out, err = call(capsys, "compare", *arguments, "--json")
    found: dict[str, Any] = json.loads(out)
    return found["base"], found["new"], err


NEW = "assumed NEW: r3, the last run"


@pytest.mark.parametrize("arguments", [[], ["last"]])
def test_the_last_run_is_compared_with_the_one_before(arguments: list[str], capsys: Output) -> None:
    said = [NEW, "assumed BASE: r2, the run before"]
    assert pair(capsys, *arguments) == ("r2", "r3", said)


def test_the_last_run_is_compared_with_the_baseline_or_the_one_tagged_main(capsys: Output) -> None:
    thresholds('baseline = "elsewhere"')
    base, _, err = pair(capsys)
    assert base == "r2"
    assert err[1].startswith("assumed BASE: not elsewhere: run 'elsewhere': not found")
    thresholds("")
    write_tag(RESULTS, "main", "r1")
    assert pair(capsys) == ("r1", "r3", [NEW, "assumed BASE: r1, tagged main"])


def test_the_only_run_cannot_be_compared(capsys: Output) -> None:
    write_run(Path("other"), "one", run_of(5))
    setting('results = "other"')
    _, err = call(capsys, "compare", code=ExitCode.USAGE)
    assert err[1] == "rageval: BASE: no run given, and no run is older than one"


# --- case files --------------------------------------------------------------------------------


def test_the_only_case_file_is_scored_and_labelled(capsys: Output) -> None:
    write_lines(Path("r.jsonl"), {"id": "a", "response": {"answer": "x"}})
    out, err = call(capsys, "score", "r.jsonl")
    assert err[0] == "assumed CASES: evals/set.jsonl"
    assert out.startswith("1 case")
    _, err = call(capsys, "label", code=ExitCode.USAGE)
    assert err[0] == "assumed FILE: evals/set.jsonl"


def test_of_two_case_files_the_one_with_generated_cases_is_reviewed(capsys: Output) -> None:
    write_lines(Path("evals/generated.jsonl"), GENERATED)
    write_lines(Path("evals/broken.jsonl"), "no case")
    _, err = call(capsys, "label", "--review", code=ExitCode.USAGE)
    assert err[0] == "assumed FILE: evals/generated.jsonl"
    _, err = call(capsys, "label", code=ExitCode.USAGE)
    assert err == [
        "rageval label: FILE: none given, expected one of evals/broken.jsonl, "
        "evals/generated.jsonl, evals/set.jsonl"
    ]


@pytest.mark.parametrize(
    "command", [["check"], ["label"], ["score", "r.jsonl"], ["export", "trec", "-o", "x"]]
)
def test_without_case_files_the_error_names_a_way(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    work_in(tmp_path / "empty", monkeypatch)
    _, err = call(capsys, *command, code=ExitCode.USAGE)
    assert len(err) == 1
    assert "none given, and evals has no case file; begin with `rageval init`" in err[0]


def test_a_file_without_questions_is_named_with_a_command_that_says_why(capsys: Output) -> None:
    write_lines(Path("evals/set.jsonl"), {"id": "a", "query": "q"})
    _, err = call(capsys, "check", code=ExitCode.USAGE)
    assert (
        "has no case file; evals/set.jsonl is not a case file (its lines hold id, query)" in err[0]
    )
    advice = err[0].split("`")[1].split()
    _, err = call(capsys, *advice[1:], code=ExitCode.USAGE)
    assert any('did you mean "question"?' in line for line in err)


def test_a_case_is_edited_in_the_file_that_has_it(capsys: Output) -> None:
    write_lines(Path("evals/b.jsonl"), {**CASE, "id": "b"})
    assert call(capsys, "case", "edit", "b", "--answer", "x")[0] == "evals/b.jsonl: changed b\n"
    assert call(capsys, "case", "remove", "a")[0] == "evals/set.jsonl: removed a\n"
    write_lines(Path("evals/set.jsonl"), {**CASE, "id": "b"})
    _, err = call(capsys, "case", "remove", "b", code=ExitCode.USAGE)
    assert err[0].endswith("is in evals/b.jsonl, evals/set.jsonl; name one of them with --file")
    _, err = call(capsys, "case", "remove", "bb", code=ExitCode.USAGE)
    assert "did you mean" in err[0]


def test_a_case_is_added_to_the_only_file(capsys: Output) -> None:
    add = ["case", "add", "--question", "How?", "--gold", "a.md", "--id"]
    assert call(capsys, *add, "x")[0] == "evals/set.jsonl: added x\n"
    write_lines(Path("evals/b.jsonl"), {**CASE, "id": "b"})
    assert call(capsys, *add, "y")[0] == "evals/eval_set.jsonl: added y\n"


# --- notes -------------------------------------------------------------------------------------


def test_the_notes_of_the_target_are_served(
    capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, err = call(capsys, "serve", code=ExitCode.USAGE)
    assert err[0].startswith("rageval serve: --vault: none given, and [tool.rageval.target] has no")
    setting('target.vault = "nowhere"')
    _, err = call(capsys, "serve", code=ExitCode.USAGE)
    assert err[0] == "assumed --vault: nowhere, of [tool.rageval.target]"
    assert "nowhere" in err[1]
