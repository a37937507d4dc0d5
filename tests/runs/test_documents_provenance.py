from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.runs.documents import RunFacts, versions
from pytest_rageval.runs.git import git_state
from pytest_rageval.values.run import GitState
from pytest_rageval.values.settings import Settings
from tests.build.records import record
from tests.build.runs import config_of

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *identity, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    return done.stdout.strip()


def commit(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    git(folder, "add", name)
    git(folder, "commit", "-q", "-m", name)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    git(tmp_path, "init", "-q", "-b", "trunk")
    return tmp_path


@needs_git
def test_a_tree_is_named_by_commit_and_branch_and_its_eval_set_by_the_commit_that_touched_it(
    repository: Path,
) -> None:
    touched = commit(repository, "cases.jsonl", "{}")
    head = commit(repository, "other.txt", "x")
    named = GitState(commit=head, branch="trunk", dirty=False)
    assert git_state(repository) == named
    (repository / "new.txt").write_text("x", encoding="utf-8")
    cases = (repository / "cases.jsonl",)
    assert git_state(repository, cases) == replace(named, eval_set_commit=touched)
    git(repository, "checkout", "-q", "--detach")
    assert git_state(repository, (repository / "new.txt",)) == GitState(commit=head, dirty=False)
    (repository / "other.txt").write_text("b", encoding="utf-8")
    assert git_state(repository) == GitState(commit=head, dirty=True)


@needs_git
def test_outside_a_repository_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.delenv("GIT_DIR", raising=False)
    assert git_state(tmp_path, (tmp_path / "cases.jsonl",)) == GitState()


@pytest.mark.parametrize(
    "error", [subprocess.TimeoutExpired("git", 10), PermissionError("not executable")]
)
def test_a_git_that_hangs_or_cannot_start_costs_only_the_facts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(subprocess, "run", fail)
    assert git_state(tmp_path) == GitState()


def test_versions_name_python_and_the_packages_that_are_installed() -> None:
    found = versions(("pytest", "no-such-package-anywhere"))
    assert found == {"python": platform.python_version(), "pytest": pytest.__version__}


@pytest.mark.parametrize(("said", "kept"), [(7, 7), ("v7", "v7"), (True, None), ([7], None)])
def test_the_version_of_the_index_may_be_a_number(said: object, kept: object) -> None:
    facts = RunFacts.of([record("a", indexing_coverage={"index_version": said})])
    assert facts.index_version == kept


def test_versions_are_those_of_the_settings_or_else_as_the_target_reports_them() -> None:
    models = {"embedding_model": "e1", "llm_model": "m1"}
    records = [record("a", models=models, indexing_coverage={"index_version": 7})]

    def stored(**settings: Any) -> list[object]:
        found = config_of(records, Settings(rootdir=".", judge="none", **settings))
        assert found.dataset_hash is not None
        return [getattr(found, name) for name in named] + [found.dataset_version]

    named = {"index_build_version": "i2", "retriever_version": "r2", "answerer_version": "a2"}
    assert stored() == [7, "e1", "m1", config_of(records).dataset_hash]
    assert stored(**named, dataset_version="d2") == ["i2", "r2", "a2", "d2"]
