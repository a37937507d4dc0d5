from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an index may lie."""
    if request.param == "sqlite":
        return str(tmp_path / "index" / "history.sqlite")
    found: str = request.getfixturevalue("postgres")
    return found


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a project, in which the test works."""
    for name in [n for n in os.environ if n.startswith("RAGEVAL_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
