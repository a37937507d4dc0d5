"""Progress of sessions that ask a slow target over HTTP, on terminals and in pipes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from typing import Any

import pytest

from tests.build.screen import Screen, Terminal
from tests.plugin.long_runs import WAIT_S, ask_server, lines_of, numbered_cases, start, wait_until
from tests.plugin.rag_server import hit_or_miss, rag_server
from tests.plugin.scratch import QUIET, Project

pytestmark = pytest.mark.slow

LIVE = re.compile(r"(\d+)/(\d+) cases, (\d+) missed, .*")


def broken_now_and_then(question: str, nth: int) -> dict[str, Any] | int:
    return 500 if int(question.split()[-1]) % 8 == 5 else hit_or_miss(question, nth)


def start_on(
    terminal: Terminal, project: Project, *arguments: str, **variables: str
) -> subprocess.Popen[bytes]:
    """Start a session whose streams are a terminal."""
    left_out = {"CI", "COLUMNS", "LINES", "NO_COLOR"}
    environment = {k: v for k, v in os.environ.items() if k not in left_out}
    session = subprocess.Popen(
        [sys.executable, "-m", "pytest", "evals", *arguments, *QUIET],
        cwd=project.path,
        stdin=terminal.number,
        stdout=terminal.number,
        stderr=terminal.number,
        env={**environment, "TERM": "xterm", "PYTHONDONTWRITEBYTECODE": "1", **variables},
        start_new_session=True,
    )
    os.close(terminal.number)
    return session


def end(terminal: Terminal, session: subprocess.Popen[bytes]) -> Screen:
    session.wait(WAIT_S)
    terminal.close()
    return terminal.screen


def live_line(screen: Screen) -> str:
    """The last row on the screen if it is the live line."""
    return found[0] if (found := LIVE.fullmatch((screen.shown() or [""])[-1])) else ""


@pytest.mark.parametrize(
    ("columns", "rows", "workers"),
    [(120, 40, ()), (80, 24, ("-n", "2"))],
    ids=["120x40", "80x24-n2"],
)
def test_the_line_is_there_before_the_first_answer_and_right_when_interrupted(
    project: Project, columns: int, rows: int, workers: tuple[str, ...]
) -> None:
    project.cases(numbered_cases(24))
    terminal = Terminal(columns, rows)
    with rag_server(broken_now_and_then) as server:
        ask_server(project, server.url)
        server.let_through(0)
        session = start_on(terminal, project, "--rageval-run-id", "one", *workers)
        terminal.wait_for(lambda screen: live_line(screen).startswith("0/24 cases, 0 missed"))
        if not workers:  # one process asks eight at once
            wait_until(lambda: server.calls == 8, "eight cases in flight")
        server.let_through(8 - server.came)
        ended = re.compile(r"[1-9]\d*/24 " if workers else "8/24 ")
        terminal.wait_for(lambda screen: ended.match(live_line(screen)) is not None)
        terminal.wait_for(lambda screen: "left" in live_line(screen))
        drawn = live_line(terminal.screen)
        os.killpg(session.pid, signal.SIGINT)
        screen = end(terminal, session)
    assert session.returncode == 2
    stored = Counter(line["outcome"] for line in lines_of(project.folder()))
    if workers:  # further cases end while they are stopped
        assert int(drawn.partition("/")[0]) <= sum(stored.values())
    else:
        # There are two more threads than places, so these are eight of the first ten.
        names = {line["case_id"] for line in lines_of(project.folder())}
        assert len(names) == sum(stored.values()) == 8
        assert names <= {f"c{n:03}" for n in range(10)}
        failed = ", 1 error (1 http), " if stored["error"] else ", "
        assert drawn.startswith(f"8/24 cases, {stored['missed']} missed{failed}")
    assert not [row for row in screen.text().split("\n") if LIVE.search(row)]
    assert "KeyboardInterrupt" in screen.text()


@pytest.mark.parametrize(
    ("columns", "rows", "arguments"),
    [(80, 24, ()), (120, 40, ("-o", "console_output_style=classic"))],
    ids=["80x24", "120x40-classic"],
)
def test_the_letters_are_whole_at_the_end(
    project: Project, columns: int, rows: int, arguments: tuple[str, ...]
) -> None:
    project.cases(numbered_cases(300))
    terminal = Terminal(columns, rows)
    with rag_server(delay_s=0.05) as server:
        ask_server(project, server.url)
        session = start_on(terminal, project, *arguments)
        terminal.wait_for(lambda screen: live_line(screen) != "")
        text = end(terminal, session).text()
    assert session.returncode == 0
    expected = "".join("m" if n % 7 == 3 else "." for n in range(300))
    letters = re.sub(r"evals/\S+|thresholds\S+|\[ *\d+(%|/\d+)\]|\s", "", text)
    assert expected in letters
    assert not LIVE.search(text)


def test_a_pipe_holds_no_live_line_and_few_others(project: Project) -> None:
    project.cases(numbered_cases(64))
    with rag_server(broken_now_and_then) as server:
        ask_server(project, server.url)
        server.let_through(24)
        session = start(project)
        assert session.stdout is not None
        text = ""
        limit = threading.Timer(WAIT_S, session.kill)
        limit.start()
        for line in session.stdout:
            text += line
            if LIVE.search(line):
                server.let_through()
        session.stdout.close()
        session.wait(WAIT_S)
        limit.cancel()
    assert not {"\x1b", "\r"} & set(text)
    lines = [line for line in text.split("\n") if LIVE.search(line)]
    assert len(lines) == 1
    assert re.fullmatch(
        r"rageval: \d\d/64 cases, \d missed, \d errors? \(\d http\), .* left, .* in flight, .*",
        lines[0],
    )
    expected = "".join("e" if n % 8 == 5 else "m" if n % 7 == 3 else "." for n in range(64))
    without = text.replace(lines[0], "")
    assert expected in re.sub(r"\[ *\d+%\]|\s", "", without)


@pytest.mark.parametrize(
    ("arguments", "environment"), [(("-q", "-q"), {}), ((), {"CI": "true"}), ((), {"TERM": "dumb"})]
)
def test_no_line_is_drawn_where_nobody_wants_one(
    project: Project, arguments: tuple[str, ...], environment: dict[str, str]
) -> None:
    project.cases(numbered_cases(16))
    terminal = Terminal(80, 24)
    with rag_server(delay_s=0.5) as server:
        ask_server(project, server.url)
        session = start_on(terminal, project, *arguments, **environment)
        screen = end(terminal, session)
    assert session.returncode == 0
    assert not LIVE.search(screen.text())
