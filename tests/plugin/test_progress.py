"""The live line on a terminal, and the lines in a log."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any, TextIO, cast

import pytest
from _pytest.terminal import TerminalReporter

from pytest_rageval.plugin import progress
from pytest_rageval.plugin.progress import LiveLine, LogLines, progress_shown
from pytest_rageval.report.view.progress import Progress
from tests.build.screen import Screen, Terminal, opened
from tests.plugin.scratch import CONFTEST, Project

SO_FAR = Progress(total=9, outcomes={"passed": 3}, errors={}, elapsed_s=4.0, last_s=2.0)
SHOWN = "3/9 cases, 0 missed, 0 errors, 2 s left, 45.0/min"


def reporter_of(file: TextIO, *, verbose: bool = False) -> Any:
    writer = TerminalReporter.__new__(TerminalReporter)
    from _pytest._io import TerminalWriter

    writer._tw = TerminalWriter(file)
    writer._tw.hasmarkup = False
    writer.currentfspath = "a.jsonl"
    writer._showfspath = True
    given: Any = {"get_verbosity": lambda kind: int(verbose)}
    given["option"] = SimpleNamespace(verbose=int(verbose))  # asked for before pytest 8.1
    writer.config = cast(Any, SimpleNamespace(**given))
    return writer


@contextlib.contextmanager
def live(terminal: Terminal) -> Iterator[tuple[TextIO, LiveLine]]:
    with opened(terminal) as file:
        line = LiveLine(reporter_of(file), lambda: SO_FAR)
        line.start()
        try:
            yield file, line
        finally:
            line.stop()


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_INTERVAL_S", 0.0005)


def last_row(screen: Screen) -> str:
    return screen.shown()[-1] if screen.shown() else ""


# --- the live line -------------------------------------------------------------------------------


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("above", [0, 22, 23, 40])
def test_the_line_is_below_the_letters_wherever_they_are(above: int) -> None:
    terminal = Terminal(80, 24)
    with live(terminal) as (file, _):
        file.write("".join(f"line {n}\n" for n in range(above)))
        for place in range(3):
            file.write(".")
            file.flush()
            rows = ["." * (place + 1), SHOWN]
            terminal.wait_for(partial(lambda rows, screen: screen.shown()[-2:] == rows, rows))
    assert terminal.screen.text().split("\n") == [*(f"line {n}" for n in range(above)), "..."]


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("rows", [5, 24])
def test_letters_that_fill_rows_stay_whole(rows: int) -> None:
    terminal = Terminal(80, rows)
    letters = "".join(itertools.islice(itertools.cycle(".m.e..."), 80 * 6))
    with live(terminal) as (file, _):
        terminal.wait_for(lambda screen: last_row(screen) == SHOWN)
        for place, letter in enumerate(letters):
            file.write(letter)
            file.flush()
            if place % 40 in {0, 38, 39}:
                time.sleep(0.003)  # draws on both sides of the edge
    assert terminal.screen.text().replace("\n", "") == letters


@pytest.mark.usefixtures("_at_once")
def test_letters_stay_whole_when_the_window_loses_rows() -> None:
    terminal = Terminal(80, 24)
    with live(terminal) as (file, _):
        file.write("".join(f"line {n}\n" for n in range(20)) + "...")
        terminal.wait_for(lambda screen: last_row(screen) == SHOWN)
        terminal.screen.lose_rows(8)
        file.write("mm\nnew")
        file.flush()
        terminal.wait_for(lambda screen: screen.shown()[-2:] == ["new", SHOWN])
    expected = [*(f"line {n}" for n in range(20)), "...mm", "new"]
    assert terminal.screen.text().split("\n") == expected


# --- lines in a log ------------------------------------------------------------------------------


def logged(*, verbose: bool = False, before: str = "....", after: str = "..") -> str:
    """Return a log with one line between two writings of pytest."""
    reading, writing = os.pipe()
    with open(writing, "w", encoding="utf-8") as file:
        reporter = reporter_of(file, verbose=verbose)
        shown: list[Progress | None] = [SO_FAR, None]

        class Twice(LogLines):
            def _pauses(self) -> Iterator[float]:
                yield from (0, 0)

        reporter._tw.write(before)
        reporter._tw.flush()
        lines = Twice(reporter, lambda: shown.pop(0))
        lines.start()
        while shown and lines._thread is not None and lines._thread.is_alive():
            time.sleep(0.001)
        lines.stop()
        if verbose:
            reporter.write_ensure_prefix("a.jsonl::c1 ", after)
        else:
            reporter.write_fspath_result("a.jsonl", after)
    with open(reading, encoding="utf-8") as file:
        return file.read()


def test_a_line_of_the_log_is_its_own_and_the_letters_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        TerminalReporter,
        "write_fspath_result",
        lambda self, nodeid, text: self._tw.write(text),
    )
    assert logged() == f"....\nrageval: {SHOWN}\n.."
    assert logged(before="....\n") == f"....\nrageval: {SHOWN}\n.."


# --- the choice ----------------------------------------------------------------------------------


OtherReporter = type("OtherReporter", (TerminalReporter,), {})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, LiveLine),
        ({"CI": "false"}, LiveLine),
        ({"CI": "true"}, LogLines),
        ({"TERM": "dumb"}, LogLines),
        ({"TERM": None}, LogLines),
        ({"platform": "win32"}, LogLines),
        ({"pipe": True}, LogLines),
        ({"verbose": -1}, LiveLine),
        ({"verbose": -2}, None),
        ({"reporter": OtherReporter}, None),
        ({"reporter": None}, None),
    ],
    ids=str,
)
def test_the_output_decides_how_progress_is_shown(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], expected: type | None
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name in ("CI", "TERM"):
        if name in change and change[name] is None:
            monkeypatch.delenv(name)
        elif name in change:
            monkeypatch.setenv(name, change[name])
    monkeypatch.setattr(sys, "platform", change.get("platform", "linux"))
    registered: list[object] = []
    reading, writing = os.pipe() if change.get("pipe") else os.openpty()
    with open(writing, "w", encoding="utf-8") as file, open(reading, "rb"):
        kind = change.get("reporter", TerminalReporter)
        reporter = None if kind is None else reporter_of(file)
        if kind is not None:
            reporter.__class__ = kind
        plugins = SimpleNamespace(
            getplugin=lambda name: reporter,
            register=lambda plugin, name: registered.append(plugin),
            unregister=lambda plugin: None,
        )
        option = SimpleNamespace(verbose=change.get("verbose", 0))
        config = cast(pytest.Config, SimpleNamespace(pluginmanager=plugins, option=option))
        with progress_shown(config, lambda: None):
            assert [type(plugin) for plugin in registered] == ([expected] if expected else [])


OWN_REPORTER = """
class Reporter:
    stats, reportchars = {}, None

    def __init__(self, config, writer):
        self.config, self._tw = config, writer
        self.write, self.write_line, self.write_sep = writer.write, writer.line, writer.sep

    def pytest_sessionfinish(self):
        self.config.hook.pytest_terminal_summary(
            terminalreporter=self, exitstatus=0, config=self.config
        )

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    reporter = Reporter(config, config.get_terminal_writer())
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(reporter, "terminalreporter")
"""


@pytest.mark.parametrize("flag", ["-v", "-ra"])
def test_a_reporter_with_its_own_counts_shows_the_summary(project: Project, flag: str) -> None:
    project.write("conftest.py", CONFTEST + OWN_REPORTER)  # as that of pytest-tldr
    result = project.run(flag)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["* rageval *", "PASS 2 checks; *"])
