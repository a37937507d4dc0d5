"""Progress of a command on stderr: a live line on a terminal, else lines of a log."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

SCRIPT = """
import time
from pytest_rageval.cli.output import ProgressOnStderr

with ProgressOnStderr(lambda: "12/40 cases " * 20) as display:
    time.sleep(0.5)
    display.say("rung 1 of 2 \\x1b[31mis done\\nsecond line")
    time.sleep(0.3)
"""


def test_a_short_command_logs_only_what_it_says() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert "12/40" not in done.stderr
    assert "\x1b" not in done.stderr
    first, second = done.stderr.splitlines()
    assert first.startswith("rung 1 of 2")
    assert second == "second line"


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
def test_a_terminal_shows_one_line_that_fits_and_goes_away() -> None:
    import os
    import pty

    ours, theirs = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "40", "CI": ""}
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stderr=theirs, env=environ):
        pass
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 65536):
            written += piece
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
    screen = [""]
    for part in re.split(r"(\x1b\[[0-?]*[a-zA-Z]|\r|\n)", written.decode()):
        if part == "\n":
            screen.append("")
        elif part == "\x1b[1A":
            screen.pop()
        elif part.endswith("K"):
            screen[-1] = ""
        elif part not in {"\r", ""} and not part.startswith("\x1b"):
            screen[-1] += part
            assert len(screen[-1]) <= 40
    assert "12/40 cases" in written.decode()
    assert [line for line in screen if line] == ["rung 1 of 2 is done", "second line"]
