"""Groups of cases by metric as tables of linked, coloured cells, relative to what is reachable."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from pytest_rageval.analysis.compare.pairs import CasePair
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.report.html.run.distributions import mean_ceilings
from pytest_rageval.report.html.run.figures import known_metrics, place_on_scale
from pytest_rageval.report.html.run.links import cases_link, worst_first
from pytest_rageval.report.html.run.overview_values import CountRow, HeatCell, HeatMap, HeatRow
from pytest_rageval.report.html.run.values import CaseRow
from pytest_rageval.report.view.summary import HEADLINE
from pytest_rageval.support.text import format_value
from pytest_rageval.values.numbers import Aggregate, MetricSummary, group_size
from pytest_rageval.values.record import CaseRecord

GroupChanges = Mapping[tuple[str, str], Mapping[str, float]]
"""By kind and name of a group: change of each metric since the baseline."""
_KINDS: Final = ("category", "tag", "difficulty")
_HEAT_LEVELS: Final = 7
_GROUPS_SHOWN: Final = 20
"""Maximum groups of one kind, the largest: dozens of tags are unreadable as a heat map, and the
list of cases has all of them as filters."""


def view_heat_maps(
    numbers: Aggregate,
    registry: Registry = BUILT_IN,
    cases: Sequence[CaseRow] = (),
    changes: GroupChanges = MappingProxyType({}),
) -> tuple[HeatMap, ...]:
    """Show the means of each category, tag and difficulty.

    Args:
        numbers: of the run.
        registry: the metrics of the run.
        cases: of the run, which say what changed and what is reachable; empty: nothing did, and
            the ends of the scales are.
        changes: of the means since the baseline, from ``group_changes``.
    """
    known = known_metrics(numbers, registry)
    infos = [registry.cases[key] for key in (*HEADLINE, *registry.own_cases) if key in known]
    maps = (
        _heat_map(title, kind, groups, infos, _members(kind, cases), changes)
        for title, kind, groups in (
            ("Category", "category", numbers.by_category),
            ("Tag", "tag", numbers.by_tag),
            ("Difficulty", "difficulty", numbers.by_difficulty),
        )
        if groups
    )
    return tuple(found for found in maps if found.rows and found.columns)


def group_changes(pairs: Iterable[CasePair], keys: Collection[str]) -> GroupChanges:
    """Return the mean change of each metric since the baseline, for every group of the new run."""
    from pytest_rageval.analysis.aggregate.scores import ScoreTable

    kept = [*pairs]
    base = ScoreTable.of([pair.base for pair in kept], [*keys])
    new = ScoreTable.of([pair.new for pair in kept], [*keys])
    columns = {key: (base.metric(key).tolist(), new.metric(key).tolist()) for key in keys}
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for at, pair in enumerate(kept):
        gaps = [
            (key, after[at] - before[at])
            for key, (before, after) in columns.items()
            if math.isfinite(before[at]) and math.isfinite(after[at])
        ]
        for kind in _KINDS:
            for name in _names(kind, pair.new.first):
                group = found.setdefault((kind, name), {})
                for key, gap in gaps:
                    group.setdefault(key, []).append(gap)
    return {
        group: {key: math.fsum(gaps) / len(gaps) for key, gaps in changed.items()}
        for group, changed in found.items()
    }


def _members(kind: str, cases: Iterable[CaseRow]) -> dict[str, list[CaseRow]]:
    groups: dict[str, list[CaseRow]] = {}
    for case in cases:
        for name in _names(kind, case.record):
            groups.setdefault(name, []).append(case)
    return groups


def _names(kind: str, record: CaseRecord) -> Iterable[str]:
    if kind == "tag":
        return set(record.case.tags)
    name = record.case.category if kind == "category" else record.case.difficulty
    return () if name is None else (name,)


def _heat_map(
    title: str,
    kind: str,
    groups: Mapping[str, Mapping[str, MetricSummary]],
    infos: Iterable[MetricInfo],
    members: Mapping[str, Sequence[CaseRow]],
    changes: GroupChanges,
) -> HeatMap:
    columns = [
        info
        for info in infos
        if any(info.key in group and group[info.key].n for group in groups.values())
    ]
    largest = sorted(groups, key=lambda name: (-group_size(groups[name]), name))
    rows = tuple(
        _heat_row(kind, name, groups[name], columns, members.get(name, ()), changes)
        for name in sorted(largest[:_GROUPS_SHOWN])
    )
    return HeatMap(
        title=title,
        n_left_out=len(groups) - len(rows),
        columns=tuple((info.key, info.title) for info in columns),
        rows=rows,
        changed=any(row.worse.n or row.better.n for row in rows),
        ceilings=any(cell.bound for row in rows for cell in row.cells),
    )


def _heat_row(
    kind: str,
    name: str,
    group: Mapping[str, MetricSummary],
    columns: Iterable[MetricInfo],
    cases: Sequence[CaseRow],
    changes: GroupChanges,
) -> HeatRow:
    changed = changes.get((kind, name), {})
    bounds = mean_ceilings(case.record for case in cases if case.record.counted)
    worse, better = (
        CountRow(
            label=f"got {direction}",
            n=len({case.record.nodeid for case in cases if case.flip == direction}),
            share="",
            link=cases_link(**{kind: name, "flip": direction}),
        )
        for direction in ("worse", "better")
    )
    return HeatRow(
        name=name,
        n=group_size(group),
        link=cases_link(**{kind: name}),
        worse=worse,
        better=better,
        cells=tuple(
            _heat_cell(
                info,
                group.get(info.key),
                bounds.get(info.key),
                cases_link(**{kind: name}, **worst_first(info)),
                changed.get(info.key, 0.0),
            )
            for info in columns
        ),
    )


def _heat_cell(
    info: MetricInfo, found: MetricSummary | None, bound: float | None, link: str, change: float
) -> HeatCell:
    if found is None or (mean := found.mean) is None:
        return HeatCell(text="-", level="", n=0, bound="", link="")
    place = place_on_scale(mean, info)
    if place is None or info.direction == "neutral":
        level = "hn"
    else:
        if bound:
            place = min(place / bound, 1.0)
        good = 1 - place if info.direction == "lower" else place
        level = f"h{min(int(good * _HEAT_LEVELS), _HEAT_LEVELS - 1)}"
    shown = f"{change:+.2f}"
    changed = "better" if (change > 0) == (info.direction == "higher") else "worse"
    if info.direction == "neutral" or float(shown) == 0:
        shown = changed = ""
    return HeatCell(
        text=format_value(mean),
        level=level,
        n=found.n,
        bound="" if bound is None else f"{bound:.2g}",
        link=link,
        change=shown,
        changed=changed,
    )
