"""Facts that git knows of a project; nothing is fetched and nothing is written."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Final

from pytest_rageval.analysis.baseline import History
from pytest_rageval.values.run import GitState

_MOST_COMMITS: Final = 2000
"""Commits of the main branch that are read."""


def git_state(rootdir: Path, paths: tuple[Path, ...] = ()) -> GitState:
    """Return the commit, whether the tree has changes, and the last commit of the given files."""
    status = run_git(rootdir, "status", "--porcelain", "--untracked-files=no")
    commit = run_git(rootdir, "rev-parse", "HEAD")
    log = ("log", "-1", "--format=%H", "--", *map(str, paths))
    return GitState(
        commit=commit,
        branch=commit and run_git(rootdir, "symbolic-ref", "--short", "HEAD"),
        eval_set_commit=(run_git(rootdir, *log) or None) if paths else None,
        dirty=None if status is None else bool(status),
    )


def run_git(rootdir: Path, *arguments: str) -> str | None:
    """Return the output of a command of git; None: it failed, or there is no git."""
    try:
        done = subprocess.run(
            [shutil.which("git") or "git", "-C", str(rootdir), *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=10,
            check=True,
        )
    except (subprocess.SubprocessError, OSError):
        return None
    return done.stdout.strip()


def git_repository(rootdir: Path) -> tuple[str, Path] | None:
    """Return the address of ``origin`` and the top folder; None: not in a repository with one.

    The address is as git stores it, which may hold credentials.
    """
    remote = run_git(rootdir, "remote", "get-url", "origin")
    top = run_git(rootdir, "rev-parse", "--show-toplevel")
    return (remote, Path(top)) if remote and top else None


def read_history(rootdir: Path, main_branch: str | None, tested: GitState) -> History:
    """Return what git knows of a tested commit, whatever is checked out, and the main branch.

    Args:
        rootdir: folder of the project.
        main_branch: its name; None: that of the remote, else main or master.
        tested: state of the project of which a run was made.
    """
    head, there = tested.commit, run_git(rootdir, "rev-parse", "--git-dir") is not None
    if head is None or not there or not head.isalnum():  # a stored run may hold any text
        return History(problem="no_commit" if there else "no_repository")
    shallow = run_git(rootdir, "rev-parse", "--is-shallow-repository") == "true"
    tried = _main_names(rootdir, main_branch)
    main = next((one for one in tried if _commit(rootdir, one)), None)
    if main is None:
        return History(problem="no_main", main=" or ".join(tried), head=head)
    known = History(main=main, head=head, shallow=shallow, dirty=bool(tested.dirty))
    absent = _commit(rootdir, head) is None
    base = None if absent else run_git(rootdir, "merge-base", head, main)
    if base is None:
        if shallow:
            return replace(known, problem="shallow")
        return replace(known, problem="unknown_commit" if absent else "unrelated")
    most = f"--max-count={_MOST_COMMITS}"
    # What was merged into the main branch was never its tip, so that its runs are of a branch.
    log = run_git(rootdir, "rev-list", "--first-parent", most, base) or base
    return replace(known, commits=tuple(log.split()))


def _main_names(rootdir: Path, main_branch: str | None) -> list[str]:
    if main_branch is not None:
        return [f"origin/{main_branch}", main_branch]
    remote = run_git(rootdir, "rev-parse", "--abbrev-ref", "origin/HEAD")
    names = ["origin/main", "origin/master", "main", "master"]
    return [*([remote] if remote and remote != "origin/HEAD" else []), *names]


def _commit(rootdir: Path, name: str) -> str | None:
    return run_git(rootdir, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
