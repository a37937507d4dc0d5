"""Two or three runs side by side: the first is compared with each of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup, group_repeats
from pytest_rageval.analysis.two_runs import CheckedComparison, RunComparison
from pytest_rageval.report.explain.verdict import stage_of
from pytest_rageval.report.html.links import Links
from pytest_rageval.report.html.parts import Part, parts
from pytest_rageval.report.html.run.cases import case_anchors
from pytest_rageval.report.html.run.overview import news_blocks
from pytest_rageval.report.html.run.panels import OverviewSection
from pytest_rageval.report.html.run.view import case_links
from pytest_rageval.report.view.asked import diff_words
from pytest_rageval.report.view.blocks import Cell, Line, Row, Table
from pytest_rageval.report.view.comparison import describe_side, view_of_comparison
from pytest_rageval.report.view.explanation import OUTCOMES
from pytest_rageval.support.text import cut
from pytest_rageval.values.run import StoredRun

_ANSWER_CHARS: Final = 1000
_ROWS: Final = 500
"""Most cases of the page, those that differ first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the runs."""

    run_id: str
    described: str
    when: str
    verdict: str
    reason: str
    news: Sequence[Part] = ()
    """Headline against the first run; empty: it is that one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A case in every run."""

    row: Row
    place: int
    """0: it passed in the base and does not in another; 1: it differs; 2: it is alike in all."""
    talk: str
    """Node id of its conversation, or its own."""
    turn: int
    """Position in it; 0: it is of none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """Content of the page."""

    sides: Sequence[Side]
    """The one that the others are compared with first."""
    cases: Part
    """Table of the cases: those that differ, each with its whole conversation, then the others."""
    n_cases: int
    n_differing: int
    sections: Sequence[OverviewSection]
    """The comparison of each of the others."""
    redacted: bool


def view_side_by_side(
    found: Sequence[RunComparison], links: Links, *, redact: bool = False
) -> SideBySide:
    """Compute everything that the page shows.

    Args:
        found: comparisons with one base, at least one.
        links: addresses of the pages of the runs.
        redact: leave out what quotes cases, documents and models.
    """
    if redact:
        found = [replace(one, headline=one.headline.without_names) for one in found]
    base = found[0].base
    runs = [base, *(one.new for one in found)]
    news: list[list[Part]] = [[]]
    for one in found:
        blocks = news_blocks(one.headline, one.new.run_id, redact=redact)
        news.append([*parts(blocks, _addresses(one, links))])
    cases = [*_cases(runs, links, redact=redact)]
    talks: dict[str, list[_Case]] = {}
    for case in sorted(cases, key=attrgetter("turn")):
        talks.setdefault(case.talk, []).append(case)
    rows: list[list[Row]] = [[], [], []]
    for turns in talks.values():
        rows[min(turn.place for turn in turns)] += [turn.row for turn in turns]
    differing = [*rows[0], *rows[1]][:_ROWS]
    same = rows[2][: _ROWS - len(differing)]
    shown, more = (differing, same) if differing else (same, [])
    (table,) = parts([Table(("case", *(run.run_id for run in runs)), shown, more=more)])
    return SideBySide(
        sides=[_side(run, told) for run, told in zip(runs, news, strict=True)],
        cases=table,
        n_cases=len(cases),
        n_differing=sum(case.place < 2 for case in cases),
        sections=[
            _section(number, one, links, redact=redact) for number, one in enumerate(found, start=1)
        ],
        redacted=redact,
    )


def _side(run: StoredRun, news: Sequence[Part]) -> Side:
    gate = run.gate
    return Side(
        run_id=run.run_id,
        described=describe_side(run).removeprefix(run.run_id).lstrip(", "),
        when=(run.config.timestamp or "-")[:16].replace("T", " "),
        verdict=run.verdict or "unknown",
        reason="" if gate is None else gate.reason or gate.sentence,
        news=news,
    )


def _addresses(found: RunComparison, links: Links) -> dict[str, str]:
    """Return the address of each case of the later run, by its shortest name."""
    page = links.run(found.new.run_id, base=found.base.run_id)
    of_cases = case_links(found.new, case_anchors(found.new.records))
    return {name: f"{page}{anchor}" for name, anchor in of_cases.items()}


def _section(number: int, found: RunComparison, links: Links, *, redact: bool) -> OverviewSection:
    view = view_of_comparison(CheckedComparison(found=found))
    addresses = _addresses(found, links)
    return OverviewSection(
        id=f"compare-{number}",
        title=f"{found.new.run_id} compared with {found.base.run_id}",
        legend="".join(text for text, _ in view.title),
        parts=[*parts(view.blocks, addresses, found.new.run_id, public=redact)],
    )


def _cases(runs: Sequence[StoredRun], links: Links, *, redact: bool) -> Iterator[_Case]:
    cases = [{one.first.nodeid: one for one in group_repeats(run.records)} for run in runs]
    pages = [links.run(run.run_id, base="" if run is runs[0] else runs[0].run_id) for run in runs]
    anchors = [
        {f"{file}::{name}": anchor for (file, name, _), anchor in [*of_run.items()][::-1]}
        for of_run in (case_anchors(run.records) for run in runs)
    ]
    for nodeid in dict.fromkeys(nodeid for of_run in cases for nodeid in of_run):
        found = [of_run.get(nodeid) for of_run in cases]
        texts = ["" if redact else _answer(run, one) for run, one in zip(runs, found, strict=True)]
        cells = [
            _cell(one, f"{page}#{of_run.get(nodeid, '')}", text, texts[0])
            for one, page, of_run, text in zip(found, pages, anchors, texts, strict=True)
        ]
        first = next(one for one in found if one is not None).first
        question = "" if redact else cut(first.case.question, 300)
        ends = {one and (one.outcome, stage_of(one.deciding)) for one in found}
        yield _Case(
            row=(((first.name, ""), ("\n", ""), (question, "")), *cells),
            place=2 if len(ends) == len({*texts}) == 1 else int(not _broke(found)),
            talk=first.item_nodeid,
            turn=first.case.turn or 0,
        )


def _broke(found: Sequence[CaseGroup | None]) -> bool:
    base, *others = found
    passed = base is not None and base.outcome == "passed"
    return passed and any(one is not None and one.outcome != "passed" for one in others)


def _answer(run: StoredRun, case: CaseGroup | None) -> str:
    if case is None:
        return ""
    record = run.whole(case.deciding)
    return cut(record.answer or (record.error.message if record.error else ""), _ANSWER_CHARS)


def _cell(case: CaseGroup | None, link: str, text: str, base: str) -> Cell:
    """Show a case in one run: its outcome, and the answer with the words that are new in it."""
    if case is None:
        return Cell(None)
    diff = diff_words(base, text) if base and text and base != text else None
    words = ((False, text),) if diff is None else diff.new
    answer: Line = tuple((part, "strong" if changed else "") for changed, part in words)
    note: Line = ((stage_of(case.deciding).replace("_", " "), "weak"), ("\n", ""), *answer)
    return Cell(case.outcome, status=OUTCOMES.get(case.outcome, "warn"), link=link, note=note)
