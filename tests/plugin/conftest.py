from __future__ import annotations

import os

import pytest

from tests.plugin.scratch import Project


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name in [n for n in os.environ if n.startswith("RAGEVAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("NO_COLOR", "FORCE_COLOR", "PY_COLORS"):
        monkeypatch.delenv(name, raising=False)
    return Project(pytester)
