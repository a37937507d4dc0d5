from __future__ import annotations

import pytest

from tests.build.projects import clear_settings
from tests.plugin.own_code import write_own
from tests.plugin.scratch import Project


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    clear_settings(monkeypatch)
    return Project(pytester)


@pytest.fixture
def own(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    return write_own(project, monkeypatch)
