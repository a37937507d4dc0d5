""""""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from pytest_rageval.support.process import Closing, import_whole, interrupted_by_termination


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_it_interrupts_once_and_the_default_comes_back(name: str) -> None:
    if not hasattr(signal, name):
        pytest.skip("no such signal here")
    signum = getattr(signal, name)
    if signal.getsignal(signum) is signal.SIG_IGN:
        pytest.skip("ignored here, as below nohup, and so it stays")
    ends: list[str] = []

    def clean_up_while_it_comes_again() -> None:
        with interrupted_by_termination():
            try:
                signal.raise_signal(signum)
            finally:
                signal.raise_signal(signum)
                ends.append("cleaned up")

    with pytest.raises(KeyboardInterrupt):
        clean_up_while_it_comes_again()
    assert ends == ["cleaned up"]
    assert signal.getsignal(signum) is signal.SIG_DFL


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_ctrl_c_is_held_as_well_and_counts_again_before(name: str) -> None:
    before, ends = signal.getsignal(signal.SIGINT), []

    def clean_up_while_others_come() -> None:
        with interrupted_by_termination(ctrl_c=True) as termination:
            with pytest.raises(KeyboardInterrupt):  # as where an exception is ignored
                signal.raise_signal(getattr(signal, name))
            try:
                signal.raise_signal(getattr(signal, name))
            finally:
                termination.hold()
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGTERM)
                ends.append("cleaned up")

    with pytest.raises(KeyboardInterrupt):
        clean_up_while_others_come()
    assert ends == ["cleaned up"]
    assert signal.getsignal(signal.SIGINT) is before


def test_what_holds_it_ends_first() -> None:
    ends: list[str] = []

    def clean_up_while_it_comes() -> None:
        with interrupted_by_termination() as termination:
            termination.hold()
            signal.raise_signal(signal.SIGTERM)
            ends.append("cleaned up")

    with pytest.raises(KeyboardInterrupt):
        clean_up_while_it_comes()
    assert ends == ["cleaned up"]


def test_what_was_held_takes_effect_once_and_only_on_release() -> None:
    with interrupted_by_termination() as termination:
        termination.hold()
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            termination.release()
        signal.raise_signal(signal.SIGTERM)


def test_a_handler_of_somebody_else_stays() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda signum, frame: seen.append(signum))
    try:
        with interrupted_by_termination():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIGTERM]


# --- closing of objects at the end of a with-statement


class Door(Closing):
    def __init__(self) -> None:
        self.calls: list[str] = []

    def close(self) -> None:
        self.calls.append("close")


def test_the_end_of_a_block_closes_what_it_was_entered_with() -> None:
    door = Door()
    with door as entered:
        assert entered is door
        assert door.calls == []
    assert door.calls == ["close"]


# --- imports that an interrupt does not cut in half

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
