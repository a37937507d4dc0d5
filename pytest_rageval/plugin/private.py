"""Attributes of pytest and of other plugins that are not part of their public interface.

All uses of such names are here, so that a new version of one of them breaks at most this module;
one is in ``hooks``, which every session of pytest loads.
Tested with pytest 8.0.0 and 9.2.0, pytest-xdist 3.8.0 and pytest-json-report 1.5.0.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TextIO, cast

import pytest

Definitions = Mapping[str, Sequence[pytest.FixtureDef[Any]]]
"""Definitions of each fixture that an item can see; the last one is the one it gets."""


def selects_mark(expression: str, name: str) -> bool:
    """Return whether ``-m EXPRESSION`` selects items for having a mark, not for lacking it."""
    from _pytest.mark import expression as marks

    try:
        compiled = marks.Expression.compile(expression)
    except (getattr(marks, "ParseError", SyntaxError), SyntaxError):  # pytest reports it
        return False
    with_it, without = (compiled.evaluate(_is_one_of(names)) for names in ((name,), ()))
    return with_it and not without


def _is_one_of(names: tuple[str, ...]) -> Any:
    return lambda name, /, **_: name in names


def load_conftests(config: pytest.Config, folder: Path) -> None:
    """Load the files conftest.py of a folder and above, as pytest does when it collects it."""
    named, load = "consider_namespace_packages", config.pluginmanager._loadconftestmodules
    more = {named: config.getini(named)} if pytest.version_tuple >= (8, 1) else {}
    load(folder, config.getoption("importmode"), config.rootpath, **more)


def module_path(name: str) -> str:
    """Return the file or folder of a module as ``--pyargs`` finds it, else the name itself."""
    from _pytest.main import search_pypath

    return search_pypath(name) or name


def fixture_info(function: pytest.Function) -> Any:
    """Return pytest's information about the fixtures of a function; items may share it."""
    return function._fixtureinfo


def fixture_definitions(item: pytest.Function) -> Definitions:
    """Return the definitions of all fixtures that an item needs, by name."""
    return item._fixtureinfo.name2fixturedefs


def fixture_request(item: pytest.Function) -> pytest.FixtureRequest:
    """Return the value of the fixture ``request`` of an item."""
    return item._request


def unknown_fixture(error: pytest.FixtureLookupError) -> tuple[str, object]:
    """Return why a fixture was not found, in pytest's words, and the function that takes it."""
    words, stack = error.formatrepr().errorstring.strip(), error.fixturestack
    taker = stack[-1].func if stack else error.request._pyfuncitem.obj
    return words.splitlines()[0], taker


def leave_out_of_failures(report: pytest.TestReport) -> None:
    """Let pytest's section FAILURES leave out a report, as after a debugger has shown it."""
    report._pdbshown = True  # type: ignore[attr-defined]


def is_own_reporter(reporter: object) -> bool:
    """Return whether pytest's own reporter prints; it is public only from pytest 8.4 on."""
    from _pytest.terminal import TerminalReporter

    return type(reporter) is TerminalReporter


def terminal_writer(reporter: pytest.TerminalReporter) -> Any:
    """Return the object that writes pytest's lines, and knows their width, column and colours."""
    return reporter._tw


def terminal_stream(reporter: pytest.TerminalReporter) -> TextIO:
    """Return the stream that pytest prints to."""
    return cast("TextIO", terminal_writer(reporter)._file)


def forget_current_line(reporter: pytest.TerminalReporter) -> str:
    """Return the text of pytest's current line, and let it continue at the start of another."""
    writer = terminal_writer(reporter)
    before: str = writer._current_line
    writer._current_line = ""
    return before


def log_handlers(config: pytest.Config) -> tuple[list[logging.Handler], int | None]:
    """Return the log handlers of the current item, and the level set by the user."""
    plugin: Any = config.pluginmanager.getplugin("logging-plugin")
    if plugin is None:
        return [], None
    return [plugin.caplog_handler, plugin.report_handler], plugin.log_level


def live_log_handler(config: pytest.Config) -> logging.Handler | None:
    """Return the handler that shows log records while items run; None: they are not shown."""
    plugin: Any = config.pluginmanager.getplugin("logging-plugin")
    found: logging.Handler | None = getattr(plugin, "log_cli_handler", None)
    return None if isinstance(found, logging.NullHandler) else found


def stop_session(session: pytest.Session, reason: str) -> None:
    """Start no more items, as after the failures that ``--maxfail`` allows."""
    distributing: Any = session.config.pluginmanager.getplugin("dsession")
    if distributing is None:
        session.shouldfail = reason
    elif not distributing.shouldstop:
        distributing.shouldstop = reason


def worker_of(report: pytest.TestReport) -> str:
    """Return the name of the worker of pytest-xdist that ran an item; empty: this process."""
    return getattr(report, "worker_id", "")


def add_json_metadata(report: pytest.TestReport, values: Mapping[str, Any]) -> None:
    """Put values under ``metadata.rageval`` of a report of pytest-json-report.

    Its own hook is called only for items of this process.
    """
    extra = getattr(report, "_json_report_extra", {})
    metadata = {**extra.get("metadata", {}), "rageval": values}
    report.__dict__["_json_report_extra"] = {**extra, "metadata": metadata}


def failure_text(text: str, path: str, line: int) -> object:
    """Return a failure at a line of a file without a traceback; the first line is its title.

    A plain text would occur twice in a JUnit file, with all its lines in the title. pytest writes
    no other classes than its own to JSON, as pytest-reportlog asks it to.
    """
    from _pytest._code.code import ReprExceptionInfo, ReprFileLocation, ReprTraceback

    where = ReprFileLocation(path, line, text.partition("\n")[0])
    return ReprExceptionInfo(ReprTraceback([], extraline=text, style="short"), where)


def write_junit_error(
    config: pytest.Config, report: pytest.TestReport, message: str, text: str
) -> None:
    """Let JUnit hold a report that is encoded like an expected failure as an error."""
    from _pytest.junitxml import bin_xml_escape, xml_key

    xml = config.stash.get(xml_key, None)
    if xml is None:
        return
    reporter: Any = xml.node_reporter(report)
    reporter.append_skipped = lambda _: reporter._add_simple("error", bin_xml_escape(message), text)


class WorkerQueue:
    """Remaining items of a worker of pytest-xdist."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        plugins = session.config.pluginmanager.get_plugins()
        queues = (getattr(plugin, "torun", None) for plugin in plugins)
        self._queue: Any = next((queue for queue in queues if hasattr(queue, "lock")), None)
        """Queue of xdist; None in versions without it."""

    def items(self, limit: int | None) -> Iterator[pytest.Item]:
        """Yield the first items, or all if the limit is None."""
        if self._queue is None:
            return
        with self._queue.lock() as queue:
            places = [place for place in islice(queue, limit) if isinstance(place, int)]
        yield from (self._session.items[place] for place in places)
