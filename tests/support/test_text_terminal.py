from __future__ import annotations

import os
import sys

import pytest

from pytest_rageval.support.text import is_steerable


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
def test_only_a_terminal_that_knows_movements_is_steerable(monkeypatch: pytest.MonkeyPatch) -> None:
    import pty

    ours, theirs = pty.openpty()
    try:
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("CI", raising=False)
        assert is_steerable(theirs)
        monkeypatch.setenv("CI", "true")
        assert not is_steerable(theirs)
        monkeypatch.setenv("CI", "false")
        monkeypatch.setenv("TERM", "dumb")
        assert not is_steerable(theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    with open(os.devnull, "rb") as file:
        assert not is_steerable(file.fileno())
