"""The environment of a project that tests work in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_OF_THE_TESTS = "RAGEVAL_REQUIRE_", "RAGEVAL_SHARED"
"""Beginnings of environment variables that select tests and are not settings."""


def clear_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take settings and the wish for colour out of the environment; lines have 80 columns."""
    for name in list(os.environ):
        if name.startswith("RAGEVAL_") and not name.startswith(_OF_THE_TESTS):
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR", "PY_COLORS", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


def work_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder, which is made, under no settings of the environment."""
    clear_settings(monkeypatch)
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    return folder
