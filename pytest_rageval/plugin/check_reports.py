"""Gate checks as pytest reports, so that all consumers of reports treat them like tests."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final, Literal

import pytest

from pytest_rageval.plugin.case_reports import ReportDetails
from pytest_rageval.plugin.private import add_json_metadata
from pytest_rageval.project.discovery import THRESHOLDS
from pytest_rageval.report.text.gate import detectable_text
from pytest_rageval.values.gate import CheckResult, CheckStatus

_OUTCOMES: dict[CheckStatus, Literal["passed", "failed", "skipped"]] = {
    "pass": "passed",
    "fail": "failed",
    "warn": "skipped",
    "skip": "skipped",
}


_PROPERTIES: Final = ("status", "value", "limit", "low", "high", "n")
"""Figures of a check that JUnit keeps, if they have a value."""


@dataclass(frozen=True, slots=True)
class FailureText:
    """Reason of a failed check, with the attributes that readers of pytest reports expect.

    A plain text would occur twice in a JUnit file, with all its lines in the title.
    """

    text: str
    """The first line is the title."""
    line: int
    """Line of thresholds.toml, from 1."""

    def __str__(self) -> str:
        return self.text

    def toterminal(self, tw: Any) -> None:
        """Write the text to the failures that pytest shows."""
        tw.line(self.text)

    @property
    def reprcrash(self) -> SimpleNamespace:
        """Place and one-line reason of the failure, with the attribute names of pytest."""
        title = self.text.partition("\n")[0]
        return SimpleNamespace(path=THRESHOLDS, lineno=self.line, message=title)

    @property
    def reprtraceback(self) -> SimpleNamespace:
        """Empty traceback."""
        return SimpleNamespace(reprentries=[])


def check_report(result: CheckResult) -> pytest.TestReport:
    """Return the report of one check: failed, passed, skipped or warned."""
    longrepr: Any = None
    line = max(result.check.line, 1)
    if result.status == "fail":
        longrepr = FailureText(check_text(result), line)
    elif result.status == "skip":
        longrepr = (THRESHOLDS, line, f"Skipped: {result.message}")
    report = _report(result.check.name, _OUTCOMES[result.status], longrepr, line=line)
    ReportDetails(check=result.status).put_on(report)
    if result.status == "warn":
        report.wasxfail = result.message
    values = check_metadata(result)
    add_json_metadata(report, values)
    report.user_properties = [
        (f"rageval.{name}", values[name]) for name in _PROPERTIES if values[name] is not None
    ]
    return report


def incomplete_report(sentence: str, hint: str = "") -> pytest.TestReport:
    """Return the failure of a run that lost cases, with a hint at the reason."""
    text = FailureText("\n".join(filter(None, (sentence, hint))), 1)
    report = _report("complete", "failed", text)
    add_json_metadata(report, {"status": "fail", "message": sentence})
    return report


def check_text(result: CheckResult) -> str:
    """Describe why a check failed; the first line is shown in the short summary."""
    check = result.check
    where = f"{THRESHOLDS}:{check.line}" if check.line else "(a check that always exists)"
    lines = [f"{result.message}", f"{where}  metric {check.metric}"]
    if check.group is not None:
        lines[-1] += f", {check.table} {check.group}"
    seen = detectable_text(result)
    if seen is not None:
        lines.append(seen)
    if result.missed_cases:
        # Cases behind a drop need not be misses.
        word = "worse" if check.kind in {"max_drop", "max_rise"} else "missed"
        if check.metric == "error_rate":
            word = "failed"
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


def log_check(config: pytest.Config, report: pytest.TestReport) -> None:
    """Send a report, and the end of its item, through pytest's hooks."""
    hook = config.hook
    hook.pytest_runtest_logstart(nodeid=report.nodeid, location=report.location)
    hook.pytest_runtest_logreport(report=report)
    _, line, name = report.location
    done = _report(name, "passed", None, line=(line or 0) + 1, when="teardown")
    done.user_properties = report.user_properties  # JUnit reads those of the teardown
    hook.pytest_runtest_logreport(report=done)
    hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)


def _report(
    name: str,
    outcome: Literal["passed", "failed", "skipped"],
    longrepr: Any,
    *,
    line: int = 1,
    when: Literal["call", "teardown"] = "call",
) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=f"{THRESHOLDS}::{name}",
        location=(THRESHOLDS, line - 1, name),
        keywords={},
        outcome=outcome,
        longrepr=longrepr,
        when=when,
    )
