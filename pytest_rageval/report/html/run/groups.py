"""Groups of cases by metric as tables of linked, coloured cells, relative to what is reachable."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from pytest_rageval.analysis.aggregate.table import ScoreTable
from pytest_rageval.analysis.compare.pairs import CasePair
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.report.html.links import cases_link, worst_first
from pytest_rageval.report.html.run.distributions import mean_ceilings
from pytest_rageval.report.html.run.figures import known_metrics, place_on_scale
from pytest_rageval.report.html.run.values import GROUP_KINDS, CaseRow, names_of
from pytest_rageval.report.view.blocks import Cell, Cells, Group, Row, Table, paragraph
from pytest_rageval.report.view.summary import HEADLINE
from pytest_rageval.support.text import format_value
from pytest_rageval.values.numbers import Aggregate, MetricSummary, group_size
from pytest_rageval.values.words import ARROW

GroupChanges = Mapping[tuple[str, str], Mapping[str, float]]
"""By kind and name of a group: change of each metric since the baseline."""
_HEAT_LEVELS: Final = 7
_GROUPS_SHOWN: Final = 20
"""Maximum groups of one kind, the largest: dozens of tags are unreadable as a heat map, and the
list of cases has all of them as filters."""


def heat_maps(
    numbers: Aggregate,
    registry: Registry = BUILT_IN,
    cases: Sequence[CaseRow] = (),
    changes: GroupChanges = MappingProxyType({}),
) -> list[Group]:
    """Return the means of each category, tag, difficulty and turn, all but the first folded.

    Args:
        numbers: of the run.
        registry: the metrics of the run.
        cases: of the run, which say what changed and what is reachable; empty: nothing did, and
            the ends of the scales are.
        changes: of the means since the baseline, from ``group_changes``.
    """
    known = known_metrics(numbers, registry)
    infos = [registry.cases[key] for key in (*HEADLINE, *registry.own_cases) if key in known]
    found: list[Group] = []
    for kind in GROUP_KINDS:
        groups: Mapping[str, Mapping[str, MetricSummary]] = getattr(numbers, f"by_{kind}")
        columns = [
            info
            for info in infos
            if any(info.key in group and group[info.key].n for group in groups.values())
        ]
        if columns:
            found.append(_heat_map(kind, groups, columns, cases, changes, folded=bool(found)))
    return found


def group_changes(pairs: Iterable[CasePair], keys: Collection[str]) -> GroupChanges:
    """Return the mean change of each metric since the baseline, for every group of the new run."""
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
        for kind in GROUP_KINDS:
            for name in names_of(kind, pair.new.first.case):
                group = found.setdefault((kind, name), {})
                for key, gap in gaps:
                    group.setdefault(key, []).append(gap)
    return {
        group: {key: math.fsum(gaps) / len(gaps) for key, gaps in changed.items()}
        for group, changed in found.items()
    }


def _heat_map(
    kind: str,
    groups: Mapping[str, Mapping[str, MetricSummary]],
    columns: Sequence[MetricInfo],
    cases: Iterable[CaseRow],
    changes: GroupChanges,
    *,
    folded: bool,
) -> Group:
    members: dict[str, list[CaseRow]] = {}
    for case in cases:
        for name in names_of(kind, case.record.case):
            members.setdefault(name, []).append(case)
    largest = sorted(groups, key=lambda name: (-group_size(groups[name]), name))[:_GROUPS_SHOWN]
    changed = any(case.flip for name in largest for case in members.get(name, ()))
    rows = [
        _heat_row(
            kind,
            name,
            groups[name],
            columns,
            members.get(name, ()) if changed or cases else (),
            changes.get((kind, name), {}),
            changed=changed,
        )
        for name in sorted(largest)
    ]
    head = (kind, ">cases", *["changed"] * changed, *(f">{info.key}" for info in columns))
    left = len(groups) - len(rows)
    more = f"{left} more groups: the filters and the search of the list of cases find their cases."
    note = [paragraph(more)] if left else []
    return Group(f"By {kind} ({len(rows)})", [*note, Table(head, rows)], folded=folded)


def _heat_row(
    kind: str,
    name: str,
    group: Mapping[str, MetricSummary],
    columns: Iterable[MetricInfo],
    cases: Sequence[CaseRow],
    changes: Mapping[str, float],
    *,
    changed: bool,
) -> Row:
    bounds = mean_ceilings(case.record for case in cases if case.record.counted)
    n = group_size(group)
    flips = []
    for direction in ("worse", "better"):
        if found := len({case.record.nodeid for case in cases if case.flip == direction}):
            link = cases_link(**{kind: name, "flip": direction})
            sign = ARROW[direction != "worse"]
            flips.append(Cell(f"{sign} {found} {direction}", link=link))
    cells = [
        _heat_cell(info, group.get(info.key), n, bounds.get(info.key),
                   cases_link(**{kind: name}, **worst_first(info)), changes.get(info.key, 0.0))
        for info in columns
    ]  # fmt: skip
    return (
        Cell(name, link=cases_link(**{kind: name})),
        n,
        *([Cells(flips)] if changed else []),
        *cells,
    )


def _heat_cell(
    info: MetricInfo,
    found: MetricSummary | None,
    n: int,
    bound: float | None,
    link: str,
    change: float,
) -> Cell:
    if found is None or (mean := found.mean) is None:
        return Cell(None)
    place = place_on_scale(mean, info)
    if place is None or info.direction == "neutral":
        tone = "hn"
    else:
        if bound:
            place = min(place / bound, 1.0)
        good = 1 - place if info.direction == "lower" else place
        tone = f"h{min(int(good * _HEAT_LEVELS), _HEAT_LEVELS - 1)}"
    notes = [] if bound is None else [f"of {bound:.2g}"]
    notes += [] if found.n == n else [f"n {found.n}"]
    shown = f"{change:+.2f}"
    if info.direction != "neutral" and float(shown) != 0:
        better = (change > 0) == (info.direction == "higher")
        notes.append(f"{shown} {ARROW[better]}")
    return Cell(format_value(mean), note=", ".join(notes), link=link, tone=tone)
