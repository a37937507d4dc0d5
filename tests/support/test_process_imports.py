"""Imports that an interrupt does not cut in half."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_rageval.support.process import import_whole, interrupted_by_termination

INTERRUPTED = """
import signal

began = True
signal.raise_signal(signal.SIGNAL)
ended = True
"""


@pytest.fixture(params=["SIGINT", "SIGTERM"])
def module(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = "interrupted_while_it_loads"
    text = INTERRUPTED.replace("SIGNAL", request.param)
    (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


@pytest.mark.parametrize("ctrl_c", [False, True])
def test_an_interrupt_takes_effect_once_the_module_is_there(module: str, ctrl_c: bool) -> None:
    def load() -> None:
        with interrupted_by_termination(ctrl_c=ctrl_c):
            import_whole(module)

    with pytest.raises(KeyboardInterrupt):
        load()
    loaded = sys.modules.pop(module)
    assert loaded.ended
