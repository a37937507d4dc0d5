"""Distributions of the overview: metrics, times, ranks and abstention.

Every bar is a link to its cases, and stands in a table behind the chart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import group_repeats
from pytest_rageval.analysis.stats.intervals import percentile
from pytest_rageval.metrics.context import (
    CONTEXT_COLUMNS,
    CONTEXT_ROWS,
    CORRECT,
    ContextColumn,
    ContextRow,
)
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.report.html.charts import CountRow, Histogram, histogram
from pytest_rageval.report.html.links import cases_link
from pytest_rageval.report.html.markup import Element
from pytest_rageval.report.html.parts import Part, parts
from pytest_rageval.report.html.run.distributions import (
    ABSTENTION,
    Bin,
    RankShares,
    abstentions,
    bin_values,
    contexts,
    rank_shares,
    score_edges,
    share_text,
    time_edges,
)
from pytest_rageval.report.html.run.figures import percentiles
from pytest_rageval.report.view.blocks import Cell, Row, Table
from pytest_rageval.support.text import counted, format_value, part
from pytest_rageval.values.numbers import LatencySummary
from pytest_rageval.values.record import CaseRecord

_FOR_P99: Final = 50
"""Answers from which a 99th percentile is shown: of fewer it is the longest time."""
_RANKS: Final = 20
"""Most ranks with a bar of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A chart with the table of its numbers."""

    key: str
    title: str
    note: str
    chart: Element | None
    rows: Sequence[CountRow]
    table: Sequence[Part]


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewSection:
    """A part of the overview below the first screen."""

    id: str
    title: str
    legend: str = ""
    charts: Sequence[Element] = ()
    panels: Sequence[Panel] = ()
    more: Sequence[Panel] = ()
    """Panels that are folded."""
    parts: Sequence[Part] = ()
    folded: str = ""
    """Word by which its blocks are unfolded; empty: they are open."""


def _panel(key: str, note: str, one: Histogram, columns: tuple[str, str, str]) -> Panel:
    rows = [row for row in one.rows if row.n]
    cells = [(row.label, Cell(str(row.n), link=row.link), row.share) for row in rows]
    name, *counts = columns
    table = Table((name, *(f">{count}" for count in counts)), cells)
    return Panel(
        key=key,
        title=one.title,
        note=note,
        chart=histogram(one),
        rows=rows,
        table=[*parts([table], title=one.title)],
    )


def _asked(records: Collection[CaseRecord]) -> tuple[str, str]:
    """Return what is counted, ``case`` or ``repeat``, and the number of all in words."""
    cases = counted(n := len({(one.file, one.name) for one in records}), "case")
    if n == len(records):
        return "case", cases
    return "repeat", f"{counted(len(records), 'repeat')} of {cases}"


# --- metrics -----------------------------------------------------------------------------------


def metric_panels(
    records: Sequence[CaseRecord], registry: Registry, keys: Iterable[str]
) -> Iterator[Panel]:
    """Show the distribution of each metric that may take more than two values, and took two.

    Those of whole documents, which follow from the ranks of the chunks, are left out.
    """
    repeated = group_repeats(records) if any(record.repeat for record in records) else []
    for number, key in enumerate(keys):
        info = registry.info(key)
        if info is None or info.binary or info.level == "document":
            continue
        scored = [record for record in records if record.scores.metrics.get(key) is not None]
        if len({record.scores.metrics[key] for record in scored}) > 1:
            means = [v for case in repeated if (v := case.mean(key)) is not None]
            yield _metric_panel(f"spread-{number}", info, scored, means)


def _metric_panel(
    name: str, info: MetricInfo, scored: Sequence[CaseRecord], means: Sequence[float]
) -> Panel:
    """Show one metric; ``means`` are those of cases that were asked several times."""
    values = [v for record in scored if (v := record.scores.metrics[info.key]) is not None]
    means = means or values
    unit, asked = _asked(scored)
    bins = bin_values(values, score_edges(values, info.scale))
    mean = sum(means) / len(means)
    drawn = Histogram(
        name=name,
        title=info.title,
        rows=_bin_rows(bins, info.key),
        unit=unit,
        ticks=_ticks(bins),
        # Its value stands in the note.
        marks=() if info.scale[1] is None else [(_share(bins, mean), "")],
    )
    scale = "" if info.scale[1] in (None, 1) else f" of {info.scale[1]:g}"
    note = f"{asked}, mean {format_value(mean)}{scale}"
    return _panel(info.key, note, drawn, (info.key, f"{unit}s", "share"))


def _bin_rows(bins: Sequence[Bin], key: str, unit: str = "", **order: str) -> list[CountRow]:
    n = sum(one.n for one in bins)
    return [
        CountRow(
            label=f"{one.low:g} to {one.high:g}{unit}",
            n=one.n,
            share=share_text(one.n / n),
            link=cases_link(**{key: one.range, **order}),
        )
        for one in bins
    ]


def _ticks(bins: Sequence[Bin], unit: str = "") -> list[tuple[float, str]]:
    """Return about five edges of bins, the last with its unit."""
    n, every = len(bins), -(-len(bins) // 5)
    places = [place for place in range(0, n, every) if not place or n - place >= every]
    edges = [bins[place].low for place in places]
    shown = [(place / len(bins), f"{edge:g}") for place, edge in zip(places, edges, strict=True)]
    return [*shown, (1.0, f"{bins[-1].high:g}{unit}")]


def _share(bins: Sequence[Bin], value: float) -> float:
    """Return where a value lies on an axis of equally wide bins, from 0 to 1."""
    last = len(bins) - 1
    place = next((place for place in range(last) if value < bins[place].high), last)
    within = (value - bins[place].low) / (bins[place].high - bins[place].low)
    return (place + min(max(within, 0.0), 1.0)) / len(bins)


# --- times -------------------------------------------------------------------------------------


def latency_panel(records: Sequence[CaseRecord], whole: LatencySummary) -> Panel | None:
    """Show the distribution of the time of a case; None if absent.

    Args:
        records: of the run.
        whole: the times of what the run counts as an answer.
    """
    timed = [record for record in records if record.latency.get("total_ms") is not None]
    values = [record.latency["total_ms"] for record in timed]
    if len(values) < 2 or max(values) <= 0:
        return None
    unit, asked = _asked(timed)
    bins = bin_values(values, time_edges(values))
    marks = [*_time_marks(records, whole)]
    drawn = Histogram(
        name="spread-ms",
        title="Time of a case, in ms",
        rows=_bin_rows(bins, "ms", " ms", sort="ms", dir="desc"),
        unit=unit,
        ticks=_ticks(bins, " ms"),
        marks=[(_share(bins, at), name.partition(" ")[0]) for name, at in marks],
    )
    # Lead from the count of the bars to the percentiles, with their own count if it differs.
    whose = ": " if whole.n == len(values) else f", percentiles of {whole.n}: "
    note = f"{asked}{whose}{', '.join(name for name, _ in marks)}" if marks else asked
    return _panel("ms", note, drawn, ("time", f"{unit}s", "share"))


def _time_marks(
    records: Iterable[CaseRecord], whole: LatencySummary
) -> Iterator[tuple[str, float]]:
    if whole.p50_ms is None or whole.p95_ms is None:
        return
    p50, p95 = percentiles(whole)
    yield f"p50 {p50} ms", whole.p50_ms
    yield f"p95 {p95} ms", whole.p95_ms
    answered = [
        v for one in records if one.error is None and (v := one.latency.get("total_ms")) is not None
    ]
    if len(answered) == whole.n >= _FOR_P99:  # else it were of others than p50 and p95
        if (p99 := percentile(answered, 99)) is not None:
            yield f"p99 {format_value(p99, 'ms')} ms", p99


# --- ranks -------------------------------------------------------------------------------------


def rank_panel(records: Iterable[CaseRecord]) -> Panel | None:
    """Show where the first gold stands, with the share found up to each rank."""
    with_golds = [
        record
        for record in records
        if record.scores.metrics.get("recall_at_k") is not None
        and "mrr" not in record.scores.not_applicable
    ]
    if not with_golds:
        return None
    found = rank_shares(with_golds)
    unit, asked = _asked(with_golds)
    rows = [*_rank_rows(found)]
    every, n = -(-len(rows) // 12), len(rows)
    middles = [((place + 0.5) / n, row) for place, row in enumerate(rows)]
    drawn = Histogram(
        name="ranks",
        title="Rank of the first gold",
        rows=rows,
        unit=unit,
        ticks=[
            (at, row.label)
            for place, (at, row) in enumerate(middles)
            if row.label == "none" or not place % every
        ],
        curve=[
            (at, found.share_up_to(int(row.label))) for at, row in middles if row.label.isdigit()
        ],
    )
    note = f"{asked} with golds; line: share with a gold up to the rank"
    return _panel("rank", note, drawn, ("rank", f"{unit}s", "up to here"))


def _rank_rows(found: RankShares) -> Iterator[CountRow]:
    shown = [rank for rank in found.counts if rank <= _RANKS]
    for rank in shown:
        yield CountRow(
            label=str(rank),
            n=found.counts[rank],
            share=share_text(found.share_up_to(rank)),
            link=cases_link(rank=str(rank)),
        )
    if later := sum(n for rank, n in found.counts.items() if rank > _RANKS):
        link = cases_link(rank=f"{_RANKS + 1}..")
        share = share_text(1 - found.none / found.n)
        yield CountRow(label=f"> {_RANKS}", n=later, share=share, link=link)
    if found.none:
        # Cases without golds have no rank either.
        link = cases_link(rank="none", recall_at_k="0..")
        yield CountRow(label="none", n=found.none, share="-", link=link, style="none")


# --- abstention --------------------------------------------------------------------------------


def context_panel(records: Iterable[CaseRecord]) -> Panel | None:
    """Return a table of sufficient context by answer; None: it is known of no case."""
    counts = contexts(records)
    if not counts:
        return None
    columns = [name for name in CONTEXT_COLUMNS if any(counts[row, name] for row in CONTEXT_ROWS)]
    rows: list[Row] = [
        (row.replace("_", " "), *(_context_cell(counts[row, name], row, name) for name in columns))
        for row in CONTEXT_ROWS
    ]
    table = Table(("context", *(f">{name.replace('_', ' ')}" for name in columns)), rows)
    title = "Context and answer"
    note = "a correct answer without its evidence is lucky"
    found = [*parts([table], title=title)]
    return Panel(key="context", title=title, note=note, chart=None, rows=(), table=found)


def _context_cell(n: int, row: ContextRow, column: ContextColumn) -> Cell:
    wanted = {"sufficient_context": "1" if row == "sufficient" else "0"}
    wanted["over_abstention_rate"] = "1" if column == "abstained" else "0"
    if column in {"correct", "wrong"}:
        wanted["correctness"] = f"{CORRECT:g}.." if column == "correct" else f"..<{CORRECT:g}"
    return Cell(str(n), link=cases_link(**wanted) if n else "")


def abstention_panel(records: Sequence[CaseRecord]) -> Panel | None:
    """Return a table of answerable by abstained; None: it is known of no case."""
    counts = abstentions(records)
    if not sum(counts.values()):
        return None
    cells: dict[tuple[bool, bool], Cell] = {}
    for (answerable, abstained), n in counts.items():
        of = counts[answerable, True] + counts[answerable, False]
        right = answerable != abstained
        # The metric of answerable cases counts abstentions, that of the others answers.
        value = "1" if abstained == answerable else "0"
        cells[answerable, abstained] = Cell(
            str(n),
            note=f"{share_text(n / max(of, 1))}, {'✓ right' if right else '✗ wrong'}",
            link=cases_link(**{ABSTENTION[answerable]: value}) if n else "",
        )
    rows = [
        (word, cells[answerable, False], cells[answerable, True])
        for answerable, word in ((True, "answerable"), (False, "unanswerable"))
        if counts[answerable, True] + counts[answerable, False]
    ]
    table = Table(("case", ">answered", ">abstained"), rows)
    title = "Abstention"
    asking = sum(record.scores.clarifies for record in records)
    note = "share of each row" + part("; {} ask back instead, as their cases allow", asking)
    found = [*parts([table], title=title)]
    return Panel(key="abstention", title=title, note=note, chart=None, rows=(), table=found)
