"""Charts of the overview that are looked at: distributions, times, ranks and abstention.

Every bar is a link to its cases, and stands in a table behind the chart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import group_repeats
from pytest_rageval.analysis.stats.intervals import percentile
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.report.html.markup import Element, element
from pytest_rageval.report.html.run.distributions import (
    ABSTENTION,
    Bin,
    RankShares,
    abstentions,
    bin_values,
    rank_shares,
    score_edges,
    share_text,
    time_edges,
)
from pytest_rageval.report.html.run.links import cases_link
from pytest_rageval.report.html.run.overview_values import CountRow, LatencyView, Panel
from pytest_rageval.report.html.svg import Area, circle, label, line, rect
from pytest_rageval.support.text import counted, format_value
from pytest_rageval.values.record import CaseRecord

_FOR_P99: Final = 50
"""Answers from which a 99th percentile is shown: of fewer it is the longest time."""
_RANKS: Final = 20
"""Most ranks with a bar of their own."""


_Marks = Iterable[tuple[str, float]]
"""Names and values that are drawn as lines across a chart."""
_SMALL: Final = Area(width=360, height=132, left=8, top=20, right=8, bottom=20)
_LARGE: Final = replace(_SMALL, width=760, height=186, top=50)
_NARROW: Final = replace(_LARGE, width=360, height=170)


def _asked(records: Collection[CaseRecord]) -> tuple[str, str]:
    """Return what is counted, ``case`` or ``repeat``, and the number of all in words."""
    cases = counted(n := len({(one.file, one.name) for one in records}), "case")
    if n == len(records):
        return "case", cases
    return "repeat", f"{counted(len(records), 'repeat')} of {cases}"


def _linked_bar(
    row: CountRow, area: Area, left: float, wide: float, bar: Element, unit: str
) -> Element:
    """Return a bar that leads to its cases, as the whole of its column does."""
    name = f"{row.label}: {counted(row.n, unit)}"
    column = rect(left, area.top, wide, area.base - area.top, "hit")
    return element("a", element("title", name), column, bar, href=row.link)


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
    key = info.key
    values = [v for record in scored if (v := record.scores.metrics[key]) is not None]
    means = means or values
    unit, asked = _asked(scored)
    bins = bin_values(values, score_edges(values, info.scale))
    rows = _bin_rows(bins, key)
    mean = sum(means) / len(means)
    marks = [] if info.scale[1] is None else [("mean", mean)]
    return Panel(
        key=key,
        title=info.title,
        note=f"{asked}, mean {format_value(mean)}",
        columns=(key, f"{unit.title()}s", "Share"),
        rows=tuple(row for row in rows if row.n),
        chart=_SMALL.picture(
            name, f"Distribution of {key}", _IN_TABLE, _bars(bins, rows, marks, _SMALL, unit)
        ),
    )


def _bin_rows(bins: Sequence[Bin], key: str, unit: str = "", **order: str) -> tuple[CountRow, ...]:
    n = sum(one.n for one in bins)
    return tuple(
        CountRow(
            label=f"{one.low:g} to {one.high:g}{unit}",
            n=one.n,
            share=share_text(one.n / n),
            link=cases_link(**{key: one.range, **order}),
        )
        for one in bins
    )


_IN_TABLE: Final = "Its numbers stand in the table that follows."


def _bars(
    bins: Sequence[Bin], rows: Sequence[CountRow], marks: _Marks, area: Area, unit: str
) -> Iterator[Element]:
    """Draw linked bars, the edges below, the marks, and the number of units above each bar."""
    most = max(one.n for one in bins) or 1
    wide = area.plot / len(bins)
    counts = []  # drawn last, else a mark strikes through them
    for place, (one, row) in enumerate(zip(bins, rows, strict=True)):
        left = area.left + wide * place
        if one.n:
            top = area.y(one.n / most)
            bar = rect(left + 1, top, max(wide - 2, 1), area.base - top, "bar")
            yield _linked_bar(row, area, left, wide, bar, unit)
            # A number that is clearly wider than its bar would touch the next one.
            if len(str(one.n)) * _AXIS_CHAR <= wide + 4:
                counts.append(label(left + wide / 2, top - 4, str(one.n), "axis count", "middle"))
    yield line(area.left, area.base, area.x(1), area.base, "grid")
    every = -(-len(bins) // (10 if area is _LARGE else 5))
    for place in range(0, len(bins) + 1, every):
        edge = bins[place].low if place < len(bins) else bins[-1].high
        anchor = "start" if not place else "end" if place == len(bins) else "middle"
        yield label(area.left + wide * place, area.height - 5, f"{edge:g}", "axis", anchor)
    yield from _lines(bins, marks, area)
    yield from counts


def _lines(bins: Sequence[Bin], marks: _Marks, area: Area) -> Iterator[Element]:
    """Draw named values as lines across the chart; a name that would touch takes the next line."""
    ends = [-1000.0] * 3
    for name, value in marks:
        x = area.x(_share(bins, value))
        shown = name if area is not _SMALL else ""
        wide = len(shown) * _AXIS_CHAR
        left = x - wide - 8 if x + wide > area.width else x
        row = next((row for row, end in enumerate(ends) if end < left), 0)
        ends[row] = left + wide + 8
        yield line(x, 2 + _ROW * row, x, area.base, "mean")
        if shown:
            yield label(left + 4, 10 + _ROW * row, shown, "axis strong")


_AXIS_CHAR: Final = 7.0
"""Width of a character of an axis, in pixels."""
_ROW: Final = 12


def _share(bins: Sequence[Bin], value: float) -> float:
    """Return where a value lies on an axis of equally wide bins, from 0 to 1."""
    last = len(bins) - 1
    place = next((place for place in range(last) if value < bins[place].high), last)
    within = (value - bins[place].low) / (bins[place].high - bins[place].low)
    return (place + min(max(within, 0.0), 1.0)) / len(bins)


# --- times -------------------------------------------------------------------------------------


def latency_panel(records: Sequence[CaseRecord], whole: LatencyView | None) -> Panel | None:
    """Show the distribution of the time of a case; None: there is none.

    Args:
        records: of the run.
        whole: median and 95th percentile of the run, of what it counts as an answer; None: none.
    """
    timed = [record for record in records if record.latency.get("total_ms") is not None]
    values = [record.latency["total_ms"] for record in timed]
    if len(values) < 2 or max(values) <= 0:
        return None
    unit, asked = _asked(timed)
    bins = bin_values(values, time_edges(values))
    rows = _bin_rows(bins, "ms", " ms", sort="ms", dir="desc")
    marks = [] if whole is None else [*_time_marks(records, whole)]
    wide, narrow = (
        area.picture(
            f"spread-ms{suffix}",
            "Distribution of the time of a case in milliseconds, with percentiles",
            "; ".join(f"{row.label}: {counted(row.n, unit)}" for row in rows if row.n),
            _bars(bins, rows, marks, area, unit),
        )
        for suffix, area in (("", _LARGE), ("-narrow", _NARROW))
    )
    return Panel(
        key="ms",
        title="Time of a case",
        note=f"{asked}{_whose_percentiles(whole, len(values))}{', '.join(n for n, _ in marks)}",
        columns=("Time", f"{unit.title()}s", "Share"),
        rows=tuple(row for row in rows if row.n),
        chart=element(
            "div",
            element("div", wide, class_="wide-only"),
            element("div", narrow, class_="narrow-only"),
        ),
    )


def _whose_percentiles(whole: LatencyView | None, n: int) -> str:
    """Lead from the count of the bars to the percentiles, with their own count if it differs."""
    if whole is None:
        return ""
    return ": " if whole.n == n else f", percentiles of {whole.n}: "


def _time_marks(records: Iterable[CaseRecord], whole: LatencyView) -> Iterator[tuple[str, float]]:
    yield f"p50 {whole.p50} ms", whole.p50_ms
    yield f"p95 {whole.p95} ms", whole.p95_ms
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
    rows = tuple(_rank_rows(found))
    return Panel(
        key="rank",
        title="Rank of the first gold",
        note=f"{asked} with golds; line: share with a gold up to the rank",
        columns=("Rank", f"{unit.title()}s", "Up to here"),
        rows=rows,
        chart=_SMALL.picture(
            "ranks",
            "Cases by the rank of their first gold, and the share found up to each rank",
            "; ".join(f"rank {row.label}: {row.n}, {row.share}" for row in rows),
            _rank_bars(rows, found, unit),
        ),
    )


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
        yield CountRow(label="none", n=found.none, share="-", link=link)


def _rank_bars(rows: Sequence[CountRow], found: RankShares, unit: str) -> Iterator[Element]:
    area = _SMALL
    most = max(row.n for row in rows)
    wide = min(area.plot / len(rows), 60)
    track: list[tuple[float, float]] = []
    counts = []
    every = -(-len(rows) // 12)
    for place, row in enumerate(rows):
        left, top = area.left + wide * place, area.y(row.n / most)
        middle = left + wide / 2
        none = row.label == "none"
        if row.n:
            style = "bar none" if none else "bar"
            bar = rect(left + 2, top, wide - 4, area.base - top, style)
            yield _linked_bar(row, area, left, wide, bar, unit)
            counts.append(label(middle, top - 4, str(row.n), "axis count", "middle"))
        if none or not place % every:
            yield label(middle, area.height - 5, row.label, "axis", "middle")
        if row.label.isdigit():
            track.append((middle, area.y(found.share_up_to(int(row.label)))))
    yield line(area.left, area.base, area.x(1), area.base, "grid")
    yield element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in track), class_="curve")
    yield from (circle(x, y, 2.5, "curve-dot") for x, y in track)
    yield from counts  # last, else the curve strikes through them


# --- abstention --------------------------------------------------------------------------------


def abstention_table(records: Iterable[CaseRecord]) -> Mapping[tuple[bool, bool], CountRow] | None:
    """Return a cell for each of answerable and abstained; None: it is known of no case."""
    counts = abstentions(records)
    if not sum(counts.values()):
        return None
    return {
        (answerable, abstained): CountRow(
            label=_ABSTENTION_WORDS[answerable, abstained],
            n=n,
            share=share_text(n / max(counts[answerable, True] + counts[answerable, False], 1)),
            # The metric of answerable cases counts abstentions, that of the others answers.
            link=cases_link(**{ABSTENTION[answerable]: "1" if abstained == answerable else "0"}),
        )
        for (answerable, abstained), n in counts.items()
    }


_ABSTENTION_WORDS: Final = {
    (True, False): "answered, as it should",
    (True, True): "abstained, though answerable",
    (False, True): "abstained, as it should",
    (False, False): "answered, though it cannot know",
}
