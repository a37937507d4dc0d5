from __future__ import annotations

from pathlib import Path

import pytest

from tests.build.projects import work_in


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the place of an index: a file, and a database of PostgreSQL."""
    if request.param == "sqlite":
        return str(tmp_path / "index" / "history.sqlite")
    found: str = request.getfixturevalue("postgres")
    return found


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a project, in which the test works."""
    return work_in(tmp_path / "project", monkeypatch)
