from __future__ import annotations

from pathlib import Path

import pytest

from tests.build.projects import work_in


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, whose folder is the working directory."""
    return work_in(tmp_path, monkeypatch)
