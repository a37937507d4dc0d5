"""A git repository in a temporary folder, with stored runs of its commits."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_rageval.runs.git import git_state
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import Settings
from tests.build.runs import SETTINGS, write_run

NEEDS_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
_CONFIG = (
    "user.name=Ada L", "user.email=ada@example.com", "commit.gpgsign=false",
    "protocol.file.allow=always", "advice.detachedHead=false", "maintenance.auto=false",
)  # fmt: skip


def forget_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what the machine tells git."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


class Repository:
    """A repository in a folder, and the commands that tests give it."""

    def __init__(self, path: Path, *, cloned_from: str = "", depth: int = 0) -> None:
        self.path = path
        if cloned_from:
            shallow = ["--depth", str(depth)] if depth else []
            self._git("clone", "-q", *shallow, cloned_from, str(path))
        else:
            path.mkdir(parents=True, exist_ok=True)
            self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Ada L")

    def git(self, *arguments: str) -> str:
        """Run a command in it and return what it prints."""
        return self._git("-C", str(self.path), *arguments)

    def _git(self, *arguments: str) -> str:
        config = [part for one in _CONFIG for part in ("-c", one)]
        command = ["git", *config, *arguments]
        done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")
        return done.stdout.strip()

    def commit(self, text: str, name: str = "bot.txt") -> str:
        """Commit a file and return the commit."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self.git("add", "-f", "--", name)
        self.git("commit", "-q", "-m", text.splitlines()[0])
        return self.git("rev-parse", "HEAD")

    def branch(self, name: str, start: str = "main") -> None:
        """Check a new branch out."""
        self.git("checkout", "-q", "-b", name, start)

    def store(
        self,
        run_id: str,
        records: Sequence[CaseRecord],
        *,
        settings: Settings = SETTINGS,
        results: Path | None = None,
        **config: Any,
    ) -> Path:
        """Store a run of the commit that is checked out."""
        git = msgspec.to_builtins(git_state(self.path))
        folder = results or self.path / "evals" / "results"
        return write_run(folder, run_id, records, settings, **{"git": git, **config})
