"""Imports that an interrupt does not cut in half."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_rageval.support.process import import_whole

INTERRUPTED = """
import signal

began = True
signal.raise_signal(signal.SIGINT)
ended = True
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = "interrupted_while_it_loads"
    (tmp_path / f"{name}.py").write_text(INTERRUPTED, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def test_an_interrupt_takes_effect_once_the_module_is_there(module: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        import_whole(module)
    loaded = sys.modules.pop(module)
    assert loaded.ended


def test_what_is_wrong_with_a_module_is_told() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        import_whole("no_such_module")
