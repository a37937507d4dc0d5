"""Columns of all cases, for the scripts of the page: to list, filter, sort and export them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from pytest_rageval.metrics.registry import Registry
from pytest_rageval.report.html.markup import visible
from pytest_rageval.report.html.run.values import CaseRow, CasesView
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord

_QUESTION_CHARS: Final = 300
GROUP_KINDS: Final = ("category", "tag", "difficulty", "turn")
"""Kinds of groups that cases belong to, in the order of display."""


def page_data(cases: CasesView, registry: Registry) -> dict[str, Any]:
    """Return the columns of all cases, each in the order of the list.

    ``case`` is one number for all repeats of a case; ``facets`` holds for each key its names and
    the indices of a case's names; ``metrics`` the values by key, None if absent; ``rank``
    is that of the first gold, from 1, None if none came back or the case has none.
    """
    rows = cases.rows
    places: dict[str, int] = {}
    return {
        "case": [places.setdefault(row.record.nodeid, len(places)) for row in rows],
        "id": [visible(row.case_id) for row in rows],
        "marks": [row.marks for row in rows],
        "anchor": [row.anchor for row in rows],
        "question": [visible((row.question or "")[:_QUESTION_CHARS]) for row in rows],
        "required": [int(row.record.case.required) for row in rows],
        "facets": {key: _facet(map(names, rows)) for key, names in _NAMES.items()},
        "rank": [first_rank(row.record) for row in rows],
        "ms": _rounded([row.record.latency.get("total_ms") for row in rows]),
        "metrics": _metrics([row.record for row in rows], registry),
        "shown": list(cases.columns),
    }


def names_of(kind: str, case: Case) -> Iterable[str]:
    """Return the groups of one kind that a case belongs to."""
    if kind == "tag":
        return dict.fromkeys(case.tags)
    names = {"category": case.category, "difficulty": case.difficulty, "turn": case.turn_group}
    return filter(None, [names[kind]])


def _groups(kind: str, row: CaseRow) -> Iterable[str]:
    return names_of(kind, row.record.case)


_NAMES: Final[Mapping[str, Callable[[CaseRow], Iterable[str]]]] = {
    "outcome": lambda row: row.outcomes,
    "stage": lambda row: (row.stage,),
    **{kind: partial(_groups, kind) for kind in GROUP_KINDS},
    "flip": lambda row: (row.flip,),
    "check": lambda row: row.checks,
}
"""By the key of the address that chooses cases by them, in the order of display."""


def _facet(names: Iterable[Iterable[str]]) -> dict[str, Any]:
    """Return the names by frequency, and for every case the indices of its own."""
    found = [*map(tuple, names)]
    # Most cases share the names of others, so each combination is looked at once.
    shown = {one: [visible(name) for name in one if name] for one in {*found}}
    counts: Counter[str] = Counter()
    for one, n in Counter(found).items():
        for name in shown[one]:
            counts[name] += n
    order = sorted(counts, key=lambda name: (-counts[name], name))
    place = {name: index for index, name in enumerate(order)}
    of = {one: [place[name] for name in own] for one, own in shown.items()}
    return {"names": order, "of": [of[one] for one in found]}


def first_rank(record: CaseRecord) -> int | None:
    """Return the rank, from 1, of the first chunk that matches a gold; None if absent."""
    chunks = record.reply.retrieved_chunks or ()
    return next((rank for rank, one in enumerate(chunks, start=1) if one.matched_golds), None)


def _metrics(records: Sequence[CaseRecord], registry: Registry) -> list[dict[str, Any]]:
    cases = [record.scores.metrics for record in records]
    present = {key for metrics in cases for key, v in metrics.items() if v is not None}
    known = [key for key in registry.cases if key in present]
    infos = registry.cases
    return [
        {
            "key": visible(key),
            "title": visible(infos[key].title if key in infos else key),
            "lower": int(key in infos and infos[key].direction == "lower"),
            "values": _rounded([metrics.get(key) for metrics in cases]),
        }
        for key in (*known, *sorted(present - {*known}))
    ]


def _rounded(values: Sequence[float | None]) -> list[float | int | None]:
    """Return values as short as the page shows them: with six significant digits."""
    # Most cases share a few values, and formatting is slow.
    short = {value: None if value is None else _short(value) for value in {*values}}
    return [short[value] for value in values]


def _short(value: float) -> float | int:
    short = float(f"{value:.6g}")
    return int(short) if short.is_integer() else short
