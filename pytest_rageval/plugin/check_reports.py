"""Checks of the gate as pytest reports, and in the last line of a session."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, Literal

import pytest

from pytest_rageval.metrics.registry import STAGE_PREFIX
from pytest_rageval.plugin.private import add_json_metadata, failure_text
from pytest_rageval.plugin.reports import ReportDetails
from pytest_rageval.project.discovery import THRESHOLDS
from pytest_rageval.report.faces.terminal import COLOURS
from pytest_rageval.report.view.gate import VERDICTS
from pytest_rageval.values.gate import MOST_CASES, CheckKind, CheckResult, CheckStatus
from pytest_rageval.values.record import STAGES


def checks_apart(terminal: pytest.TerminalReporter) -> None:
    """Let the last line of the session count checks apart from cases and tests."""
    if not hasattr(terminal, "build_summary_stats_line"):
        return  # another plugin's reporter counts in its own way
    build = terminal.build_summary_stats_line

    def line() -> tuple[list[tuple[str, dict[str, bool]]], str]:
        every, (_, colour) = terminal.stats, build()
        checks = Counter(ReportDetails.of(one).check for found in every.values() for one in found)
        rest = {
            name: [one for one in found if ReportDetails.of(one).check is None]
            for name, found in every.items()
        }
        try:
            terminal.stats = rest
            parts, _ = build()
        finally:
            terminal.stats = every
        head = "checks: "  # once, so that many kinds of outcomes fit 80 columns
        for status in _SHOWN:
            if checks[status]:
                shown = COLOURS[VERDICTS[status][1]]
                words = f"{head}{checks[status]} {CHECK_CATEGORIES[status]}"
                parts.append((words, {shown: True, "bold": shown == colour}))
                head = ""
        return parts, colour

    terminal.build_summary_stats_line = line  # type: ignore[method-assign]


_OUTCOMES: dict[CheckStatus, Literal["passed", "failed", "skipped"]] = {
    "pass": "passed",
    "fail": "failed",
    "warn": "skipped",
    "skip": "skipped",
}
_PROPERTIES: Final = ("status", "value", "limit", "low", "high", "n")
"""Figures of a check that JUnit keeps, if they have a value."""


def check_report(result: CheckResult, file: str = THRESHOLDS) -> pytest.TestReport:
    """Return the report of one check: failed, passed, skipped or warned.

    Args:
        result: of the check.
        file: that sets its limit; ids of checks begin with the usual name.
    """
    longrepr: Any = None
    line = max(result.check.line, 1)
    if result.status == "fail":
        longrepr = failure_text(check_text(result, file), file, line)
    elif result.status == "skip":
        longrepr = (file, line, f"Skipped: {result.message}")
    report = _report(result.check.name, _OUTCOMES[result.status], longrepr, line=line, file=file)
    ReportDetails(check=result.status).put_on(report)
    if result.status == "warn":
        report.wasxfail = report.longrepr = result.message
    values = check_metadata(result)
    add_json_metadata(report, values)
    report.user_properties = [
        (f"rageval.{name}", values[name]) for name in _PROPERTIES if values[name] is not None
    ]
    return report


def whole_report(name: str, sentence: str, hint: str = "") -> pytest.TestReport:
    """Return the failure of a run that lost cases or checked none, with a hint at the reason."""
    text = failure_text("\n".join(filter(None, (sentence, hint))), THRESHOLDS, 1)
    report = _report(name, "failed", text)
    ReportDetails(check="fail").put_on(report)
    add_json_metadata(report, {"status": "fail", "message": sentence})
    return report


_CASES_OF_KIND: Final[dict[CheckKind, str]] = {
    "min": "lowest",
    "max": "highest",
    "max_drop": "worse",
    "max_rise": "worse",
}
_CASES_OF: Final = {
    "error_rate": "failed",
    "timeout_rate": "failed",
    "empty_response_rate": "failed",
    "pass_rate": "not passed",
    "newly_missed": "newly missed",
    **{f"{STAGE_PREFIX}{stage}": "cases" for stage in STAGES},
}
"""Words before the ids of the cases behind a failed check, by metric and by kind of limit."""


def check_text(result: CheckResult, file: str = THRESHOLDS) -> str:
    """Describe why a check failed; the first line is shown in the short summary."""
    check = result.check
    elsewhere = "(a check that always exists)" if check.implicit else "(from --gate)"
    where = f"{file}:{check.line}" if check.line else elsewhere
    lines = [f"{result.message}", f"{where}  metric {check.metric}"]
    if check.group is not None:
        lines[-1] += f", {check.table} {check.group}"
    if result.missed_cases:
        # Cases that pull a value down need not be misses.
        word = _CASES_OF.get(check.metric) or _CASES_OF_KIND[check.kind]
        if len(result.missed_cases) == MOST_CASES:  # there may be more
            word += f", at most {MOST_CASES} of them"
        lines.append(f"{word}: " + ", ".join(result.missed_cases))
    return "\n".join(lines)


def check_metadata(result: CheckResult) -> dict[str, str | float | None]:
    """Return the metadata of a check for pytest-json-report, only scalars.

    ``low`` and ``high`` bound the two-sided interval; they, ``value`` and ``n`` are None if the
    check had no data or was skipped.
    """
    check = result.check
    return {
        "metric": check.metric,
        "kind": check.kind,
        "limit": check.limit,
        "table": check.table,
        "group": check.group,
        "status": result.status,
        "message": result.message,
        "value": result.estimate,
        "low": result.low,
        "high": result.high,
        "n": result.n,
    }


CHECK_CATEGORIES: Final[dict[CheckStatus, str]] = {**_OUTCOMES, "warn": "warned"}
"""Category of each status of a check among the reports of pytest."""
_SHOWN: Final[tuple[CheckStatus, ...]] = ("fail", "warn", "pass", "skip")
"""Order of checks in the last line of a session."""


def log_check(config: pytest.Config, report: pytest.TestReport) -> None:
    """Send a report, and the end of its item, through pytest's hooks.

    The terminal shows a line of a check only with ``-v``, and no letter: letters and percentage
    are about the cases, and the summary names every check.
    """
    hook, terminal = config.hook, config.pluginmanager.getplugin("terminalreporter")
    verbose = bool(getattr(terminal, "showlongtestinfo", False))
    if terminal is not None and not verbose:
        terminal.currentfspath = config.rootpath / THRESHOLDS  # not to be announced
    hook.pytest_runtest_logstart(nodeid=report.nodeid, location=report.location)
    hook.pytest_runtest_logreport(report=report)
    status = ReportDetails.of(report).check
    if verbose and status is not None:
        terminal.write(CHECK_CATEGORIES[status].upper(), **{COLOURS[VERDICTS[status][1]]: True})
        reason = getattr(report, "wasxfail", "")
        if isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason:
            terminal.write(f" ({reason})")
    file, line, name = report.location
    done = _report(name, "passed", None, line=(line or 0) + 1, file=file, when="teardown")
    done.user_properties = report.user_properties  # JUnit reads those of the teardown
    hook.pytest_runtest_logreport(report=done)
    hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)


def _report(
    name: str,
    outcome: Literal["passed", "failed", "skipped"],
    longrepr: Any,
    *,
    line: int = 1,
    file: str = THRESHOLDS,
    when: Literal["call", "teardown"] = "call",
) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=f"{THRESHOLDS}::{name}",
        location=(file, line - 1, name),
        keywords={},
        outcome=outcome,
        longrepr=longrepr,
        when=when,
    )
