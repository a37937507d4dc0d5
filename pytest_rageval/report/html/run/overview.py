"""The first screen of the page, and the charts below it, from figures and records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup, group_repeats
from pytest_rageval.analysis.compare.metrics import MetricChange
from pytest_rageval.metrics.definitions import stored_registry
from pytest_rageval.report.explain.verdict import stage_in_words, stage_of
from pytest_rageval.report.html.markup import Element
from pytest_rageval.report.html.run.attention import worth_reading
from pytest_rageval.report.html.run.charts import stacked_bar
from pytest_rageval.report.html.run.distributions import share_text
from pytest_rageval.report.html.run.figures import limit_view
from pytest_rageval.report.html.run.links import cases_link
from pytest_rageval.report.html.run.overview_values import (
    Bar,
    ChangesView,
    ChangeView,
    CompareView,
    CountRow,
    LatencyView,
    MetricView,
    OverviewView,
    Tile,
)
from pytest_rageval.report.html.run.panels import (
    abstention_table,
    latency_panel,
    metric_panels,
    rank_panel,
)
from pytest_rageval.report.html.run.trend import trend_spark
from pytest_rageval.report.html.run.values import CasesView
from pytest_rageval.support.text import counted, first_few
from pytest_rageval.values.run import StoredRun

_TILES: Final = 6
_ASPECTS: Final = (
    ("hit_at_k", "recall_at_k", "doc_hit_at_k"),
    ("correctness", "key_fact_recall"),
    ("groundedness", "claim_support_rate"),
    ("abstention_accuracy", "over_abstention_rate"),
)
"""Metrics of the first tiles: of each aspect the first that the run has."""
_FILL: Final = ("recall_at_k", "mrr", "recall_all_at_k", "ndcg_at_k", "attribution_recall")
_OUTCOMES: Final = ("error", "missed", "flawed", "unchecked", "passed")
_WORST_FIRST: Final = {"fail": 0, "warn": 1, "pass": 2}
_LATENCY: Final = "latency_ms.p95"


def view_overview(
    run: StoredRun,
    *,
    metrics: Sequence[MetricView],
    latency: Sequence[LatencyView],
    cases: CasesView,
    compare: CompareView | None,
    history: Sequence[StoredRun],
    time: MetricChange | None = None,
) -> OverviewView:
    """Compute what the overview shows besides its tables.

    Args:
        run: on the page.
        metrics: its means.
        latency: its times by phase, the whole first.
        cases: what did not pass first.
        compare: with the baseline; None: there is none.
        history: the last runs, oldest first.
        time: change of the mean time of a call since the baseline; None: not compared.
    """
    registry = stored_registry(run.config)
    shown = [row.key for row in metrics if row.headline]
    # Those of documents say little more where sections are compared.
    twice = {f"doc_{key}" for key in shown}
    others = [row.key for row in metrics if not row.headline and row.key not in twice]
    reviewed = [record for record in run.records if record.counted]
    panels = [*metric_panels(reviewed, registry, [*shown, *others])]
    rows = [row for row in cases.rows if row.record.counted] or cases.rows
    groups = group_repeats(row.record for row in rows)
    return OverviewView(
        tiles=tuple(_tiles(run, metrics, latency, history, time)),
        bars=tuple(_bars(groups)),
        meanings=_meanings(groups),
        changes=None if compare is None else _changes(compare, metrics),
        reading=worth_reading(rows, () if compare is None else compare.flips),
        panels=tuple(one for one in panels if one.key in shown),
        more_panels=tuple(one for one in panels if one.key not in shown),
        latency=latency_panel(reviewed, next(iter(latency), None)),
        ranks=rank_panel(reviewed),
        abstention=abstention_table(reviewed),
        repeated=any(record.repeat for record in reviewed),
    )


# --- tiles -------------------------------------------------------------------------------------


def _tiles(
    run: StoredRun,
    metrics: Sequence[MetricView],
    latency: Sequence[LatencyView],
    history: Sequence[StoredRun],
    time: MetricChange | None,
) -> Iterator[Tile]:
    by_key = {row.key: row for row in metrics if row.n}
    aspects = [next((key for key in names if key in by_key), "") for names in _ASPECTS]
    failing = [key for key, row in by_key.items() if "fail" in {one.status for one in row.limits}]
    own = [row.key for row in metrics if row.own and row.limits and row.n]
    # Failing ones are never crowded out; the time of the whole takes one place.
    wanted = dict.fromkeys([*aspects, *failing, *own, *_FILL])
    present = [key for key in wanted if key in by_key]
    first = sorted(present, key=lambda key: key not in failing)[: _TILES - bool(latency)]
    for key in present:
        if key in first:
            yield _tile(by_key[key], trend_spark(history, key))
    if latency:
        yield _latency_tile(run, latency[0], history, time)


def _tile(row: MetricView, spark: Element | None) -> Tile:
    limits = sorted(row.limits, key=lambda one: _WORST_FIRST.get(one.status, 3))
    return Tile(
        key=row.key,
        title=row.title,
        value=row.value,
        unit=row.scale,
        detail=f"{row.interval}, n {row.n}" if row.interval != "-" else f"n {row.n}",
        status=limits[0].status if limits else "",
        limit=limits[0].text if limits else "",
        change=row.change,
        spark=spark,
        link=row.link,
    )


def _latency_tile(
    run: StoredRun,
    whole: LatencyView,
    history: Sequence[StoredRun],
    time: MetricChange | None,
) -> Tile:
    change = ChangeView(
        base="", delta=f"p95 {whole.change}", verdict=time.verdict if time else "", n=whole.n
    )
    checks = [one for one in run.checks if one.check.metric == _LATENCY]
    limits = sorted(map(limit_view, checks), key=lambda one: _WORST_FIRST.get(one.status, 3))
    return Tile(
        key=_LATENCY,
        title="Time of a case, p50 / p95",
        value=f"{whole.p50} / {whole.p95}",
        unit="ms",
        detail=f"n {whole.n}",
        status=limits[0].status if limits else "",
        limit=f"p95 {limits[0].text}" if limits else "",
        change=change if whole.change else None,
        spark=trend_spark(history, _LATENCY),
        link=cases_link(sort="ms", dir="desc"),
    )


# --- all cases as bars -------------------------------------------------------------------------


def _bars(cases: Sequence[CaseGroup]) -> Iterator[Bar]:
    outcomes = Counter[str](case.outcome for case in cases)
    stages = Counter(filter(None, (stage_of(case.deciding) for case in cases)))
    shown = [name for name in _OUTCOMES if name in outcomes]
    if shown:
        yield _bar("Outcome", "outcome", {name: outcomes[name] for name in shown}, shown)
    if stages:
        styles = [f"s{place % _SHADES}" for place in range(len(stages))]
        yield _bar("Why cases failed", "stage", dict(stages.most_common()), styles)


_MEANINGS: Final[Mapping[str, str]] = {
    "error": "The target gave no answer, so nothing could be scored.",
    "missed": "Retrieval is not as expected, or the answer is wrong about abstaining.",
    "flawed": "Retrieval is as expected, and the answer is not.",
    "unchecked": "Nothing of the case could be scored, or the judge is unsure of its answer.",
}
"""Outcomes that a reader may not know, in the order in which they are explained."""


def _meanings(cases: Sequence[CaseGroup]) -> tuple[tuple[str, str], ...]:
    """Explain the outcomes and failure stages that the bars show."""
    outcomes = {case.outcome for case in cases}
    found: dict[str, str] = {n: text for n, text in _MEANINGS.items() if n in outcomes}
    of_stage = {stage_of(case.deciding): case.deciding for case in cases}
    for stage, _ in Counter(stage_of(case.deciding) for case in cases).most_common():
        if (words := stage_in_words(of_stage[stage])) is not None:
            found[stage.replace("_", " ")] = words.meaning
    return tuple(found.items())


_SHADES: Final = 8
"""Colours of stages, which words repeat."""
_NAMED: Final = 3


def _bar(title: str, key: str, counts: Mapping[str, int], styles: Sequence[str]) -> Bar:
    whole = sum(counts.values())
    rows = tuple(
        CountRow(
            label=name.replace("_", " "),
            n=n,
            share=share_text(n / whole),
            link=cases_link(**{key: name}),
        )
        for name, n in counts.items()
    )
    return Bar(title=title, chart=stacked_bar(rows, styles), rows=rows, styles=tuple(styles))


# --- changes -----------------------------------------------------------------------------------


def _changes(compare: CompareView, metrics: Sequence[MetricView]) -> ChangesView:
    by_verdict = {
        verdict: [
            f"{row.key} {row.change.delta}"
            for row in metrics
            if row.headline and row.change is not None and row.change.verdict == verdict
        ]
        for verdict in ("worse", "beyond", "better")
    }
    words = {"worse": "Worse", "beyond": "Past a limit", "better": "Better"}
    clauses = [f"{words[v]}: {first_few(keys, _NAMED)}" for v, keys in by_verdict.items() if keys]
    worse, better = (
        sum(flip.direction == direction for flip in compare.flips)
        for direction in ("worse", "better")
    )
    return ChangesView(
        run_id=compare.run_id,
        worse=worse,
        better=better,
        worse_link=cases_link(flip="worse"),
        better_link=cases_link(flip="better"),
        cases=counted(compare.n_paired, "case") if compare.n_paired else "",
        metrics=". ".join(clauses),
        settings=first_few([name for name, _, _ in compare.facts], _NAMED),
    )
