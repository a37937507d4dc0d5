"""The charts of one case: where its time went, and how chunks moved since the baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pytest_rageval.report.html.markup import Element, element, harmless
from pytest_rageval.report.html.run.values import ChunkView
from pytest_rageval.report.html.svg import circle, label, line
from pytest_rageval.support.text import format_value

_BAR: Final = 600
_HUES: Final = 5
_ROW: Final = 18
_WIDE: Final = 290
_MOVES: Final = (34, 200)
"""X of the two columns of ranks."""


def phase_bar(phases: Sequence[tuple[str, float]], total_ms: float | None) -> Element:
    """Draw the phases of an answer one after the other, and say them in words.

    Args:
        phases: name and milliseconds; they may overlap in truth, and are drawn in sequence.
        total_ms: of the whole request at the client; None: unknown.
    """
    spent = [(name, ms) for name, ms in phases if ms > 0]
    total = "" if total_ms is None else f"total {format_value(total_ms, 'ms')} ms"
    longest = max(total_ms or 0.0, sum(ms for _, ms in spent))
    if not spent:
        return element("p", total, class_="numbers")
    x, bars, keys = 0, "", ""
    for number, (name, ms) in enumerate(spent):
        hue, width = number % _HUES, max(round(_BAR * ms / longest), 1)
        bars += f'<rect x="{x}" width="{width}" height="12" class="p{hue}"/>'
        keys += f'<span class="k{hue}">{harmless(name)} {format_value(ms, "ms")} ms</span>'
        x += width
    # The words under the chart say the same. Written out, as a page has thousands.
    chart = f'<svg aria-hidden="true" viewBox="0 0 {_BAR} 12">{bars}</svg>'
    return Element(f'<div class="times">{chart}<p class="numbers">{keys} {total}</p></div>')


def rank_moves(old: Sequence[ChunkView], new: Sequence[ChunkView]) -> Element:
    """Draw a line from the rank of each chunk in the baseline to its rank now."""
    height = _ROW * max(len(old), len(new), 1) + 24
    left, right = _MOVES
    parts = [
        label(left, 12, "baseline", "axis", "middle"),
        label(right, 12, "now", "axis", "middle"),
    ]
    for chunk in old:
        rank = chunk.elsewhere
        parts += _end(chunk, left, -10, "" if rank else "gone", 10)
        if rank:
            style = f"move {'gold' if chunk.golds else 'plain'}"
            parts.append(line(left + 5, _y(chunk.rank), right - 5, _y(rank), style))
    for chunk in new:
        parts += _end(chunk, right, 10, "" if chunk.elsewhere else "new", 34)
    words = "; ".join(_moved(old, new)) or "the same"
    return element(
        "svg",
        element("title", f"Ranks of the chunks in the baseline and now: {words}"),
        *parts,
        role="img",
        viewBox=f"0 0 {_WIDE} {height}",
        width=_WIDE,
        height=height,
        class_="chart moves",
    )


def _moved(old: Sequence[ChunkView], new: Sequence[ChunkView]) -> Iterator[str]:
    for chunk in old:
        rank = chunk.elsewhere
        if rank != chunk.rank:
            yield f"rank {chunk.rank} is {f'now rank {rank}' if rank else 'gone'}"
    yield from (f"rank {chunk.rank} is new" for chunk in new if not chunk.elsewhere)


def _y(rank: int) -> float:
    return 30.0 + _ROW * (rank - 1)


def _end(chunk: ChunkView, x: int, aside: int, word: str, at: int) -> Iterator[Element]:
    """Yield the end of a line: a dot, its rank, and a word."""
    y = _y(chunk.rank)
    yield circle(x, y, 4, f"end {'gold' if chunk.golds else 'plain'}")
    yield label(x + aside, y + 4, str(chunk.rank), "axis", "end" if aside < 0 else "start")
    if word:
        yield label(x + at, y + 4, word, "axis")
