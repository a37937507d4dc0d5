"""Text for a terminal about many runs: what an index took in, and a metric over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_rageval.analysis.compare.settings import shown
from pytest_rageval.analysis.trend import TrendPoint, TrendQuery
from pytest_rageval.metrics.built_in import stored_registry
from pytest_rageval.metrics.registry import unit_of
from pytest_rageval.report.view.blocks import Block, Note, Row, Table, paragraph
from pytest_rageval.report.view.summary import change_text, interval_text
from pytest_rageval.report.wording import of_scale
from pytest_rageval.support.text import clean, format_value, part

_SHOWN_RUNS: Final = 10


def sync_lines(
    index: str, changes: Mapping[str, Sequence[str]], unchanged: Sequence[str]
) -> Iterator[str]:
    """Yield what became of the runs of an index."""
    yield f"index {index}"
    yield (
        f"{len(changes['added'])} added, {len(changes['changed'])} changed, "
        f"{len(unchanged)} unchanged, {len(changes['removed'])} removed"
    )
    for word, names in changes.items():
        yield from (f"{word} {name}" for name in names[:_SHOWN_RUNS])
        if len(names) > _SHOWN_RUNS:
            yield f"{word} {len(names) - _SHOWN_RUNS} more"


def trend_lines(query: TrendQuery, points: Sequence[TrendPoint]) -> Iterator[Block]:
    """Yield the figures of a metric over runs, oldest first, with a line where they break."""
    registry = stored_registry(*(point.run.config for point in points))
    info = registry.info(query.metric)
    better = info.direction if info else "neutral"
    parts = (
        clean(query.metric),
        f"{query.scope} {clean(query.group)}" if query.group else "",
        of_scale(info).strip(),
        "" if better == "neutral" else f"{better} is better",
    )
    yield ((", ".join(filter(None, parts)), "strong"),)
    rows: list[Row | Note] = []
    for point in points:
        if point.breaks:
            names = "; ".join(f"{b.name}: {shown(b.base)} -> {shown(b.new)}" for b in point.breaks)
            text = f"--- {clean(names, 300)} (above and below do not compare)"
            rows.append(paragraph(text, "warn"))
        rows.append(_point_row(query, point))
    headings = ("run", "when", ">n", ">value", "interval", ">change", "tags")
    yield Table(headings, rows, optional=("when", "interval"))


def _point_row(query: TrendQuery, point: TrendPoint) -> Row:
    run, figure = point.run, point.run.figure
    n = "-" if figure is None or figure.n is None else str(figure.n)
    interval = interval_text(figure.low, figure.high) if figure else "-"
    change = "" if point.delta is None else change_text(query.metric, point.delta)
    changed = part("(changed: {})", ", ".join(point.changed))
    partial = "(partial)" if run.partial else ""
    rest = " ".join(filter(None, (", ".join(run.tags), partial, changed)))
    value = format_value(point.value, unit_of(query.metric))
    when = f"{run.ran_at:%Y-%m-%d %H:%M}"
    return run.run_id, when, n, value, interval, change, rest
