"""Markdown of a run: ``summary.md`` and the summary of a CI step.

Ids and numbers, no user, document or model text. The file that ``GITHUB_STEP_SUMMARY`` names is
shared by the whole step, so its content is kept.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pytest_rageval.analysis.aggregate.target_faults import group_errors
from pytest_rageval.analysis.trust.reliability import reliability_lines, worst_disagreements
from pytest_rageval.metrics.registry import unit_of
from pytest_rageval.report.faces.markdown import code, escape
from pytest_rageval.report.matching import rules_text
from pytest_rageval.report.view.gate import detectable_size
from pytest_rageval.report.view.summary import (
    GROUP_COLUMNS,
    FinishedRun,
    change_text,
    concurrency_text,
    held_value_text,
    interval_text,
    limit_text,
    mean_text,
    parts_of,
    stage_counts,
)
from pytest_rageval.support.text import counted, first_few, format_value
from pytest_rageval.values.gate import BaselineInfo, CheckResult, GateResult
from pytest_rageval.values.numbers import MetricSummary, group_size

LISTED_CAUSES: Final = 20
LISTED_CASES: Final = 200
"""Maximum ids listed of missed and failed cases: a pull request comment has a size limit."""


def render_markdown(view: FinishedRun) -> str:
    """Render the summary: verdict, checks, metrics, categories, then the cases to look at."""
    return "\n".join(_lines(view)) + "\n"


def _lines(view: FinishedRun) -> Iterator[str]:
    aggregate = view.aggregate
    yield f"## rageval: {escape(view.gate.sentence)}"
    yield ""
    yield (
        f"Run `{view.run.run_id}`: {counted(aggregate.total, 'case')}, {aggregate.passed} passed, "
        f"{aggregate.missed} missed, {aggregate.flawed} flawed, "
        f"{counted(aggregate.errored, 'error')}."
    )
    if aggregate.stages:
        yield from ("", f"Failure stages: {', '.join(stage_counts(aggregate))}.")
    if rules := rules_text(aggregate.matching):
        yield from ("", f"Chunks compared with evidence by {rules}.")
    yield from _target_faults(view)
    yield from baseline_line(view.gate)
    yield from check_table(view.gate)
    yield from _metric_table(view)
    yield from _latency_line(view)
    yield from _category_table(view.aggregate.by_category)
    yield from _judge_list(view)
    yield from _case_list(view)


def _target_faults(view: FinishedRun) -> Iterator[str]:
    """List the errors of the target by cause, without their messages, which may quote texts."""
    lines = [f"**{escape(sentence)}**" for sentence in view.reply_faults]
    cases: dict[tuple[str, str], set[str]] = {}
    for group in group_errors(view.run.records):  # without their messages several are one
        cases.setdefault((group.kind, group.label), set()).update(r.nodeid for r in group.records)
    causes = sorted(cases.items(), key=lambda one: -len(one[1]))
    for (kind, label), found in causes[:LISTED_CAUSES]:
        cause = f": {escape(label)}" if label else ""
        lines.append(f"{kind} in {counted(len(found), 'case')}{cause}")
    if lines:
        yield ""
        yield from (f"- {line}" for line in lines)


def baseline_line(gate: GateResult) -> Iterator[str]:
    """Yield an empty line and the baseline of the run; nothing if none was requested."""
    if gate.baseline is not None:
        sentence = gate.baseline.sentence
        there = gate.baseline.problem is None
        text = f"Baseline {sentence}" if there else f"{sentence[:1].upper()}{sentence[1:]}"
        yield from ("", f"{escape(text)}.")
        if gate.baseline.verdict:
            yield from ("", f"{escape(gate.baseline.verdict)}.")
        if gate.baseline.lost:
            yield from ("", f"{escape(gate.baseline.lost)}.")


def check_table(gate: GateResult) -> Iterator[str]:
    """Render an empty line and the checks, failed ones first; nothing if there are none."""
    if not gate.checks:
        return
    yield from (
        "",
        "| check | value | limit | n | can detect | result |",
        "|---|---:|---|---:|---:|---|",
    )
    order = {"fail": 0, "warn": 1, "skip": 2, "pass": 3}
    for result in sorted(gate.checks, key=lambda r: order[r.status]):
        value = held_value_text(result, result.estimate)
        n = "-" if result.n is None else str(result.n)
        words = {"fail": "**FAIL**", "pass": "ok"}
        word = words.get(result.status) or f"{result.status}: {_reason(result, gate.baseline)}"
        yield (
            f"| {escape(result.check.name)} | {value} | {limit_text(result)} | {n} "
            f"| {detectable_size(result) or '-'} | {word} |"
        )


def _reason(result: CheckResult, baseline: BaselineInfo | None) -> str:
    """Return why a check warned or was skipped; what ``baseline_line`` says is not repeated."""
    if baseline is None or result.message != baseline.problem:
        return escape(result.message)
    return "no baseline" if baseline.run_id is None else "not comparable with the baseline"


def _metric_table(view: FinishedRun) -> Iterator[str]:
    percent = f"{view.gate.confidence * 100:g} % interval"
    versus = (f" {escape(view.versus)} |", "---:|") if view.changes else ("", "")
    yield from (
        "",
        f"| metric | n | mean | {percent} | n/a | errors |{versus[0]}",
        f"|---|---:|---:|---|---:|---:|{versus[1]}",
    )
    for key in view.registry.cases:
        summary = view.aggregate.metrics.get(key)
        if summary is None or (summary.n == 0 and summary.n_error == 0):
            continue
        change = f" {change_text(key, view.changes.get(key))} |" if view.changes else ""
        yield _metric_row(key, summary) + change
        for name, part in parts_of(view.aggregate, key).items():
            yield _metric_row(f"{key} {name}", part) + (" - |" if view.changes else "")
    for key, value in view.run.run_metrics.items():
        change = f" {change_text(key, view.changes.get(key))} |" if view.changes else ""
        yield f"| {key} | {view.aggregate.total} | {format_value(value)} | - | 0 | 0 |{change}"


def _latency_line(view: FinishedRun) -> Iterator[str]:
    latency = view.aggregate.latency
    if latency.p50_ms is None or latency.p95_ms is None:
        return
    values = ((latency.p50_ms, latency.p50_censored), (latency.p95_ms, latency.p95_censored))
    p50, p95 = (f"{'at least ' * cut}{format_value(ms, 'ms')} ms" for ms, cut in values)
    calls = counted(latency.n, "call") + concurrency_text(view.run.config.concurrency)
    yield from ("", f"Latency of {calls}: p50 {p50}, p95 {p95}.{_usage_text(view)}")


def _usage_text(view: FinishedRun) -> str:
    """Return the mean tokens and the cost that the target reports; empty: none."""
    usage = view.aggregate.usage
    tokens = [
        f"{found.mean:,.0f} {name.removesuffix('_tokens')}"
        for name, found in usage.items()
        if name.endswith("_tokens")
    ]
    parts = [f"{' and '.join(tokens)} tokens an answer"] if tokens else []
    if (cost := usage.get("cost_usd")) is not None:
        parts.append(f"${format_value(cost.total, unit_of('cost_usd'))} in all")
    return f" The target reports {', '.join(parts)}." if parts else ""


def _metric_row(name: str, summary: MetricSummary) -> str:
    mean = "no data" if summary.mean is None else format_value(summary.mean)
    return (
        f"| {name} | {summary.n} | {mean} | {interval_text(summary.low, summary.high)} "
        f"| {summary.n_not_applicable} | {summary.n_error} |"
    )


def _category_table(groups: Mapping[str, Mapping[str, MetricSummary]]) -> Iterator[str]:
    if not groups:
        return
    heads = " | ".join(name for _, name in GROUP_COLUMNS)
    yield from ("", f"| category | n | {heads} |", "|---|" + "---:|" * (len(GROUP_COLUMNS) + 1))
    for name, summaries in sorted(groups.items()):
        n = group_size(summaries)
        cells = [mean_text(summaries.get(key), n) for key, _ in GROUP_COLUMNS]
        yield f"| {escape(name)} | {n} | {' | '.join(cells)} |"


def _judge_list(view: FinishedRun) -> Iterator[str]:
    if lines := [*reliability_lines(view.reliability)]:
        yield ""
        yield from (f"- {escape(line)}" for line in lines)
    if worst := [*worst_disagreements(view.reliability)]:
        yield from ("", "| first and second judge | case | first | second |", "|---|---|---:|---:|")
        for key, case_id, first, second in worst:
            yield f"| {key} | {escape(case_id)} | {first:g} | {second:g} |"


def _case_list(view: FinishedRun) -> Iterator[str]:
    for outcome, found in view.aggregate.failed_cases.items():
        n = len(found)
        if found:
            title = counted(n, "error") if outcome == "error" else f"{n} {outcome}"
            yield from ("", f"<details><summary>{title}</summary>", "")
            yield first_few([*map(code, found)], LISTED_CASES)
            yield from ("", "</details>")


VARIABLE: Final = "GITHUB_STEP_SUMMARY"
LIMIT_BYTES: Final = 1 << 20
"""Limit of the whole file: GitHub rejects a larger one completely."""


def append_step_summary(markdown: str, environ: Mapping[str, str]) -> str | None:
    """Append Markdown to the step summary, if one is named, cut at a line end if it is too long.

    Returns:
        A sentence for the user if the file cannot be written; None: no error.
    """
    name = environ.get(VARIABLE)
    if not name:
        return None
    try:
        _append(Path(name), markdown)
    except (OSError, ValueError) as error:  # ValueError: a path that holds a null character
        reason = getattr(error, "strerror", None) or str(error)
        return f"the step summary was not written: {VARIABLE} {name}: {reason}"
    return None


def _append(path: Path, markdown: str) -> None:
    # Non-blocking: opening a pipe without a reader would hang forever.
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags, 0o644), "r+b", buffering=0) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("is not a regular file")
        gap = b""
        if found.st_size:
            file.seek(-1, os.SEEK_END)
            gap = b"\n" if file.read(1) == b"\n" else b"\n\n"
        room = LIMIT_BYTES - found.st_size - len(gap)
        block = fit_markdown(markdown, room).encode("utf-8", "backslashreplace")
        rest = gap + block if block else b""
        while rest:
            rest = rest[file.write(rest) or 0 :]


_CUT: Final = "Cut here: GitHub takes no more. The whole is in the files of the run."
_CLOSE: Final = "</details>"


def fit_markdown(markdown: str, room_bytes: int) -> str:
    r"""Return Markdown that takes at most some bytes of UTF-8.

    Whole lines are kept, and a sentence says that others were cut. If even that does not fit, the
    result is empty. The room may be negative.

    >>> fit_markdown("one\ntwo\n", 8), fit_markdown("one\ntwo\n", 7)
    ('one\ntwo\n', '')
    """
    if _size(markdown) <= room_bytes:
        return markdown
    end = f"\n{_CUT}\n"
    # A part that was opened would take in whatever follows the cut.
    closing = f"\n{_CLOSE}\n"
    room = room_bytes - _size(end) - _size(closing)
    kept: list[str] = []
    for line in markdown.splitlines(keepends=True):
        room -= _size(line)
        if room < 0:
            break
        kept.append(line)
    if not kept:
        return ""
    text = "".join(kept)
    still_open = text.count("<details>") > text.count(_CLOSE)
    return text + (closing if still_open else "") + end


def _size(text: str) -> int:
    return len(text.encode("utf-8", "backslashreplace"))
