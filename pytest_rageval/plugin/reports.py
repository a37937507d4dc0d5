"""Cases and checks of the gate as pytest reports, which all consumers of reports understand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

import pytest

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup, deciding_record
from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.metrics.registry import STAGE_PREFIX
from pytest_rageval.metrics.scoring import EXPECTED, evidence_key
from pytest_rageval.plugin.private import add_json_metadata, failure_text
from pytest_rageval.project.discovery import THRESHOLDS
from pytest_rageval.report.faces.terminal import COLOURS
from pytest_rageval.report.view.gate import VERDICTS
from pytest_rageval.support.text import part
from pytest_rageval.values.gate import MOST_CASES, CheckKind, CheckResult, CheckStatus
from pytest_rageval.values.record import STAGES, CaseRecord, Outcome

_ATTRIBUTE: Final = "rageval"


@dataclass(slots=True, kw_only=True)
class ReportDetails:
    """Details that a pytest report carries for this plugin, to the controller of xdist as well."""

    outcome: Outcome | None = None
    """Outcome of the case; None: not known in this process, or not a report of a case."""
    flaky: bool = False
    """Whether some of its repeats passed, although the outcome is another."""
    unchecked: bool = False
    """Whether a case passed because nothing of what it asks for could be checked."""
    check: CheckStatus | None = None
    """Status of the check of the gate; None: not a report of a check."""
    finished: tuple[int, ...] = ()
    """Repeats that earlier sessions measured, whose records the worker does not hold."""
    asked: str | None = None
    """Target that the case asked; None: it did not ask."""
    concurrency: int | None = None
    """Requests in flight at most in the worker that asked; None: it asked one, or did not ask."""
    cores_needed: float | None = None
    """Cores that the worker has used or waited for while it asked; None: not known so far."""
    subtest: bool = False
    """Whether it is a report of a subtest, which decides nothing about its case."""
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
        if given := {name: value for name in _DETAILS if (value := getattr(self, name))}:
            setattr(report, _ATTRIBUTE, given)

    @classmethod
    def of(cls, report: pytest.TestReport) -> ReportDetails:
        """Return the details of a report, empty if it has none."""
        return cls(**getattr(report, _ATTRIBUTE, {}))


_DETAILS: Final = tuple(one.name for one in fields(ReportDetails))
_RETRIEVAL_KEYS: Final = ("recall_all_at_k", "hit_at_k", "recall_at_k")
_FLAW_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "not_cited": ("attribution_hit_rate",),
    "ungrounded": ("groundedness",),
    "not_used": ("correctness", "context_utilization"),
    "incorrect": ("correctness", "answer_rules_pass_rate"),
}
"""Metrics behind each stage of a flawed answer."""


def passed_strict_xfail(report: pytest.TestReport) -> bool:
    """Return whether pytest failed a test for passing against its strict xfail."""
    text = report.longrepr
    return isinstance(text, str) and text.startswith("[XPASS(strict)]")


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
    # Against a strict xfail, pytest has failed a case whose test function did not raise.
    if record.scores.outcome == "passed" or not (report.passed or passed_strict_xfail(report)):
        return record.scores.outcome
    reason = case_reason(records)
    must_fail = record.case.required or (on_miss_fails and record.scores.outcome != "error")
    if must_fail and record.counted:
        report.outcome = "failed"
        lines = [f"{record.file}:{record.lineno}: {reason}"]
        if record.error is not None and record.error.traceback:
            lines.append(record.error.traceback)
        report.longrepr = "\n".join(lines)
    else:
        report.outcome = "skipped"
        report.wasxfail = report.longrepr = reason  # plugins show one of them
    return record.scores.outcome


def item_outcome(records: Sequence[CaseRecord]) -> Outcome | Literal["flaky"]:
    """Return the worst outcome of an item; ``flaky`` if it passed some repeats and not all."""
    return "flaky" if is_flaky(records) else deciding_record(records).scores.outcome


def is_flaky(records: Sequence[CaseRecord]) -> bool:
    """Whether an item, with all of its turns, passed in some repeats and not in all."""
    passed: dict[int, bool] = {}
    for record in records:
        so_far = passed.get(record.repeat, True)
        passed[record.repeat] = so_far and record.scores.outcome == "passed"
    return len({*passed.values()}) > 1


def case_reason(records: Sequence[CaseRecord]) -> str:
    """Describe in one line why an item did not pass; an error's message may quote the target.

    Of a conversation every turn that did not pass is named.
    """
    turns: dict[int | None, list[CaseRecord]] = {}
    for record in records:
        turns.setdefault(record.case.turn, []).append(record)
    if len(turns) == 1:
        return _turn_reason(records)
    failed = {n: of for n, of in turns.items() if deciding_record(of).scores.outcome != "passed"}
    return "; ".join(f"turn {number}: {_turn_reason(of)}" for number, of in failed.items())


def _turn_reason(records: Sequence[CaseRecord]) -> str:
    record = deciding_record(records)
    if len(records) == 1:
        return _reason(record)
    alike = sum(one.scores.outcome == record.scores.outcome for one in records)
    verb = "erred" if record.scores.outcome == "error" else record.scores.outcome
    return f"{verb} in {alike} of {len(records)} repeats: {_reason(record)}"


def _reason(record: CaseRecord) -> str:
    if record.error is not None:
        tries = part(" after {} attempts", record.error.attempts > 1 and record.error.attempts)
        return f"{record.error.kind}{tries}: {record.error.message}"
    stage = record.scores.failure_stage or ""
    if record.scores.outcome == "flawed":
        wanted: dict[str, float | None] = dict.fromkeys(_FLAW_KEYS.get(stage, ()))
    else:
        decides = evidence_key(record.case, record.scores.metrics)
        wanted = {**dict.fromkeys((*_RETRIEVAL_KEYS, decides), 1.0), **EXPECTED}
    found = ((key, record.scores.metrics.get(key), want) for key, want in wanted.items())
    shown = ", ".join(f"{k} {value:g}" for k, value, want in found if value not in {None, want})
    return ": ".join(filter(None, (stage, shown)))


def set_properties(
    properties: list[tuple[str, object]], records: Sequence[CaseRecord]
) -> list[tuple[str, object]]:
    """Return a report's properties with the numbers of its case, means over its repeats.

    Replaced by name, not appended: rerun plugins measure the same item again.
    """
    found = [(k, v) for k, v in properties if not str(k).startswith("rageval.")]
    found += [(f"rageval.{k}", v) for k, v in _means(records).items() if v is not None]
    record = deciding_record(records)
    found.append(("rageval.outcome", record.scores.outcome))
    if record.error is not None:
        found.append(("rageval.error", f"{record.error.kind}: {record.error.message}"))
        if record.error.traceback:
            found.append(("rageval.traceback", record.error.traceback))
    times = [t for r in records if (t := r.latency.get("total_ms")) is not None]
    if (mean := fmean(times)) is not None:
        found.append(("rageval.latency_ms", round(mean, 3)))
    return found


def case_metadata(records: Sequence[CaseRecord]) -> dict[str, Any]:
    """Return the metadata of an item for pytest-json-report, with its repeats or turns."""
    record = deciding_record(records)
    document = {**_one_metadata(record), "metrics": _means(records)}
    if record.case.turn is not None:
        document["turns"] = [{"turn": one.case.turn, **_one_metadata(one)} for one in records]
    elif len(records) > 1:
        document["repeats"] = [_one_metadata(one) for one in records]
    return document


def _one_metadata(record: CaseRecord) -> dict[str, Any]:
    error = record.error
    return {
        "outcome": record.scores.outcome,
        "error": error
        and {"kind": error.kind, "message": error.message, "traceback": error.traceback},
        "failure_stage": record.scores.failure_stage,
        "metrics": dict(record.scores.metrics),
        "not_applicable": dict(record.scores.not_applicable),
        "latency": dict(record.latency),
    }


def _means(records: Sequence[CaseRecord]) -> dict[str, float | None]:
    if len(records) == 1:
        return dict(records[0].scores.metrics)
    keys = dict.fromkeys(key for record in records for key in record.scores.metrics)
    case = CaseGroup(records=tuple(records))
    return {key: case.mean(key) for key in keys}


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
