"""Stored runs of a repository, one of which is the baseline of another."""

from __future__ import annotations

import json
import shutil
import tarfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.runs.baseline import (
    FoundBaseline,
    approval_path,
    approve_run,
    failed_before,
    find_baseline,
    find_last,
    read_approval,
    refuse_missing_baseline,
)
from pytest_rageval.runs.read import read_documents, select_failed
from pytest_rageval.runs.store import write_document
from pytest_rageval.values.baseline import Approval
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.gate import GateResult
from pytest_rageval.values.settings import Settings
from tests.build.repository import NEEDS_GIT, Repository, forget_git
from tests.build.runs import SETTINGS, run_of

pytestmark = NEEDS_GIT
N = 5
NOW = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A repository whose main branch has a run, and a branch that is checked out."""
    forget_git(monkeypatch)
    found = Repository(tmp_path / "project")
    found.commit("one")
    found.store("base", run_of(N))
    found.branch("change")
    found.commit("mine")
    found.store("new", run_of(N), day=2)
    return found


def project(here: Repository, **fields: Any) -> Settings:
    return Settings(rootdir=str(here.path), **fields)


def find(here: Repository, **fields: Any) -> FoundBaseline:
    given = project(here, **fields)
    new = read_documents(here.path / "evals" / "results" / "new")
    return find_baseline(new, given)


def code(found: FoundBaseline) -> str:
    assert found.choice is not None
    return found.choice.code


def fail(folder: Path) -> None:
    write_document(folder, "gate.json", GateResult(verdict="fail", sentence="FAIL"))


def approve(here: Repository, run_id: str, because: str = "wanted") -> Approval:
    run = read_documents(here.path / "evals" / "results" / run_id)
    return approve_run(run, project(here), because, NOW)


def test_the_run_of_the_merge_base_is_found_in_the_results_folder(here: Repository) -> None:
    found = find(here)
    assert code(found) == "merge_base"
    assert found.folder == here.path / "evals" / "results" / "base"


@pytest.mark.parametrize("form", ["folder", "zip", "gztar"])
def test_runs_of_another_folder_or_an_archive_are_found(here: Repository, form: str) -> None:
    elsewhere = here.path.parent / "elsewhere"
    nested = elsewhere / "evals" / "results"
    shutil.move(here.path / "evals" / "results" / "base", nested / "base")
    assert code(find(here)) == "no_runs"
    path = str(elsewhere)
    if form != "folder":
        path = shutil.make_archive(str(here.path.parent / "runs"), form, elsewhere)
    found = find(here, runs=path)
    assert code(found) == "merge_base"
    assert found.folder is not None
    assert (found.folder / "results.jsonl").is_file()


def test_an_archive_cannot_write_outside_and_a_broken_one_is_named(here: Repository) -> None:
    evil = here.path.parent / "evil.tar"
    with tarfile.open(evil, "w") as tar:
        tar.add(here.path / "bot.txt", arcname="../../escaped.txt")
    with pytest.raises(StorageError, match=r"evil\.tar: cannot be unpacked"):
        find(here, runs=str(evil))
    evil.write_bytes(b"no archive")
    with pytest.raises(StorageError, match=r"evil\.tar: cannot be unpacked"):
        find(here, runs=str(evil))
    with pytest.raises(StorageError, match="there is no such folder or archive"):
        find(here, runs="nowhere")


@pytest.mark.parametrize("form", ["zip", "gztar"])
def test_an_archive_is_unpacked_only_up_to_a_size(
    here: Repository, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    results = here.path / "evals" / "results"
    archive = shutil.make_archive(str(here.path.parent / "runs"), form, results)
    size = sum(one.stat().st_size for one in results.rglob("*") if one.is_file())
    monkeypatch.setattr("pytest_rageval.runs.baseline._MOST_BYTES", size)
    assert code(find(here, runs=archive)) == "merge_base"
    monkeypatch.setattr("pytest_rageval.runs.baseline._MOST_BYTES", size - 1)
    with pytest.raises(StorageError) as raised:
        find(here, runs=archive)
    assert raised.value.faults[0].code == "large"


def test_the_latest_run_of_a_commit_is_found_unless_it_is_a_part_of_the_new_one(
    here: Repository,
) -> None:
    here.git("checkout", "-q", "main")
    here.store("late", run_of(N), day=3)
    results = here.path / "evals" / "results"
    new = read_documents(results / "new")
    assert find_baseline(new, project(here)).folder == results / "late"
    assert find_baseline(new, project(here), parts=["late"]).folder == results / "base"


def test_a_run_is_not_compared_with_itself_but_with_one_of_its_name_elsewhere(
    here: Repository,
) -> None:
    here.git("checkout", "-q", "main")
    elsewhere = here.path.parent / "elsewhere"
    here.store("new", run_of(N), results=elsewhere)
    shutil.rmtree(here.path / "evals" / "results")
    (here.path / "bot.txt").write_text("changed", encoding="utf-8")
    here.store("new", run_of(N), day=2)
    assert code(find(here)) == "no_runs"
    assert find(here, runs=str(elsewhere)).folder == elsewhere / "new"


def test_a_run_of_some_files_is_a_baseline_only_of_a_run_of_these(here: Repository) -> None:
    results = here.path / "evals" / "results"
    shutil.rmtree(results)
    whole = {"hash": "all", "n_cases": 9, "n_asked": N, "asked_hash": "some"}
    here.git("checkout", "-q", "main")
    here.store("base", run_of(N), set={**whole, "files": ["a"]}, dataset_hash="some")
    here.git("checkout", "-q", "change")
    for files, expected in ((["a"], "merge_base"), (["a", "b"], "refused")):
        shutil.rmtree(results / "new", ignore_errors=True)
        here.store("new", run_of(N), day=2, set={**whole, "files": files}, dataset_hash="some")
        assert code(find(here)) == expected


def test_a_failing_run_is_a_baseline_only_after_its_approval(here: Repository) -> None:
    fail(here.path / "evals" / "results" / "base")
    refused = find(here)
    assert code(refused) == "refused"
    assert refused.choice is not None
    assert "rageval runs approve base" in refused.choice.sentence
    approve(here, "base")
    found = find(here)
    assert (code(found), found.folder and found.folder.name) == ("approved", "base")


def test_an_approval_is_a_small_file_with_means_and_a_reason(here: Repository) -> None:
    approve(here, "base", "half the documents\nwere dropped \x1b[31m")
    text = approval_path(project(here)).read_text(encoding="utf-8")
    found = json.loads(text)
    assert (found["run"], found["by"], found["verdict"]) == ("base", "Ada L", "pass")
    assert found["because"] == "half the documents were dropped"
    assert found["means"]["recall_at_k"] == {"mean": 0.8, "n": N}
    assert found["commit"] == here.git("rev-parse", "main")
    assert len(text) < 2000
    assert read_approval(project(here)) == approve(here, "base", found["because"])


def test_another_run_of_the_same_id_is_not_the_approved_one(here: Repository) -> None:
    base = here.path / "evals" / "results" / "base"
    approve(here, "base")
    shutil.rmtree(base)
    here.git("checkout", "-q", "main")
    here.store("base", run_of(N), day=3)
    here.git("checkout", "-q", "change")
    found = find(here)
    assert (code(found), found.folder) == ("approved_other", None)
    assert found.choice is not None
    assert found.choice.facts["differing"] == "start"


def test_an_approval_that_was_edited_names_the_hash_that_differs(here: Repository) -> None:
    edited = replace(approve(here, "base"), config_hash="edited")
    write_document(here.path / "evals", "baseline.json", edited)
    found = find(here)
    assert (code(found), found.folder) == ("approved_other", None)
    assert found.choice is not None
    assert found.choice.facts["differing"] == "config_hash"
    assert "is not in" not in found.choice.sentence


def test_the_approved_run_may_be_in_a_folder_of_another_name(here: Repository) -> None:
    approve(here, "base")
    results = here.path / "evals" / "results"
    (results / "base").rename(results / "unpacked-artifact")
    found = find(here)
    assert (code(found), found.folder) == ("approved", results / "unpacked-artifact")


def test_a_place_outside_of_the_project_is_shown_without_the_folders_of_this_machine(
    here: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kept = tmp_path_factory.mktemp("kept")
    (here.path.parent / "kept").mkdir()
    for path, shown in ((str(kept), kept.name), ("../kept", "../kept")):
        found = find(here, runs=path)
        assert found.choice is not None
        assert str(here.path.parent) not in found.choice.sentence
        assert shown in found.choice.sentence
        assert found.choice.facts["where"] == shown


def test_an_approved_run_that_was_deleted_is_named(here: Repository) -> None:
    approve(here, "base")
    shutil.rmtree(here.path / "evals" / "results" / "base")
    found = find(here)
    assert (code(found), found.folder) == ("approved_missing", None)
    assert found.choice is not None
    assert "base" in found.choice.sentence


def test_a_malformed_approval_is_named(here: Repository) -> None:
    approval_path(project(here)).write_text('{"run": 5}', encoding="utf-8")
    with pytest.raises(StorageError, match=r"baseline\.json"):
        find(here)


def test_a_run_that_has_not_ended_cannot_be_approved(here: Repository) -> None:
    (here.path / "evals" / "results" / "base" / "metrics.json").unlink()
    with pytest.raises(StorageError, match="has not ended"):
        approve(here, "base")


# --- the last run --------------------------------------------------------------------------------


def test_the_last_run_that_can_be_compared_is_found_and_those_since_are_named(
    here: Repository,
) -> None:
    results = here.path / "evals" / "results"
    new = read_documents(results / "new")
    assert find_last(new, project(here)) == FoundBaseline(folder=results / "base")
    assert find_last(new, project(here), parts=["base"]) == FoundBaseline()
    here.store("bare", run_of(N), day=3)
    (results / "bare" / "results.jsonl").unlink()
    stopped = here.store("stopped", run_of(N), day=4)
    gate = GateResult(verdict="not_evaluated", sentence="", complete=False)
    write_document(stopped, "gate.json", gate)
    fail(here.store("failing", run_of(N), day=5, settings=replace(SETTINGS, token_budget=9)))
    here.store("other", run_of(N), day=6, settings=replace(SETTINGS, k=3, token_budget=9))
    found = find_last(new, project(here))
    assert found.folder == results / "failing"  # of which one metric differs
    assert found.choice is not None
    assert (found.choice.run_id, found.choice.code) == ("failing", "last")
    assert found.choice.facts["runs"] == "other (other k)"
    shutil.rmtree(results / "failing")
    found = find_last(new, project(here))
    assert found.folder == results / "base"
    assert found.choice is not None
    assert found.choice.facts["runs"] == (
        "other (other k), stopped (incomplete), bare (without results.jsonl)"
    )


def test_the_cases_that_failed_before_are_those_of_the_run_that_is_meant(here: Repository) -> None:
    whole: dict[str, Any] = {"set": {"hash": "whole", "n_cases": 9}}
    here.store("part", run_of(3, missed=[2]), day=3, **whole, dataset_hash="part")
    here.store("full", run_of(3, missed=[1]), day=4, **whole, dataset_hash="whole")
    here.store("late", run_of(3), day=5, **whole, dataset_hash="part")
    for name, failed in {
        None: "01", "last": "01", "part": "02", "auto": "0", "gone": "",
    }.items():  # fmt: skip
        found = failed_before(project(here), name)
        assert found == {f"evals/set.jsonl::c-00{n}" for n in failed}, name


def test_failed_cases_are_selected_that_the_set_still_has(here: Repository) -> None:
    here.store("lost", run_of(3, missed=[1]), day=3)
    cases = [("evals/set.jsonl", f"c-00{n}") for n in range(3)]

    def select(known: list[tuple[str, str]], run: str = "lost", **fields: Any) -> tuple[Any, int]:
        found = select_failed(project(here, failed_from=run), known, **fields)
        return found.cases, len(found.notes)

    assert select(cases) == ({*cases[:2]}, 0)
    assert select(cases[1:]) == ({cases[1]}, 1)
    assert select([]) == (frozenset(), 1)
    assert select(cases, file="evals/set.jsonl") == ({*cases[:2]}, 0)
    assert select(cases, file="evals/other.jsonl") == (frozenset(), 1)
    here.store("good", run_of(3)[1:], day=4)
    assert select(cases, "good") == (frozenset(), 1)


def test_only_a_baseline_that_is_named_now_is_missed_when_it_is_absent(here: Repository) -> None:
    (here.path / "evals" / "results" / "new" / "results.jsonl").unlink()

    def fault(origin: str, **fields: Any) -> str | None:
        settings = project(here, **fields, origins=dict.fromkeys(fields, origin))
        try:
            refuse_missing_baseline(settings)
        except StorageError as error:
            return error.faults[0].code
        return None

    for origin in ("flag --x", "env X"):
        assert fault(origin, baseline="gone") == "not_found"
        assert fault(origin, baseline="new") == "no_results"
        assert fault(origin, runs="gone") == "absent"
        assert fault(origin, runs="bot.txt") == "not_unpacked"
        assert fault(origin, runs="evals", baseline="base") is None
        assert fault(origin, baseline="auto") is fault(origin, baseline="last") is None
    assert fault("pyproject.toml", baseline="gone", runs="gone") is None
