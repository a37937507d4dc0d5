from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.project.case_reader import LoadedSet, LocatedCase, dataset_hash
from pytest_rageval.runs.documents import RunFacts, case_set, versions
from pytest_rageval.runs.git import git_state
from pytest_rageval.values.case import Case
from pytest_rageval.values.run import CaseSet, GitState
from pytest_rageval.values.settings import Settings
from tests.build.records import record
from tests.build.runs import config_of
from tests.build.verdicts import judged_by

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


def test_facts_are_the_first_version_of_the_index_and_the_last_model_of_each_role() -> None:
    indexes = [None, {"docs": 3}, {"index_version": 7}, {"index_version": 8}]
    roles = [{}, {"llm_model": "m1"}, {"llm_model": "m2"}, {"embedding_model": "e"}]
    both = zip(indexes, roles, strict=True)
    facts = RunFacts.of(record("a", indexing_coverage=v, models=m) for v, m in both)
    assert facts.index_version == 7
    assert facts.models == {"llm_model": "m2", "embedding_model": "e"}


def test_each_judge_is_named_once_with_its_rubrics() -> None:
    one = judged_by("groundedness") | judged_by("correctness", parameters={"top_p": 1})
    other = judged_by("correctness", model="m2")
    raised = judged_by("relevance", judge="raised", rubric_version=None)
    given = (raised, one, other, raised)
    facts = RunFacts.of(record("a", judgements=each, spot_check=other) for each in given)
    found = [(judge.judge, judge.model, dict(judge.rubrics)) for judge in facts.judges.values()]
    assert found == [
        ("raised", None, {"relevance": None}),
        ("j", None, {"groundedness": "groundedness-1", "correctness": "correctness-1"}),
        ("j", "m2", {"correctness": "correctness-1"}),
    ]
    assert [*facts.judges.values()][1].parameters == {"top_p": 1}
    assert [judge.model for judge in facts.second_judges.values()] == ["m2"]


def test_a_set_counts_all_cases_and_names_the_files_that_were_asked_for() -> None:
    def loaded(name: str, *tags: tuple[str, ...]) -> LoadedSet:
        cases = (
            LocatedCase(case=Case(id=f"{name}{n}", question="Why?", tags=one), lineno=n)
            for n, one in enumerate(tags, start=1)
        )
        return LoadedSet(path=Path(name), display=name, cases=tuple(cases))

    a, b, c = loaded("a", ("x", "x"), ("y",)), loaded("b", ("x",)), loaded("c", ())
    hashes = [[one.case_hash for one in each.cases] for each in (a, b, c)]
    assert case_set(iter([a, b, c]), iter([c, a])) == CaseSet(
        hash=dataset_hash([*hashes[0], *hashes[1], *hashes[2]]),
        n_cases=4,
        files=("a", "c"),
        n_asked=3,
        asked_hash=dataset_hash([*hashes[2], *hashes[0]]),
        by_category={"general": 4},
        by_tag={"x": 2, "y": 1},
    )
