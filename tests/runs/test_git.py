"""Facts of repositories: a clone, a shallow one, a detached head, no main branch."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.analysis.baseline import History
from pytest_rageval.runs.git import read_history
from tests.build.repository import NEEDS_GIT, Repository, forget_git

pytestmark = NEEDS_GIT


@pytest.fixture
def upstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    forget_git(monkeypatch)
    found = Repository(tmp_path / "upstream")
    found.commit("one")
    return found


def clone(upstream: Repository, depth: int = 0) -> Repository:
    name = f"clone-{depth}"
    return Repository(upstream.path.parent / name, cloned_from=upstream.path.as_uri(), depth=depth)


def test_the_merge_base_and_the_main_branch_before_it_are_found(upstream: Repository) -> None:
    first = upstream.git("rev-parse", "HEAD")
    second = upstream.commit("two")
    here = clone(upstream)
    here.branch("change")
    head = here.commit("mine")
    upstream.commit("later")
    here.git("fetch", "-q")
    found = read_history(here.path, None)
    assert found == History(main="origin/main", head=head, commits=(second, first))


def test_commits_that_were_merged_into_main_are_not_of_main(upstream: Repository) -> None:
    first = upstream.git("rev-parse", "HEAD")
    upstream.branch("feature")
    merged = upstream.commit("feature")
    upstream.git("checkout", "-q", "main")
    upstream.git("merge", "-q", "--no-ff", "-m", "merge", "feature")
    found = read_history(upstream.path, None)
    assert list(found.commits) == [upstream.git("rev-parse", "HEAD"), first]
    assert merged not in found.commits


def test_a_shallow_clone_says_so(upstream: Repository) -> None:
    upstream.commit("two")
    upstream.branch("change", "main~1")
    upstream.commit("mine")
    upstream.git("checkout", "-q", "main")
    here = clone(upstream, depth=1)
    here.git("fetch", "-q", "--depth", "1", "origin", "change")
    here.git("checkout", "-q", "FETCH_HEAD")
    assert read_history(here.path, None).problem == "shallow"
    here.git("fetch", "-q", "--unshallow", "origin", "main", "change")
    assert read_history(here.path, None).problem == ""


def test_the_main_branch_can_be_named_and_may_be_absent(upstream: Repository) -> None:
    upstream.git("branch", "-m", "main", "trunk")
    found = read_history(upstream.path, None)
    assert found.problem == "no_main"
    assert "origin/main" in found.main
    assert read_history(upstream.path, "trunk").main == "trunk"
    assert read_history(upstream.path, "--output=x").problem == "no_main"
    assert not (upstream.path / "x").exists()


def test_a_repository_without_a_commit_is_not_the_lack_of_one(tmp_path: Path) -> None:
    assert read_history(Repository(tmp_path / "new").path, None).problem == "no_commit"
    assert read_history(tmp_path, None).problem == "no_repository"


def test_changes_that_are_not_committed_are_known(upstream: Repository) -> None:
    (upstream.path / "bot.txt").write_text("changed", encoding="utf-8")
    assert read_history(upstream.path, None).dirty
