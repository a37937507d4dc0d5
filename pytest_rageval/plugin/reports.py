"""Cases and checks of the gate as pytest reports, which all consumers of reports understand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from types import SimpleNamespace
from typing import Any, Final, Literal

import pytest

from pytest_rageval.analysis.aggregate.case_groups import deciding_record
from pytest_rageval.metrics.registry import STAGE_PREFIX
from pytest_rageval.metrics.scoring import EXPECTED, evidence_key
from pytest_rageval.plugin.private import add_json_metadata
from pytest_rageval.project.discovery import THRESHOLDS
from pytest_rageval.report.text.lines import detectable_text
from pytest_rageval.support.text import counted
from pytest_rageval.values.gate import CheckKind, CheckResult, CheckStatus
from pytest_rageval.values.record import STAGES, CaseRecord, Outcome

_ATTRIBUTE: Final = "rageval"


@dataclass(slots=True, kw_only=True)
class ReportDetails:
    """Details that a pytest report carries for this plugin, to the controller of xdist as well."""

    outcome: Outcome | None = None
    """Outcome of the case; None: not known in this process, or not a report of a case."""
    unchecked: bool = False
    """Whether a case passed because nothing of what it asks for could be checked."""
    check: CheckStatus | None = None
    """Status of the check of the gate; None: not a report of a check."""
    records: str | None = None
    """JSON of the records that a worker measured; None: they were delivered in this process."""
    finished: tuple[int, ...] = ()
    """Repeats that earlier sessions measured, whose records the worker does not hold."""
    asked: str | None = None
    """Target that the case asked; None: it did not ask."""
    concurrency: int | None = None
    """Requests in flight at most in the worker that asked; None: it asked one, or did not ask."""
    unasked: bool = False
    """Whether the test function does not take the fixture that asks."""
    notes: tuple[str, ...] = ()
    """Remarks of the judges about their caches."""
    gave_up: str | None = None
    """Reason why the target is not asked any more; None: it is."""
    usage_error: str | None = None
    """Fault of the configuration that ends the session; None: no fault."""

    def put_on(self, report: pytest.TestReport) -> None:
        """Store the details on a report, as plain values that xdist can send."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        if given := {name: value for name, value in values.items() if value}:
            setattr(report, _ATTRIBUTE, given)

    @classmethod
    def of(cls, report: pytest.TestReport) -> ReportDetails:
        """Return the details of a report, empty if it has none."""
        return cls(**getattr(report, _ATTRIBUTE, {}))


_VERBS: Final[dict[Outcome, str]] = {
    "passed": "passed",
    "flawed": "flawed",
    "missed": "missed",
    "error": "erred",
}
_RETRIEVAL_KEYS: Final = ("recall_all_at_k", "hit_at_k", "recall_at_k")
_FLAW_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "not_cited": ("attribution_hit_rate",),
    "ungrounded": ("groundedness",),
    "incorrect": ("correctness",),
}
"""Metrics behind each stage of a flawed answer."""


def decide_report(
    report: pytest.TestReport, records: Sequence[CaseRecord], *, on_miss_fails: bool
) -> Outcome:
    """Rewrite the outcome of a call report from the records of its case.

    A miss, a flaw and an error of the target are encoded like an expected failure of pytest, which
    all consumers of reports know: the expectation was not met, and the run does not fail.

    Args:
        report: report of the call; it stays failed if an assertion of the user failed.
        records: one per repeat, at least one.
        on_miss_fails: whether a miss or a flaw alone fails the run.

    Returns:
        The outcome of the case.
    """
    record = deciding_record(records)
    if not report.passed or record.outcome == "passed":
        return record.outcome
    reason = case_reason(records)
    must_fail = record.required or (on_miss_fails and record.outcome != "error")
    if must_fail and record.counted:
        report.outcome = "failed"
        lines = [f"{record.file}:{record.lineno}: {reason}"]
        if record.error is not None and record.error.traceback:
            lines.append(record.error.traceback)
        report.longrepr = "\n".join(lines)
    else:
        report.outcome = "skipped"
        report.wasxfail = reason
    return record.outcome


def case_reason(records: Sequence[CaseRecord]) -> str:
    """Describe in one line why a case did not pass; an error's message may quote the target."""
    record = deciding_record(records)
    if len(records) == 1:
        return _reason(record)
    alike = sum(one.outcome == record.outcome for one in records)
    return f"{_VERBS[record.outcome]} in {alike} of {len(records)} repeats: {_reason(record)}"


def _reason(record: CaseRecord) -> str:
    if record.error is not None:
        tries = f" after {record.error.attempts} attempts" if record.error.attempts > 1 else ""
        return f"{record.error.kind}{tries}: {record.error.message}"
    stage = record.failure_stage or ""
    if record.outcome == "flawed":
        keys = _FLAW_KEYS.get(stage, ())
    else:
        decides = evidence_key(record.case, record.metrics)
        keys = tuple(dict.fromkeys((*_RETRIEVAL_KEYS, decides, *EXPECTED)))
    found = ((key, record.metrics.get(key)) for key in keys)
    shown = ", ".join(f"{key} {value:g}" for key, value in found if value is not None)
    return ": ".join(filter(None, (stage, shown)))


def set_properties(
    properties: list[tuple[str, object]], records: Sequence[CaseRecord]
) -> list[tuple[str, object]]:
    """Return a report's properties with the numbers of its case, means over its repeats.

    Replaced by name, not appended: rerun plugins measure the same item again.
    """
    found = [(k, v) for k, v in properties if not str(k).startswith("rageval.")]
    found += [(_property_name(k), v) for k, v in _means(records).items() if v is not None]
    record = deciding_record(records)
    found.append(("rageval.outcome", record.outcome))
    if record.error is not None:
        found.append(("rageval.error", f"{record.error.kind}: {record.error.message}"))
        if record.error.traceback:
            found.append(("rageval.traceback", record.error.traceback))
    times = [t for r in records if (t := r.latency.get("total_ms")) is not None]
    if times:
        found.append(("rageval.latency_ms", round(_mean(times), 3)))
    return found


@cache
def _property_name(key: str) -> str:
    # pytest keeps all reports: this stores each name once instead of twice per case.
    return f"rageval.{key}"


def case_metadata(records: Sequence[CaseRecord]) -> dict[str, Any]:
    """Return the metadata of a case for pytest-json-report, with its repeats if several."""
    record = deciding_record(records)
    document = {**_one_metadata(record), "metrics": _means(records)}
    if len(records) > 1:
        document["repeats"] = [_one_metadata(one) for one in records]
    return document


def _one_metadata(record: CaseRecord) -> dict[str, Any]:
    error = record.error
    return {
        "outcome": record.outcome,
        "error": error
        and {"kind": error.kind, "message": error.message, "traceback": error.traceback},
        "failure_stage": record.failure_stage,
        "metrics": dict(record.metrics),
        "not_applicable": dict(record.not_applicable),
        "latency": dict(record.latency),
    }


def _means(records: Sequence[CaseRecord]) -> dict[str, float | None]:
    if len(records) == 1:
        return dict(records[0].metrics)
    keys = dict.fromkeys(key for record in records for key in record.metrics)
    found: dict[str, float | None] = {}
    for key in keys:
        values = [v for record in records if (v := record.metrics.get(key)) is not None]
        found[key] = _mean(values) if values else None
    return found


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def checks_apart(terminal: pytest.TerminalReporter) -> None:
    """Let the last line of the session count checks apart from cases and tests."""
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
        for status, shown in _COLOURS.items():
            if checks[status]:
                words = f"{counted(checks[status], 'check')} {CHECK_CATEGORIES[status]}"
                parts.append((words, {shown: True, "bold": shown == colour}))
        return parts, colour

    terminal.build_summary_stats_line = line  # type: ignore[method-assign]


# --- checks of the gate --------------------------------------------------------------------------


_OUTCOMES: dict[CheckStatus, Literal["passed", "failed", "skipped"]] = {
    "pass": "passed",
    "fail": "failed",
    "warn": "skipped",
    "skip": "skipped",
}
_PROPERTIES: Final = ("status", "value", "limit", "low", "high", "n")
"""Figures of a check that JUnit keeps, if they have a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """Place of a failed check, with the attribute names of pytest; as text for ``--tb=line``."""

    path: str = THRESHOLDS
    lineno: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.lineno}: {self.message}"


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
    def reprcrash(self) -> Crash:
        """Place and one-line reason of the failure."""
        return Crash(lineno=self.line, message=self.text.partition("\n")[0])

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


def check_text(result: CheckResult) -> str:
    """Describe why a check failed; the first line is shown in the short summary."""
    check = result.check
    elsewhere = "(a check that always exists)" if check.implicit else "(from --gate)"
    where = f"{THRESHOLDS}:{check.line}" if check.line else elsewhere
    lines = [f"{result.message}", f"{where}  metric {check.metric}"]
    if check.group is not None:
        lines[-1] += f", {check.table} {check.group}"
    seen = detectable_text(result)
    if seen is not None:
        lines.append(seen)
    if result.missed_cases:
        # Cases that pull a value down need not be misses.
        word = _CASES_OF.get(check.metric) or _CASES_OF_KIND[check.kind]
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
_COLOURS: Final[dict[CheckStatus, str]] = {
    "fail": "red",
    "warn": "yellow",
    "pass": "green",
    "skip": "yellow",
}


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
        terminal.write(CHECK_CATEGORIES[status].upper(), **{_COLOURS[status]: True})
        reason = getattr(report, "wasxfail", "")
        if isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason:
            terminal.write(f" ({reason})")
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
