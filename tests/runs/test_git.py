"""Facts of repositories: a clone, a shallow one, a detached head, no main branch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rageval.analysis.baseline import History
from pytest_rageval.runs.git import git_state, read_history
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


def history(here: Repository, main: str | None = None) -> History:
    return read_history(here.path, main, git_state(here.path))


def test_the_merge_base_and_the_main_branch_before_it_are_found(upstream: Repository) -> None:
    first = upstream.git("rev-parse", "HEAD")
    second = upstream.commit("two")
    here = clone(upstream)
    here.branch("change")
    head = here.commit("mine")
    upstream.commit("later")
    here.git("fetch", "-q")
    found = history(here)
    assert found == History(main="origin/main", head=head, commits=(second, first))


def test_commits_that_were_merged_into_main_are_not_of_main(upstream: Repository) -> None:
    first = upstream.git("rev-parse", "HEAD")
    upstream.branch("feature")
    merged = upstream.commit("feature")
    upstream.git("checkout", "-q", "main")
    upstream.git("merge", "-q", "--no-ff", "-m", "merge", "feature")
    found = history(upstream)
    assert list(found.commits) == [upstream.git("rev-parse", "HEAD"), first]
    assert merged not in found.commits


def test_the_history_is_that_of_the_tested_commit_whatever_is_checked_out(
    upstream: Repository,
) -> None:
    first = upstream.git("rev-parse", "HEAD")
    upstream.branch("change")
    head = upstream.commit("mine")
    tested = git_state(upstream.path)
    upstream.git("checkout", "-q", "main")
    later = upstream.commit("later")
    found = read_history(upstream.path, None, tested)
    assert (found.head, list(found.commits)) == (head, [first])
    assert list(history(upstream).commits) == [later, first]
    gone = replace(tested, commit="0" * 40)
    assert read_history(upstream.path, None, gone).problem == "unknown_commit"


def test_a_shallow_clone_says_so(upstream: Repository) -> None:
    upstream.commit("two")
    upstream.branch("change", "main~1")
    upstream.commit("mine")
    upstream.git("checkout", "-q", "main")
    here = clone(upstream, depth=1)
    here.git("fetch", "-q", "--depth", "1", "origin", "change")
    here.git("checkout", "-q", "FETCH_HEAD")
    assert history(here).problem == "shallow"
    here.git("fetch", "-q", "--unshallow", "origin", "main", "change")
    assert history(here).problem == ""


def test_the_main_branch_can_be_named_and_may_be_absent(upstream: Repository) -> None:
    upstream.git("branch", "-m", "main", "trunk")
    found = history(upstream)
    assert found.problem == "no_main"
    assert "origin/main" in found.main
    assert history(upstream, "trunk").main == "trunk"
    assert history(upstream, "--output=x").problem == "no_main"
    assert not (upstream.path / "x").exists()


def test_the_main_branch_is_the_one_that_the_remote_names(upstream: Repository) -> None:
    upstream.branch("trunk")
    upstream.commit("two")
    here = clone(upstream)
    assert history(here).main == "origin/trunk"
    here.git("remote", "set-head", "origin", "--delete")
    assert history(here).main == "origin/main"


def test_a_repository_without_a_commit_is_not_the_lack_of_one(tmp_path: Path) -> None:
    assert history(Repository(tmp_path / "new")).problem == "no_commit"
    assert read_history(tmp_path, None, git_state(tmp_path)).problem == "no_repository"


def test_changes_that_are_not_committed_are_known(upstream: Repository) -> None:
    (upstream.path / "bot.txt").write_text("changed", encoding="utf-8")
    assert history(upstream).dirty
