"""The case table of a page, from records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from typing import Final
from urllib.parse import quote

from pytest_rageval.analysis.aggregate.case_groups import (
    first_to_see,
    group_repeats,
    record_outcome,
)
from pytest_rageval.analysis.two_runs import RunComparison
from pytest_rageval.metrics.built_in import stored_registry
from pytest_rageval.report.explain.verdict import stage_of
from pytest_rageval.report.html.run.attention import check_rules, checks_of
from pytest_rageval.report.html.run.detail import brief_detail, view_detail
from pytest_rageval.report.html.run.values import (
    CaseRow,
    CasesView,
    ReportOptions,
    TurnLink,
)
from pytest_rageval.runs.read import CaseKey, case_key
from pytest_rageval.support.text import free_name
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import StoredRun

_COLUMNS: Final = ("recall_at_k", "mrr", "groundedness", "correctness")
"""Metrics that the list shows at first, if any case has them."""


def view_cases(
    run: StoredRun, options: ReportOptions, baseline: RunComparison | None = None
) -> CasesView:
    """Show every case of a run, with all details of the relevant ones.

    Args:
        run: the records.
        options: extent of the page.
        baseline: the run to compare with and the comparison; None: none.
    """
    repeated = {
        case.first.nodeid: case
        for case in group_repeats(run.records)
        if any(record.repeat for record in case.records)
    }
    columns = tuple(
        key
        for key in _COLUMNS
        if any(one.scores.metrics.get(key) is not None for one in run.records)
    )
    anchors = case_anchors(run.records)
    registry = stored_registry(run.config)
    rules = check_rules(run.checks, registry)
    show = partial(view_detail, run=run, options=options, registry=registry)
    readers: dict[CaseKey, Callable[[], CaseRecord]] = {}
    flips: dict[tuple[str, str], str] = {}
    if baseline is not None:
        whole_before, paired = baseline.base.whole, paired_records(baseline, run.records)
        readers = {key: partial(whole_before, record) for key, record in paired.items()}
        flips = {(flip.file, flip.case_id): flip.direction for flip in baseline.comparison.flips}
    many = len(run.records)
    most = many if options.full or many <= options.full_up_to else options.full_of_more
    talks = conversations(sorted(run.records, key=first_to_see))
    order = [record for turns in talks.values() for record in turns]
    flipped = sorted(order, key=lambda record: (record.file, record.name) not in flips)
    whole = {case_key(record) for record in flipped[:most]}

    def row(number: int, record: CaseRecord) -> CaseRow:
        key = case_key(record)
        detail = (
            partial(show, record, read_before=readers.get(key), number=number)
            if key in whole
            else partial(brief_detail, record, run, options)
        )
        return CaseRow(
            record=record,
            number=number,
            anchor=anchors[key],
            case_id=record.name,
            turns=tuple(
                [
                    TurnLink(anchor=anchors[case_key(one)], outcome=record_outcome(one))
                    for one in talks[record.item_nodeid, record.repeat]
                ]
            ),
            marks=", ".join(
                [f"turn {talk.turn} of {talk.turns}" for talk in [record.case.talk] if talk]
                + (
                    [f"repeat {record.repeat}, {repeated[record.nodeid].passes} pass"]
                    if record.nodeid in repeated
                    else []
                )
                + ["asks back"] * record.scores.clarifies
                + ["not reviewed"] * (not record.counted)
            ),
            outcome=record_outcome(record),
            flaky=record.nodeid in repeated and repeated[record.nodeid].outcome == "flaky",
            flip=flips.get((record.file, record.name), ""),
            stage=stage_of(record),
            checks=checks_of(record, rules),
            question=None if options.redact else record.case.question,
            brief=key not in whole,
            make_detail=detail,
        )

    rows = tuple(row(number, record) for number, record in enumerate(order))
    n_brief = sum(row.brief for row in rows)
    return CasesView(columns=columns, rows=rows, anchors=anchors, n_brief=n_brief)


def conversations(
    records: Iterable[CaseRecord],
) -> dict[tuple[str, int], list[CaseRecord]]:
    """Return the turns of each conversation in order, by its node id and repeat.

    Conversations are in the order of their first record; a case that is of none stands alone.
    """
    found: dict[tuple[str, int], list[CaseRecord]] = {}
    for record in records:
        found.setdefault((record.item_nodeid, record.repeat), []).append(record)
    return {key: sorted(turns, key=attrgetter("place")) for key, turns in found.items()}


def paired_records(
    baseline: RunComparison, records: Iterable[CaseRecord]
) -> dict[CaseKey, CaseRecord]:
    """Return the baseline's records of the cases that are the same in both runs."""
    paired = {
        (pair.new.first.file, pair.new.first.name) for pair in baseline.comparison.pairing.pairs
    }
    before = {case_key(record): record for record in baseline.base.records}
    keys = (case_key(record) for record in records)
    return {key: before[key] for key in keys if key[:2] in paired and key in before}


def case_anchors(records: Iterable[CaseRecord]) -> dict[CaseKey, str]:
    """Return a unique anchor for every record: ``case-<id>``, numbered if needed."""
    taken: set[str] = set()
    found = {}
    for record in records:
        # Blanks and percent signs must be escaped in an address.
        plain = f"case-{quote(record.name, safe='/', errors='replace')}"
        found[case_key(record)] = name = free_name(plain, taken, mark="~")
        taken.add(name)
    return found
