"""Lines for the terminal: the summary at the end, and faults that end the session."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NoReturn, cast

import pytest

from pytest_rageval.plugin.private import terminal_writer
from pytest_rageval.report.faces.terminal import draw
from pytest_rageval.report.view.blocks import Block, Fact
from pytest_rageval.support.text import clean, clean_lines, part
from pytest_rageval.values.errors import RagEvalError

if TYPE_CHECKING:
    from pytest_rageval.report.view.summary import FinishedRun
    from pytest_rageval.support.project_code import Style as TracebackStyle


def write_blocks(reporter: pytest.TerminalReporter, heading: str, blocks: Iterable[Block]) -> None:
    """Write blocks under a heading; colour obeys ``--color``, ``NO_COLOR`` and the like."""
    reporter.write_sep("=", heading)
    width = terminal_width(reporter.config)
    for line in draw(blocks, width=width, colour=terminal_writer(reporter).hasmarkup):
        reporter.write_line(line)


def write_target_faults(reporter: pytest.TerminalReporter, view: FinishedRun) -> None:
    """Write the errors of a run by cause, and what its replies lack; nothing without a fault.

    Obeys ``--tb`` and ``--show-capture``.
    """
    if not view.reply_faults and all(record.error is None for record in view.run.records):
        return
    from pytest_rageval.report.view.misses import FaultOptions, render_target_faults

    option = reporter.config.option
    styles = {"auto": "short", "short": "short", "long": "long", "line": "line", "native": "native"}
    options = FaultOptions(
        traceback=cast("TracebackStyle | None", styles.get(option.tbstyle)),
        rootdir=reporter.config.rootpath,
        captured={
            report.nodeid: [
                (title, text)
                for title, text in report.sections
                if option.showcapture == "all" or option.showcapture in title
            ]
            for report in reporter.stats.get("errored", ())
        },
        brief=option.verbose < -1,
        codes=option.verbose > 0,
    )
    blocks = [*render_target_faults(view.run.records, view.reply_faults, options)]
    if option.usepdb and any(r.error and r.error.kind == "protocol" for r in view.run.records):
        why = "--pdb stops where your code raises; a refused reply raises nothing there"
        blocks.append(Fact("note", why, "warn"))
    errors = any(record.error is not None for record in view.run.records)
    write_blocks(reporter, "errors of the target" if errors else "replies of the target", blocks)


_LISTED: Final = {"errored": "Ee", "unchecked": "xu", "missed": "xm", "flawed": "x", "flaky": "xv"}
"""By outcome, the characters of ``-r`` that list its cases; ``-ra`` stands for ``sxXEf``."""
_NOT_ASKED: Final = "fE"
"""Value of ``-r`` where the user gave none: errors are shown by cause already."""


def outcome_lines(reporter: pytest.TerminalReporter) -> Iterator[str]:
    """Yield a line for each case whose outcome ``-r`` asks for, as pytest does for its own.

    With ``-rA`` the output that pytest captured follows, as it does below passed tests.
    """
    if reporter.config.option.reportchars == _NOT_ASKED:
        return
    wanted = set(reporter.reportchars or "")  # another plugin's reporter may have none
    for outcome, letters in _LISTED.items():
        if wanted.isdisjoint(letters):
            continue
        for report in reporter.stats.get(outcome, ()):
            reason = clean(getattr(report, "wasxfail", ""))
            yield f"{outcome.upper()} {clean(report.nodeid)}" + part(" - {}", reason)
            for title, text in report.sections if "P" in wanted else ():
                if reporter.config.option.showcapture in {"all", *title.split()}:
                    yield f"{title:-^{terminal_width(reporter.config)}}"
                    yield from text.splitlines()


def recount(reporter: pytest.TerminalReporter, outcomes: Mapping[str, str]) -> None:
    """Count cases in the last line by another outcome than the one that was reported.

    Args:
        reporter: with the reports by category; failed ones stay failed.
        outcomes: by node id.
    """
    for category in ("passed", "flaky", "flawed", "missed"):
        found = reporter.stats.get(category, [])
        every = found.copy()
        found.clear()
        for report in every:
            outcome = outcomes.get(report.nodeid, category)
            name = "errored" if outcome == "error" else outcome
            reporter.stats.setdefault(name, []).append(report)


def terminal_width(config: pytest.Config) -> int:
    """Return the number of columns to write in, also where a plugin has replaced the reporter."""
    if config.pluginmanager.hasplugin("terminalreporter"):
        return config.get_terminal_writer().fullwidth
    return shutil.get_terminal_size().columns


def error_text(error: RagEvalError, config: pytest.Config) -> str:
    """Return the text of an error, which may quote anything, with codes under ``-v``."""
    return clean_lines(error.coded if config.get_verbosity() > 0 else str(error))


def usage_error(error: RagEvalError | str, config: pytest.Config) -> pytest.UsageError:
    """Return the error of pytest (exit 4) for one of ours."""
    text = clean_lines(error) if isinstance(error, str) else error_text(error, config)
    return pytest.UsageError(text)


def exit_with_faults(config: pytest.Config, files: str, faults: str) -> NoReturn:
    """End the session before anything is asked (exit 2), with the faults of a kind of files."""
    reason = f"faults in {files}; nothing was asked"
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter is None:
        reason = f"{reason}\n{faults}"
    else:
        # pytest writes the reason of an exit to standard error and to the terminal.
        reporter.write_sep("=", "ERRORS")
        reporter.write_line(faults)
    pytest.exit(reason, returncode=2)
