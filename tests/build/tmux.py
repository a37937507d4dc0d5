"""A real terminal of 80 columns and 24 lines."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
PATIENCE_S = 60


class Terminal:
    """A tmux session on a socket of its own."""

    def __init__(self, folder: Path, command: str) -> None:
        self._socket = str(folder / "tmux")
        environ = {k: v for k, v in os.environ.items() if k not in {"TMUX", "NO_COLOR"}}
        self._run(
            "-f", os.devnull, "new-session", "-d", "-x", "80", "-y", "24", "-c", str(folder),
            f"{command}; echo left with $?; exec cat", env={**environ, "LC_ALL": "C.UTF-8"},
        )  # fmt: skip

    def _run(self, *arguments: str, env: dict[str, str] | None = None) -> str:
        command = ["tmux", "-S", self._socket, *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=PATIENCE_S, env=env
        )
        return done.stdout

    def press(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def screen(self) -> str:
        return self._run("capture-pane", "-p")

    def wait_for(self, text: str) -> str:
        """Return the screen once it shows a text."""
        until = time.monotonic() + PATIENCE_S
        while text not in (screen := self.screen()):
            assert time.monotonic() < until, f"{text!r} never came:\n{screen}"
            time.sleep(0.05)
        return screen

    def type(self, text: str) -> None:
        """Type a line and end it."""
        self._run("send-keys", "-l", text)
        self.press("Enter")

    def close(self) -> None:
        self._run("kill-server")
