"""Columns of all cases, for the scripts of the page: to list, filter, sort and export them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from pytest_rageval.metrics.registry import Registry
from pytest_rageval.report.html.markup import visible
from pytest_rageval.report.html.run.values import CaseRow, CasesView
from pytest_rageval.values.record import CaseRecord

_QUESTION_CHARS: Final = 300


def page_data(cases: CasesView, registry: Registry) -> dict[str, Any]:
    """Return the columns of all cases, each in the order of the list.

    ``facets`` holds for each key its names and the indices of a case's names; ``metrics`` the
    values by key, None if there is none; ``rank`` is that of the first gold, from 1, None if none
    came back or the case has none.
    """
    rows = cases.rows
    return {
        "id": [visible(row.case_id) for row in rows],
        "repeat": [row.repeat for row in rows],
        "anchor": [row.anchor for row in rows],
        "question": [visible((row.question or "")[:_QUESTION_CHARS]) for row in rows],
        "required": [int(row.record.required) for row in rows],
        "facets": {key: _facet(map(names, rows)) for key, names in _NAMES.items()},
        "rank": [first_rank(row.record) for row in rows],
        "ms": [_rounded(row.record.latency.get("total_ms")) for row in rows],
        "metrics": _metrics([row.record for row in rows], registry),
        "shown": list(cases.columns),
    }


_NAMES: Final[Mapping[str, Callable[[CaseRow], Sequence[str | None]]]] = {
    "outcome": lambda row: (row.outcome,),
    "stage": lambda row: (row.stage,),
    "category": lambda row: (row.record.category,),
    "tag": lambda row: row.record.tags,
    "difficulty": lambda row: (row.record.difficulty,),
    "flip": lambda row: (row.flip,),
    "check": lambda row: row.checks,
}
"""By the key of the address that chooses cases by them, in the order of display."""
FACETS: Final = tuple(_NAMES)


def _facet(names: Iterable[Sequence[str | None]]) -> dict[str, Any]:
    """Return the names by frequency, and for every case the indices of its own."""
    found = [tuple(visible(name) for name in one if name) for one in names]
    counts: dict[str, int] = {}
    for one in found:
        for name in one:
            counts[name] = counts.get(name, 0) + 1
    order = sorted(counts, key=lambda name: (-counts[name], name))
    place = {name: index for index, name in enumerate(order)}
    return {"names": order, "of": [[place[name] for name in one] for one in found]}


def first_rank(record: CaseRecord) -> int | None:
    """Return the rank, from 1, of the first chunk that matches a gold; None: there is none."""
    chunks = record.retrieved_chunks or ()
    return next((rank for rank, one in enumerate(chunks, start=1) if one.matched_golds), None)


def _metrics(records: Sequence[CaseRecord], registry: Registry) -> list[dict[str, Any]]:
    cases = [record.metrics for record in records]
    present = {key for metrics in cases for key, v in metrics.items() if v is not None}
    known = [key for key in registry.cases if key in present]
    infos = {key: registry.cases[key] for key in known}
    return [
        {
            "key": visible(key),
            "title": visible(infos[key].title if key in infos else key),
            "lower": int(key in infos and infos[key].direction == "lower"),
            "values": [_rounded(metrics.get(key)) for metrics in cases],
        }
        for key in (*known, *sorted(present - {*known}))
    ]


@lru_cache(maxsize=10_000)
def _rounded(value: float | None) -> float | int | None:
    """Return a value as short as the page shows it: six significant digits."""
    if value is None:
        return None
    # Cached: most cases share a few values, and formatting is slow.
    short = float(f"{value:.6g}")
    return int(short) if short.is_integer() else short
