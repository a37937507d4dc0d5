"""``rageval runs``: stored runs listed, shown, named and cleared away."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.runs.list import prune_hint
from pytest_rageval.runs.store import list_runs, resolve_run
from pytest_rageval.runs.tags import read_tags, write_tag
from pytest_rageval.support.files import FOLDER_LOCK, Lock
from pytest_rageval.values.errors import StorageError
from tests.build.runs import run_of, write_run

Output = pytest.CaptureFixture[str]
RESULTS = Path("evals/results")


@pytest.fixture(autouse=True)
def _runs(project: Path) -> None:
    for day in range(1, 6):
        write_run(RESULTS, f"r{day}", run_of(day), day=day)


def run(capsys: Output, *arguments: str, code: int = 0) -> dict[str, Any]:
    assert cli.run(["runs", *arguments, "--json"]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def names() -> list[str]:
    return [path.name for path in list_runs(RESULTS)]


# --- list and show -------------------------------------------------------------------------------


def test_runs_are_listed_newest_first(capsys: Output) -> None:
    write_tag(RESULTS, "main", "r3")
    found = run(capsys, "list")["runs"]
    assert [one["run_id"] for one in found] == ["r5", "r4", "r3", "r2", "r1"]
    assert [one["n_cases"] for one in found] == [5, 4, 3, 2, 1]
    assert [one["tags"] for one in found] == [[], [], ["main"], [], []]
    assert {one["verdict"] for one in found} == {"pass"}
    assert cli.run(["runs", "list"]) == ExitCode.YES
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == "run when cases gate passed hit p95 ms tags".split()
    figures = ["0.667", "0.667", "10"]
    assert lines[3].split() == ["r3", "2026-01-03", "00:00", "3", "pass", *figures, "main"]
    assert found[2]["figures"]["latency_ms.p95"] == 10


def test_a_run_is_shown_with_its_documents(capsys: Output) -> None:
    found = run(capsys, "show", "last")
    assert (found["run_id"], found["n_cases"]) == ("r5", 5)
    assert found["metrics"]["total"] == 5
    assert found["config"]["settings"]["k"] == 5
    assert cli.run(["runs", "show", "r5"]) == ExitCode.YES
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["run      r5, 5 cases", "gate     PASS"]
    (row,) = [line.split() for line in lines if line.startswith("recall_at_k ")]
    assert row[1:3] == ["5", "0.800"]
    for name in ("metrics.json", "gate.json", "config.json"):  # of a run that was cut short
        (RESULTS / "r5" / name).unlink()
    assert run(capsys, "show", "r5")["metrics"] is None
    assert cli.run(["runs", "show", "r5"]) == ExitCode.YES
    assert cli.run(["runs", "show", "nothing"]) == ExitCode.USAGE
    assert "not found" in capsys.readouterr().err


# --- tag -----------------------------------------------------------------------------------------


def test_a_tag_names_a_run_wherever_one_is_named(capsys: Output) -> None:
    found = run(capsys, "tag", "last~1", "main")
    assert found == {"schema_version": 1, "tag": "main", "run_id": "r4", "before": None}
    assert resolve_run(RESULTS, "main") == RESULTS / "r4"
    assert (RESULTS / "tags" / "main").read_text(encoding="utf-8") == "r4\n"
    assert "tags" not in names()


def test_a_tag_can_be_taken_away(capsys: Output) -> None:
    write_tag(RESULTS, "main", "r1")
    assert run(capsys, "tag", "main", "--delete")["before"] == "r1"
    assert read_tags(RESULTS) == {}
    assert cli.run(["runs", "tag", "main", "--delete"]) == ExitCode.USAGE
    assert "tag 'main': not found" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["last", "tags", "r2", "", "a/b", ".a", "x.json", "../x", "a b", "v1.", "con"]
)
def test_a_name_that_is_no_tag_is_refused(name: str) -> None:
    with pytest.raises(StorageError, match=r"^tag: "):
        write_tag(RESULTS, name, "r1")
    assert read_tags(RESULTS) == {}


@pytest.mark.parametrize("name", ["r2 before the change", "\u65e5\u672c"])
def test_a_folder_whose_name_is_no_id_cannot_be_tagged(capsys: Output, name: str) -> None:
    write_tag(RESULTS, "main", "r1")
    (RESULTS / "r2").rename(RESULTS / name)
    assert cli.run(["runs", "tag", name, "main"]) == ExitCode.USAGE
    assert "expected 1 to 100 letters" in capsys.readouterr().err
    assert read_tags(RESULTS) == {"main": "r1"}


def test_a_file_that_names_no_run_is_no_tag() -> None:
    write_tag(RESULTS, "main", "r1")
    (RESULTS / "tags" / "odd").write_text("<<<<<<< HEAD\nr1\n", encoding="utf-8")
    (RESULTS / "tags" / "bytes").write_bytes(b"\xff")
    assert read_tags(RESULTS) == {"main": "r1"}


@pytest.mark.parametrize("content", [b"../../../etc\n", b"", b"\xff", b"<<<<<<< HEAD\nr1\n"])
def test_a_malformed_tag_is_told_by_its_file_and_can_be_given_anew(
    capsys: Output, content: bytes
) -> None:
    write_tag(RESULTS, "evil", "r1")
    path = RESULTS / "tags" / "evil"
    path.write_bytes(content)
    for arguments in (("show", "evil"), ("tag", "evil", "--delete")):
        assert cli.run(["runs", *arguments]) == ExitCode.USAGE
        error = capsys.readouterr().err
        assert f"{path}: the file of tag 'evil' is malformed: got " in error
        assert error.count("\n") == 1
    assert run(capsys, "tag", "r2", "evil")["before"] is None
    assert resolve_run(RESULTS, "evil").name == "r2"


# --- approve -------------------------------------------------------------------------------------


def test_an_approved_run_is_written_to_a_file_for_git_and_kept(capsys: Output) -> None:
    found = run(capsys, "approve", "r2", "--because", "fewer documents, as planned")
    assert (found["run"], found["file"]) == ("r2", "evals/baseline.json")
    stored = json.loads(Path("evals/baseline.json").read_text(encoding="utf-8"))
    assert stored["because"] == "fewer documents, as planned"
    assert run(capsys, "prune", "--keep", "2")["removed"] == ["r1", "r3"]
    assert cli.run(["runs", "approve", "r1"]) == ExitCode.USAGE


@pytest.mark.parametrize(
    ("git", "codes"),
    [
        ({}, ["no_commit"]),
        ({"commit": "0123456789", "dirty": True}, ["dirty_run"]),
        ({"commit": "0123456789", "dirty": False}, []),
    ],
)
def test_the_approval_of_a_run_that_nobody_can_repeat_warns(
    capsys: Output, git: dict[str, Any], codes: list[str]
) -> None:
    write_run(RESULTS, "of-git", run_of(5), git=git)
    found = run(capsys, "approve", "of-git", "--because", "as planned")
    assert [one["code"] for one in found["remarks"]] == codes
    assert cli.run(["runs", "approve", "of-git", "--because", "as planned"]) == ExitCode.YES
    assert ("warning" in capsys.readouterr().out) == bool(codes)


# --- prune ---------------------------------------------------------------------------------------


def test_all_but_the_newest_and_tagged_runs_go_unless_they_are_only_listed(capsys: Output) -> None:
    assert cli.run(["runs", "prune", "--keep", "4", "--dry-run"]) == ExitCode.YES
    assert capsys.readouterr().out == "would remove r1\n"
    assert len(names()) == 5
    assert run(capsys, "prune", "--keep", "3")["removed"] == ["r1", "r2"]
    write_tag(RESULTS, "main", "r3")
    assert run(capsys, "prune", "--keep", "0")["removed"] == ["r4", "r5"]
    assert names() == ["r3"]
    assert resolve_run(RESULTS, "main").name == "r3"


def test_many_untagged_runs_or_large_ones_are_offered_for_removal() -> None:
    assert prune_hint(RESULTS, "evals/results") is None
    write_tag(RESULTS, "main", "r1")
    for number in range(6, 22):
        shutil.copytree(RESULTS / "r2", RESULTS / f"r{number}")
    (RESULTS / "notes").mkdir()
    assert prune_hint(RESULTS, "evals/results") is None  # 20 without a tag
    shutil.copytree(RESULTS / "r2", RESULTS / "r22")
    offered = r"21 untagged runs, \d MB, in evals/results: rageval runs prune --keep 10"
    assert re.fullmatch(offered, prune_hint(RESULTS, "evals/results") or "")
    for number in range(5, 23):
        shutil.rmtree(RESULTS / f"r{number}")
    with (RESULTS / "r2" / "results.jsonl").open("r+b") as file:
        file.truncate(150_000_000)  # sparse
    assert prune_hint(RESULTS, "x") == "3 untagged runs, 150 MB, in x: rageval runs prune --keep 1"
    assert prune_hint(RESULTS / "none", "x") is None


@pytest.mark.parametrize("only_list", [(), ("--dry-run",)])
def test_a_run_that_is_being_written_stays(capsys: Output, only_list: Sequence[str]) -> None:
    lock = Lock(RESULTS / "r1", wait=False, what="run")
    found = run(capsys, "prune", "--keep", "4", *only_list, code=ExitCode.NO)
    assert cli.run(["runs", "prune", "--keep", "4", *only_list]) == ExitCode.NO
    said = capsys.readouterr()
    lock.close()
    assert said.out == ""
    assert "another session is writing this run" in said.err
    assert found["removed"] == []
    assert "another session is writing this run" in found["not_removed"][0]
    assert "r1" in names()


def test_a_run_is_removed_with_what_a_killed_session_and_a_user_left_in_it() -> None:
    kept = Path("kept")
    kept.mkdir()
    (RESULTS / "r1" / FOLDER_LOCK).touch()
    (RESULTS / "r1" / "notes" / "deep").mkdir(parents=True)
    (RESULTS / "r1" / "link").symlink_to(kept.resolve(), target_is_directory=True)
    assert cli.run(["runs", "prune", "--keep", "4"]) == ExitCode.YES
    assert "r1" not in names()
    assert not (RESULTS / "r1").exists()
    assert kept.is_dir()
