"""Facts about where and with what a run was made, for ``config.json``."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

REPORTED_PACKAGES = ("pytest-rageval", "pytest", "pytest-xdist", "httpx", "numpy", "pydantic")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that measuring rests on."""
    found = {"python": platform.python_version()}
    for package in REPORTED_PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def hardware() -> dict[str, Any]:
    """Return what latency depends on, without the machine's name."""
    return {"system": sys.platform, "machine": platform.machine(), "cpus": os.cpu_count()}


def git_state(rootdir: Path, paths: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Return the commit and whether the tree, and the given files, have changes.

    Returns:
        ``commit``, ``branch`` and ``eval_set_commit`` (the last commit of the given files), None
        outside a repository or before the first commit, and ``dirty``.
    """
    status = _git(rootdir, "status", "--porcelain", "--untracked-files=no")
    files = [str(p) for p in paths]
    return {
        "commit": _git(rootdir, "rev-parse", "HEAD"),
        "branch": _git(rootdir, "rev-parse", "--abbrev-ref", "HEAD"),
        "eval_set_commit": _git(rootdir, "log", "-1", "--format=%H", "--", *files)
        if files
        else None,
        "dirty": None if status is None else bool(status),
    }


def _git(rootdir: Path, *arguments: str) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    try:
        done = subprocess.run(
            [git, "-C", str(rootdir), *arguments],
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
    """Return the address of ``origin`` and the top folder; None: there is no such repository.

    The address is as git has it, which may hold credentials.
    """
    remote = _git(rootdir, "remote", "get-url", "origin")
    top = _git(rootdir, "rev-parse", "--show-toplevel")
    return (remote, Path(top)) if remote and top else None
