"""Two or three runs side by side: the first is compared with each of the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from pytest_rageval.report.html.run.panels import Section
from pytest_rageval.report.html.run.view import case_links
from pytest_rageval.report.view.comparison import describe_side, view_of_comparison
from pytest_rageval.report.view.word_diff import Piece, diff_words
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
class AnswerCell:
    """A case in one run."""

    link: str
    outcome: str
    """Empty: the run does not have the case."""
    stage: str
    answer: Sequence[Piece]
    """Parts of the answer, with those that are not in the first run's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    """A case in every run."""

    name: str
    question: str
    cells: Sequence[AnswerCell]
    differs: bool
    talk: str
    """Node id of its conversation, or its own."""
    turn: int
    """Position in it; 0: it is of none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """Content of the page."""

    sides: Sequence[Side]
    """The one that the others are compared with first."""
    rows: Sequence[AnswerRow]
    n_cases: int
    n_differing: int
    sections: Sequence[Section]
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
    rows = _in_talks(_rows(runs, links, redact=redact))
    return SideBySide(
        sides=[_side(run, told) for run, told in zip(runs, news, strict=True)],
        rows=rows[:_ROWS],
        n_cases=len(rows),
        n_differing=sum(row.differs for row in rows),
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


def _section(number: int, found: RunComparison, links: Links, *, redact: bool) -> Section:
    view = view_of_comparison(CheckedComparison(found=found))
    addresses = _addresses(found, links)
    return Section(
        id=f"compare-{number}",
        title=f"{found.new.run_id} compared with {found.base.run_id}",
        legend="".join(text for text, _ in view.title),
        parts=[*parts(view.blocks, addresses, found.new.run_id, public=redact)],
    )


def _rows(runs: Sequence[StoredRun], links: Links, *, redact: bool) -> Iterator[AnswerRow]:
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
        yield AnswerRow(
            name=first.name,
            question="" if redact else cut(first.case.question, 300),
            cells=cells,
            talk=first.item_nodeid,
            turn=first.case.turn or 0,
            differs=len({(cell.outcome, cell.stage) for cell in cells}) > 1 or len({*texts}) > 1,
        )


def _in_talks(rows: Iterable[AnswerRow]) -> list[AnswerRow]:
    """Return rows with those that differ first, each with its whole conversation in order."""
    talks: dict[str, list[AnswerRow]] = {}
    for row in rows:
        talks.setdefault(row.talk, []).append(row)
    ordered = sorted(talks.values(), key=lambda turns: not any(row.differs for row in turns))
    return [row for turns in ordered for row in sorted(turns, key=attrgetter("turn"))]


def _answer(run: StoredRun, case: CaseGroup | None) -> str:
    if case is None:
        return ""
    record = run.whole(case.deciding)
    return cut(record.answer or (record.error.message if record.error else ""), _ANSWER_CHARS)


def _cell(case: CaseGroup | None, link: str, text: str, base: str) -> AnswerCell:
    if case is None:
        return AnswerCell(link="", outcome="", stage="", answer=())
    diff = diff_words(base, text) if base and text and base != text else None
    return AnswerCell(
        link=link,
        outcome=case.outcome,
        stage=stage_of(case.deciding).replace("_", " "),
        answer=((False, text),) if diff is None else diff.new,
    )
