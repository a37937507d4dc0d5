"""From records to the case table and to what lies behind each case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

from pytest_rageval.report.html.details import TEXT_CHARS, score_text, stage_of, view_detail
from pytest_rageval.report.html.markup import shortened
from pytest_rageval.report.html.values import CaseView, ReportOptions
from pytest_rageval.support.numbers import format_value
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import StoredRun

CaseKey = tuple[str, str, int]
"""File, case id and repeat."""

_COLUMNS: Final = ("recall_at_k", "recall_all_at_k", "mrr", "groundedness", "correctness")
"""Metrics of the case table, where any case has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CasesView:
    """The case table."""

    columns: tuple[str, ...]
    rows: tuple[CaseView, ...]
    anchors: Mapping[CaseKey, str]
    n_hidden: int


def view_cases(
    run: StoredRun,
    options: ReportOptions,
    *,
    baseline: Mapping[CaseKey, CaseRecord] | None = None,
    flips: Mapping[tuple[str, str], str] | None = None,
) -> CasesView:
    """Show every case of a run, and what lies behind those that are worth it.

    Args:
        run: the records, in the order that the table has at first.
        options: how much is shown.
        baseline: records of the baseline's same cases.
        flips: by file and case id, ``worse`` or ``better``.
    """
    base = baseline or {}
    repeated = {record.nodeid for record in run.records if record.repeat}
    columns = _columns(run.records)
    anchors = case_anchors(run.records)
    everything = options.full or len(run.records) <= options.full_up_to
    rows = []
    for record in run.records:
        before = base.get(case_key(record))
        flip = (flips or {}).get((record.file, record.name), "")
        shown = everything or record.outcome != "passed" or bool(flip)
        row = _row(record, anchors[case_key(record)], columns, repeated, flip, options)
        if shown:
            row = replace(row, detail=view_detail(record, run, before, options))
        rows.append(row)
    return CasesView(
        columns=columns,
        rows=tuple(rows),
        anchors=anchors,
        n_hidden=sum(row.detail is None for row in rows),
    )


def case_key(record: CaseRecord) -> CaseKey:
    """Return what names a record within its run."""
    return record.file, record.name, record.repeat


def case_anchors(records: Iterable[CaseRecord]) -> dict[CaseKey, str]:
    """Name a place in the page for every record: ``case-<id>``, numbered where that is taken."""
    taken: set[str] = set()
    found = {}
    for record in records:
        # A blank or a percent sign cannot stand in an address as it is.
        name = plain = f"case-{quote(record.name, safe='/', errors='replace')}"
        number = 1
        while name in taken:
            number += 1
            name = f"{plain}~{number}"
        taken.add(name)
        found[case_key(record)] = name
    return found


def _columns(records: Sequence[CaseRecord]) -> tuple[str, ...]:
    return tuple(
        key for key in _COLUMNS if any(record.metrics.get(key) is not None for record in records)
    )


def _row(
    record: CaseRecord,
    anchor: str,
    columns: Sequence[str],
    repeated: set[str],
    flip: str,
    options: ReportOptions,
) -> CaseView:
    total = record.latency.get("total_ms")
    return CaseView(
        anchor=anchor,
        case_id=record.name,
        repeat=f"repeat {record.repeat}" if record.nodeid in repeated else "",
        outcome="unchecked" if record.unchecked and record.outcome == "passed" else record.outcome,
        flip=flip,
        stage=stage_of(record),
        category=record.category,
        difficulty=record.difficulty or "",
        tags=record.tags,
        required=record.required,
        answerable=record.answerable,
        cells=tuple(_cell(record.metrics.get(key)) for key in columns),
        ms=("-", "") if total is None else (format_value(total, "ms"), f"{total:.3f}"),
        question=None if options.redact else shortened(record.question, TEXT_CHARS),
        detail=None,
    )


def _cell(value: float | None) -> tuple[str, str]:
    return ("-", "") if value is None else (score_text(value), f"{value:.6f}")
