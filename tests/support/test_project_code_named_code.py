"""Functions of a project that its settings name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_rageval.support.project_code import find_named, importable
from pytest_rageval.values.errors import ConfigError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    return tmp_path


def test_a_name_below_a_class_is_found() -> None:
    assert find_named("pathlib:Path.cwd", "[x] y")() == Path.cwd()


@pytest.mark.parametrize(
    ("setting", "fault"),
    [
        ("pathlib", "got 'pathlib', expected module:function"),
        (":x", "expected module:function"),
        ("pathlib:", "expected module:function"),
        ("no_such_module_13:x", "cannot be imported: No module named 'no_such_module_13'"),
        ("no_such_module_13:x", "must be in the project's folder, installed (pip install -e .)"),
        ("pathlib.no.such:x", "cannot be imported: No module named 'pathlib.no'"),
        ("pathlib:Paht", "cannot be imported: module 'pathlib' has no attribute 'Paht'"),
        (f"{__name__}:folder", "is a fixture, which only pytest can call; name a function or"),
    ],
)
def test_what_is_not_there_is_a_fault_of_the_settings(setting: str, fault: str) -> None:
    with pytest.raises(ConfigError) as caught:
        find_named(setting, "[x] y")
    assert str(caught.value).startswith("[x] y: ")
    assert fault in str(caught.value)


def test_a_folder_is_importable_for_a_while_and_stays_if_it_was(tmp_path: Path) -> None:
    for _ in range(2):
        with importable(str(tmp_path)):
            assert sys.path[0] == str(tmp_path)
            with importable(str(tmp_path)):
                pass
            assert sys.path.count(str(tmp_path)) == 1
        assert str(tmp_path) not in sys.path
