"""Cases as pytest reports, which all consumers of reports understand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

import pytest

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup, deciding_record
from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.metrics.scoring import EXPECTED, evidence_key
from pytest_rageval.support.text import part
from pytest_rageval.values.gate import CheckStatus
from pytest_rageval.values.record import CaseRecord, Outcome

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
