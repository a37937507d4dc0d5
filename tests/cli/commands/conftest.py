from __future__ import annotations

from pathlib import Path

import pytest

from tests.build.projects import work_in


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which the command runs."""
    return work_in(tmp_path, monkeypatch)
