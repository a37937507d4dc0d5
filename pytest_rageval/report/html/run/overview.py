"""The first screen of the page: what the run is of, what is new, what failed, what to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup, case_names, group_repeats
from pytest_rageval.analysis.aggregate.operational import group_errors
from pytest_rageval.analysis.compare.flips import CaseFlip
from pytest_rageval.analysis.two_runs import RunComparison
from pytest_rageval.metrics.built_in import stored_registry
from pytest_rageval.report.explain.verdict import stage_in_words, stage_of
from pytest_rageval.report.html.charts import CountRow, stacked_bar
from pytest_rageval.report.html.links import cases_link
from pytest_rageval.report.html.markup import Element
from pytest_rageval.report.html.parts import Links, Part, parts
from pytest_rageval.report.html.run.attention import (
    CaseToRead,
    check_rules,
    erred_cases,
    worth_reading,
)
from pytest_rageval.report.html.run.distributions import share_text
from pytest_rageval.report.html.run.figures import (
    CHANGE_STATUS,
    CHECK_COLUMNS,
    LATENCY,
    Figure,
    case_cell,
    check_rows,
    limit_text,
    numbers_of,
    p95_change,
    percentiles,
)
from pytest_rageval.report.html.run.trend import trend_spark
from pytest_rageval.report.html.run.values import CasesView, ReportOptions
from pytest_rageval.report.view.blocks import Block, Cell, Cells, Command, Fact, Group, Row, Table
from pytest_rageval.report.view.gate import headline_facts
from pytest_rageval.report.view.summary import change_text
from pytest_rageval.support.text import clean, counted, part
from pytest_rageval.values.headline import Headline
from pytest_rageval.values.run import NO_CONFIG, StoredRun

_TILES: Final = 6
_ASPECTS: Final = (
    ("hit_at_k", "recall_at_k", "doc_hit_at_k"),
    ("correctness", "key_fact_recall"),
    ("groundedness", "claim_support_rate"),
    ("abstention_accuracy", "over_abstention_rate"),
)
"""Metrics of the first tiles: of each aspect the first that the run has."""
_FILL: Final = ("recall_at_k", "mrr", "recall_all_at_k", "ndcg_at_k", "attribution_recall")
_OUTCOMES: Final = ("error", "missed", "flawed", "flaky", "unchecked", "passed")
_SHADES: Final = 8
"""Colours of stages, which words repeat."""
_MESSAGE_CHARS: Final = 600
_CASES_NAMED: Final = 10
_CAUSES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One figure of the first screen."""

    key: str
    title: str
    value: str
    unit: str
    detail: str
    """Interval and number of cases."""
    status: str
    """Worst state of its limits: ``fail``, ``warn``, ``pass``; empty: it has none."""
    limit: str
    """The limit that decides the state."""
    change: Cell | None
    """Since the baseline."""
    spark: Element | None
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """All cases by one property, as a bar of linked parts."""

    title: str
    chart: Element
    rows: Sequence[CountRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstScreen:
    """First screen of the page."""

    made: Sequence[Part]
    """Date, commit, branch, target, k and judge."""
    news: Sequence[Part]
    """The headline, and the next command."""
    changes: Sequence[CountRow]
    """Cases that are worse or better than in the baseline."""
    compared: bool
    failed: Sequence[Part]
    """Causes of errors and failed checks."""
    others: Sequence[Part]
    """The other checks."""
    tiles: Sequence[Tile]
    bars: Sequence[Bar]
    meanings: Sequence[tuple[str, str]]
    """Words of the bars, each with a sentence."""
    reading: Sequence[CaseToRead]


def first_screen(
    run: StoredRun,
    figures: Sequence[Figure],
    cases: CasesView,
    baseline: RunComparison | None,
    history: Sequence[StoredRun],
    links: Links,
    options: ReportOptions,
) -> FirstScreen:
    """Compute the first screen.

    Args:
        run: on the page, with its numbers.
        figures: its means.
        cases: what did not pass first.
        baseline: the comparison with it; None if absent.
        history: the last runs, oldest first.
        links: anchors of the cases by their shortest name.
        options: extent of the page.
    """
    registry = stored_registry(run.config)
    filters = {name for row in cases.rows for name in row.checks}
    erred = erred_cases(check_rules(run.checks, registry), run.records)
    anchors = {name: link.removeprefix("#") for name, link in links.items()}
    failed, others = check_rows(run.checks, anchors, filters, erred)
    errors = [*_error_rows(run, anchors, redact=options.redact)]
    rows = [row for row in cases.rows if row.record.counted] or cases.rows
    groups = group_repeats(row.record for row in rows)
    flips = () if baseline is None else baseline.comparison.flips
    headline = Headline() if run.gate is None else run.gate.headline
    headline = headline if baseline is None else baseline.headline
    news = news_blocks(headline, run.run_id, redact=options.redact)
    return FirstScreen(
        made=[*parts(made_facts(run))],
        news=[*parts(news, links)],
        changes=[*_changes(flips)],
        compared=baseline is not None,
        failed=[*parts([Table(CHECK_COLUMNS, [*errors, *failed])], title="What failed")],
        others=[*parts(_others(others, opened=not failed and not errors))],
        tiles=[*_tiles(run, figures, baseline, history)],
        bars=[*_bars(groups)],
        meanings=_meanings(groups),
        reading=worth_reading(rows, flips, redact=options.redact),
    )


def made_facts(run: StoredRun) -> Iterator[Fact]:
    """Yield when, from which code, of which target and with which judge a run was made."""
    config, git = run.config, run.config.git
    at = (config.timestamp or "")[:16].replace("T", " ")
    yield Fact("Started", f"{at} UTC" if (config.timestamp or "").endswith("+00:00") else at)
    if git.commit:
        dirty = ", with uncommitted changes" if git.dirty else ""
        yield Fact("Commit", git.commit[:7] + dirty)
    yield Fact("Branch", git.branch or "")
    yield Fact("Target", ", ".join(config.asked))
    yield Fact("Tier", config.settings.tier or "")
    yield Fact("k", "" if config is NO_CONFIG else str(config.settings.k))
    yield Fact("Judge", "off" if run.judge == "none" else run.judge or "")


def news_blocks(headline: Headline, run_id: str, *, redact: bool = False) -> Iterator[Block]:
    """Yield what is new, the pattern that the failing cases share, and the next command.

    Args:
        headline: of a run.
        run_id: its id.
        redact: leave out text of the target, and names of documents and folders.
    """
    shown = headline.without_names if redact else headline
    yield from headline_facts(shown, public=redact)
    if headline.worst and clean(headline.worst) == headline.worst:
        yield Command("next", f"rageval explain {run_id} {headline.worst}")


def _changes(flips: Sequence[CaseFlip]) -> Iterator[CountRow]:
    for direction in ("worse", "better"):
        if n := sum(flip.direction == direction for flip in flips):
            link = cases_link(flip=direction)
            yield CountRow(label=f"got {direction}", n=n, share="", link=link, style=direction)


def _error_rows(run: StoredRun, anchors: Mapping[str, str], *, redact: bool) -> Iterator[Row]:
    """Yield the errors of the target by cause; redacted without its words."""
    groups = group_errors(run.whole(one) for one in run.records if one.error)
    names = case_names(run.records) if groups else {}
    for group in groups[:_CAUSES]:
        cases = [names[record.nodeid] for record in group.records]
        everything = Cell("all its cases", link=cases_link(stage=group.kind))
        named = [case_cell(name, anchors) for name in cases[:_CASES_NAMED]]
        message = group.label if redact else group.message[:_MESSAGE_CHARS]
        what = f"{group.kind} in {counted(len(cases), 'case')}"
        yield Cell("error", status="bad"), what, message, Cells([*named, everything])
    if rest := len(groups) - _CAUSES:
        if rest > 0:
            link = cases_link(outcome="error")
            yield Cell("error", status="bad"), f"{rest} more causes", "", Cell("all", link=link)


def _others(rows: Sequence[Row], *, opened: bool) -> Iterator[Block]:
    if rows:
        found = Counter(str(row[0].value) for row in rows if isinstance(row[0], Cell))
        counts = ", ".join(f"{n} {word}" for word, n in found.items())
        warned = "warn" in found
        title = f"{counted(len(rows), 'other check')}: {counts}"
        yield Group(title, [Table(CHECK_COLUMNS, rows)], folded=not (opened and warned))


# --- tiles -------------------------------------------------------------------------------------


def _tiles(
    run: StoredRun,
    figures: Sequence[Figure],
    baseline: RunComparison | None,
    history: Sequence[StoredRun],
) -> Iterator[Tile]:
    by_key = {one.key: one for one in figures if one.found.n}
    aspects = [next((key for key in names if key in by_key), "") for names in _ASPECTS]
    failing = [k for k, one in by_key.items() if any(r.status == "fail" for r in one.checks)]
    own = [k for k, one in by_key.items() if one.info and not one.info.built_in and one.checks]
    latency = run.numbers.latency
    timed = latency.p50_ms is not None and latency.p95_ms is not None
    # Failing ones are never crowded out; the time of the whole takes one place.
    wanted = dict.fromkeys([*aspects, *failing, *own, *_FILL])
    present = [key for key in wanted if key in by_key]
    first = sorted(present, key=lambda key: key not in failing)[: _TILES - timed]
    for key in present:
        if key in first:
            yield _tile(by_key[key], baseline, trend_spark(history, key))
    if timed:
        yield _latency_tile(run, baseline, history)


def _tile(one: Figure, baseline: RunComparison | None, spark: Element | None) -> Tile:
    worst = one.checks[0] if one.checks else None
    change = None
    if one.change is not None:
        change = _tile_change(one.verdict, change_text(one.key, one.change.delta), baseline)
    n = f"n {one.found.n}"
    return Tile(
        key=one.key,
        title=one.info.title if one.info else one.key,
        value=one.value,
        unit=one.scale,
        detail=n if one.interval == "-" else f"{one.interval}, {n}",
        status=worst.status if worst else "",
        limit=limit_text(worst) if worst else "",
        change=change,
        spark=spark,
        link=one.link,
    )


def _tile_change(verdict: str, delta: str, baseline: RunComparison | None) -> Cell:
    since = None if baseline is None else baseline.headline.since
    words = f"{verdict} {delta}".strip() + (part(" since {}", since and since.name))
    return Cell(words, status=CHANGE_STATUS.get(verdict, "weak"))


def _latency_tile(
    run: StoredRun, baseline: RunComparison | None, history: Sequence[StoredRun]
) -> Tile:
    latency = run.numbers.latency
    order = ("fail", "warn", "skip", "pass")
    checks = sorted(
        (one for one in run.checks if one.check.metric == LATENCY),
        key=lambda one: order.index(one.status),
    )
    change = None
    if baseline is not None and not baseline.latency_problem:
        time = baseline.comparison.time
        verdict = time.verdict if time else ""
        if delta := p95_change(latency, numbers_of(baseline.base).latency):
            change = _tile_change(verdict, f"p95 {delta}", baseline)
    return Tile(
        key=LATENCY,
        title="Time of a case, p50 / p95",
        value=" / ".join(percentiles(latency)),
        unit="ms",
        detail=f"n {latency.n}",
        status=checks[0].status if checks else "",
        limit=part("p95 {}", [limit_text(one) for one in checks[:1]]),
        change=change,
        spark=trend_spark(history, LATENCY),
        link=cases_link(sort="ms", dir="desc"),
    )


# --- all cases as bars -------------------------------------------------------------------------


def _bars(cases: Sequence[CaseGroup]) -> Iterator[Bar]:
    outcomes = Counter[str](case.outcome for case in cases)
    failed = [case for case in cases if case.outcome != "flaky"]
    stages = Counter(filter(None, (stage_of(case.deciding) for case in failed)))
    shown = [name for name in _OUTCOMES if name in outcomes]
    if shown:
        yield _bar("Outcome", "outcome", {name: outcomes[name] for name in shown}, shown)
    if stages:
        styles = [f"s{place % _SHADES}" for place in range(len(stages))]
        yield _bar("Why cases failed", "stage", dict(stages.most_common()), styles)


def _bar(title: str, key: str, counts: Mapping[str, int], styles: Sequence[str]) -> Bar:
    whole = sum(counts.values())
    rows = [
        CountRow(
            label=name.replace("_", " "),
            n=n,
            share=share_text(n / whole),
            link=cases_link(**{key: name}),
            style=style,
        )
        for (name, n), style in zip(counts.items(), styles, strict=True)
    ]
    return Bar(title=title, chart=stacked_bar(rows), rows=rows)


_MEANINGS: Final[Mapping[str, str]] = {
    "error": "The target gave no answer, so nothing could be scored.",
    "missed": "Retrieval is not as expected, or the answer is wrong about abstaining.",
    "flawed": "Retrieval is as expected, and the answer is not.",
    "flaky": "Some of its repeats pass and others do not, so that one answer says little.",
    "unchecked": "Nothing of the case could be scored, or the judge is unsure of its answer.",
}
"""Outcomes that a reader may not know, in the order in which they are explained."""


def _meanings(cases: Sequence[CaseGroup]) -> list[tuple[str, str]]:
    """Explain the outcomes and failure stages that the bars show."""
    outcomes = {case.outcome for case in cases}
    found: dict[str, str] = {n: text for n, text in _MEANINGS.items() if n in outcomes}
    of_stage = {stage_of(case.deciding): case.deciding for case in cases}
    for stage, _ in Counter(stage_of(case.deciding) for case in cases).most_common():
        if (words := stage_in_words(of_stage[stage])) is not None:
            found[stage.replace("_", " ")] = words.meaning
    return [*found.items()]
