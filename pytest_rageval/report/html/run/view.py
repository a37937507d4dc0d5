"""All values of the page, computed from a run, its baseline and its history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pytest_rageval.analysis.aggregate.case_groups import case_names
from pytest_rageval.analysis.aggregate.run import warnings_of_target
from pytest_rageval.analysis.review import ReviewFindings
from pytest_rageval.analysis.trust.reliability import (
    reliability_lines,
    summarise_spot_checks,
)
from pytest_rageval.analysis.two_runs import CheckedComparison, RunComparison
from pytest_rageval.metrics.built_in import stored_registry
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.report.html.parts import Links, parts
from pytest_rageval.report.html.run.cases import view_cases
from pytest_rageval.report.html.run.figures import (
    Figure,
    beyond_limits,
    costs_table,
    figures_of,
    metrics_table,
    numbers_of,
    times_table,
)
from pytest_rageval.report.html.run.groups import group_changes, heat_maps
from pytest_rageval.report.html.run.overview import FirstScreen, first_screen
from pytest_rageval.report.html.run.panels import (
    OverviewSection,
    abstention_panel,
    context_panel,
    latency_panel,
    metric_panels,
    rank_panel,
)
from pytest_rageval.report.html.run.trend import view_trend
from pytest_rageval.report.html.run.values import CasesView, ReportOptions, page_data
from pytest_rageval.report.view.blocks import Block, Fact, Table, paragraph
from pytest_rageval.report.view.comparison import view_of_comparison
from pytest_rageval.report.view.judging import review_blocks
from pytest_rageval.report.view.sections import section_groups
from pytest_rageval.report.view.summary import concurrency_text
from pytest_rageval.report.wording import chunk_sentences, rules_text
from pytest_rageval.runs.read import CaseKey, case_key
from pytest_rageval.support.text import counted, part
from pytest_rageval.values.numbers import JudgeReliability
from pytest_rageval.values.run import StoredRun

_LEGEND_OF_METRICS: Final = (
    "Bar and dot: mean, on the metric's own scale. Line through the dot: 95% interval. Upright "
    "mark: limit. A metric's name leads to its cases, sorted by it."
)
_LEGEND_OF_CHANGES: Final = (
    " Hollow dot: baseline. worse, better: the one-sided interval of the paired change excludes 0; "
    "same: it lies within the margin; unclear: more cases are needed; equal: no case differs."
)
_LEGEND_OF_GROUPS: Final = (
    "Mean of each metric, from orange (worst) to blue (best) on its scale. Small print: "
    "cases scored, if not all (n 3); the most that these cases can reach with one chunk for each "
    "gold (of 0.2), to which the colour is relative; the change since the baseline. A cell leads "
    "to its cases."
)
_LEGEND_OF_REVIEWS: Final = (
    "Categories of what readers found wrong, by our failure stage, and how often they contradict "
    "that stage. Shares count the answers that were drawn at random."
)
_LEGEND_OF_TREND: Final = (
    "The last {n} runs that asked the whole set, oldest first. Upright lines: intervals. "
    "Level line: limit. Square: its gate failed. Ring: baseline. A dashed line marks a change of "
    "something that the metric depends on, such as the dataset, k or the judge: figures on its two "
    "sides are not comparable. A point leads to the page of its run."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportView:
    """The whole page."""

    run_id: str
    verdict: str
    """``pass``, ``fail``, ``incomplete``, ``not_evaluated`` or ``unknown``."""
    reason: str
    """Text beside the verdict."""
    first: FirstScreen
    sections: Sequence[OverviewSection]
    notes: Sequence[str]
    cases: CasesView
    data: Mapping[str, Any]
    """Columns of all cases, for the scripts."""
    redacted: bool

    @property
    def verdict_word(self) -> str:
        """The verdict in a word or two."""
        return _VERDICT_WORDS[self.verdict]


_VERDICT_WORDS: Final = {
    "pass": "PASS",
    "fail": "FAIL",
    "incomplete": "INCOMPLETE",
    "not_evaluated": "NOT EVALUATED",
    "unknown": "NO VERDICT",
}


def view_report(
    run: StoredRun,
    *,
    baseline: RunComparison | None = None,
    history: Sequence[StoredRun] = (),
    options: ReportOptions | None = None,
    reviews: ReviewFindings | None = None,
) -> ReportView:
    """Compute everything that the page shows.

    Args:
        run: shown on the page.
        baseline: the run to compare with and the comparison; None: none.
        history: the last runs of the results folder with this one, oldest first; their records
            are not needed.
        options: extent of the page.
        reviews: what readers of its answers found; None: nobody has read them.
    """
    chosen = options or ReportOptions()
    run = replace(run, aggregate=numbers_of(run))
    cases = view_cases(run, chosen, baseline)
    registry = stored_registry(run.config)
    past = beyond_limits(run, baseline)
    figures = figures_of(run.numbers, run.checks, baseline, registry, past)
    links = case_links(run, cases.anchors)
    return ReportView(
        run_id=run.run_id,
        verdict=_shown_verdict(run),
        reason=_undecided(run) if run.gate is None else run.gate.reason or run.sentence,
        first=first_screen(run, figures, cases, baseline, history, links, chosen),
        sections=[
            *_sections(run, figures, cases, baseline, history, links, chosen),
            *_read_by_people(reviews, chosen),
        ],
        notes=tuple(_notes(run, chosen, baseline)),
        cases=cases,
        data=page_data(cases, registry),
        redacted=chosen.redact,
    )


def case_links(run: StoredRun, anchors: Mapping[CaseKey, str]) -> Links:
    """Return the address of each case on its page, by its shortest name; the first of repeats."""
    names = case_names(run.records)
    found = reversed([*anchors.items()])
    return {names[f"{file}::{name}"]: f"#{anchor}" for (file, name, _), anchor in found}


def _shown_verdict(run: StoredRun) -> str:
    if run.verdict == "fail" and run.gate is not None and not run.gate.complete:
        return "incomplete"
    return run.verdict or "unknown"


def _undecided(run: StoredRun) -> str:
    recorded = len({case_key(record)[:2] for record in run.records})
    # How many of them -k or a shard selects is not stored before the end.
    in_files = run.config.set.n_asked
    if recorded < in_files:  # it is under way, or was killed
        cases = counted(recorded, "case")
        return f"The run has not ended: {cases} recorded, of {in_files} in its files."
    return "The run holds no decision of the gate."


# --- sections ----------------------------------------------------------------------------------


def _sections(
    run: StoredRun,
    figures: Sequence[Figure],
    cases: CasesView,
    baseline: RunComparison | None,
    history: Sequence[StoredRun],
    links: Links,
    options: ReportOptions,
) -> Iterator[OverviewSection]:
    registry = stored_registry(run.config)
    if baseline is not None:
        yield OverviewSection(
            id="compare",
            title=f"Compared with {baseline.base.run_id}",
            parts=[*parts(compared_blocks(baseline, options), links, public=options.redact)],
        )
    if figures:
        table = metrics_table(figures, compared=baseline is not None)
        yield OverviewSection(
            id="metrics",
            title="Metrics",
            legend=_LEGEND_OF_METRICS + (_LEGEND_OF_CHANGES if baseline else ""),
            parts=[*parts([table], title="Metrics")],
        )
    pairs = [] if baseline is None else baseline.comparison.pairing.pairs
    keys = [one.key for one in figures if one.change is not None]
    changes = group_changes(pairs, keys) if pairs and keys else {}
    if maps := heat_maps(run.numbers, registry, cases.rows, changes):
        yield OverviewSection(
            id="groups", title="By group", legend=_LEGEND_OF_GROUPS, parts=[*parts(maps)]
        )
    yield from _spread(run, figures, registry)
    if not options.redact:  # a section may quote documents
        for number, one in enumerate(section_groups(run.sections)):
            body = [*parts(one.blocks, title=one.title)]
            yield OverviewSection(id=f"own-{number}", title=one.title, parts=body)
    base = "" if baseline is None else baseline.base.run_id
    if trend := view_trend(history, run.run_id, options.address, base):
        yield OverviewSection(
            id="trend",
            title="Trend",
            legend=_LEGEND_OF_TREND.format(n=trend.n),
            charts=trend.charts,
            parts=[*parts([trend.table], title="Trend")],
            folded="As a table",
        )
    yield _time_and_cost(run, baseline)
    yield OverviewSection(id="made", title="Run details", parts=[*parts(_facts(run))])


def _read_by_people(
    found: ReviewFindings | None, options: ReportOptions
) -> Iterator[OverviewSection]:
    if found is None or not found.figures:
        return
    if options.redact:  # readers and their categories have names
        unnamed = [
            replace(one, reviewer=f"reader {n}", categories=())
            for n, one in enumerate(found.figures, 1)
        ]
        found = replace(found, figures=tuple(unnamed), agreement=())
    blocks = [*review_blocks(found)]
    yield OverviewSection(
        id="reviews",
        title="Read by people",
        legend=_LEGEND_OF_REVIEWS,
        parts=[*parts(blocks, title="Read by people")],
    )


def compared_blocks(found: RunComparison, options: ReportOptions) -> Iterator[Block]:
    """Yield a comparison as every face shows it, without its metrics."""
    if options.redact:
        found = replace(found, headline=found.headline.without_names)
    view = view_of_comparison(CheckedComparison(found=found))
    yield paragraph("".join(text for text, _ in view.title), "strong")
    for block in view.blocks:
        # The table of metrics below has these changes on their scales, with the limits.
        if isinstance(block, Table) and block.columns[0] == "metric":
            continue
        yield block


def _spread(
    run: StoredRun, figures: Sequence[Figure], registry: Registry
) -> Iterator[OverviewSection]:
    shown = [one.key for one in figures if one.headline]
    # Those of documents say little more where sections are compared.
    twice = {f"doc_{key}" for key in shown}
    others = [one.key for one in figures if not one.headline and one.key not in twice]
    reviewed = [record for record in run.records if record.counted]
    panels = [*metric_panels(reviewed, registry, [*shown, *others])]
    made = (rank_panel(reviewed), abstention_panel(reviewed), context_panel(reviewed))
    first = [one for one in made if one]
    repeats = " A case that was asked several times counts as often."
    if panels or first:
        yield OverviewSection(
            id="spread",
            title="Distributions",
            legend="Every bar leads to its cases. Dashed line: mean."
            + repeats * any(record.repeat for record in reviewed),
            panels=[*first, *(one for one in panels if one.key in shown)],
            more=[one for one in panels if one.key not in shown],
        )


def _time_and_cost(run: StoredRun, baseline: RunComparison | None) -> OverviewSection:
    reviewed = [record for record in run.records if record.counted]
    panel = latency_panel(reviewed, run.numbers.latency)
    in_flight = run.config.concurrency
    measured = part("Measured{}", in_flight and concurrency_text(in_flight))
    if in_flight == 0:
        measured = "Replayed: no time is that of the target"
    problem = "" if baseline is None else baseline.latency_problem
    tables = (
        times_table(run.numbers, baseline),
        costs_table(run, None if baseline is None else baseline.base),
    )
    return OverviewSection(
        id="time",
        title="Time and cost",
        legend=". ".join(filter(None, (measured, problem))),
        panels=[panel] if panel else (),
        parts=[one for table in tables for one in parts([table])],
    )


def _facts(run: StoredRun) -> Iterator[Fact]:
    config = run.config
    facts = {
        "Answers by": config.target_models.get("llm_model"),
        "Embeddings by": config.target_models.get("embedding_model"),
        "Index": config.index_build_version,
        "Dataset": config.dataset_hash,
        "Configuration": config.config_hash,
        "Commit": config.git.commit,
        "pytest-rageval": config.versions.get("pytest-rageval"),
        "Evidence by": rules_text(run.numbers.matching),
    }
    yield from (Fact(name, str(found)) for name, found in facts.items() if found)


def _notes(run: StoredRun, options: ReportOptions, baseline: RunComparison | None) -> Iterator[str]:
    yield from run.notes
    decided = run.baseline.run_id
    if baseline and not run.baseline.problem and decided not in {None, baseline.base.run_id}:
        yield f"The checks of changes were decided against {decided}, another run than this page's."
    yield from filter(None, [run.saturation])
    yield from reliability_lines(JudgeReliability(spot_check=summarise_spot_checks(run.records)))
    yield from chunk_sentences(run.records, run.settings, run.config.asked)
    if not options.redact:  # they include the target's notes about its index
        yield from run.numbers.warnings
        coverages = (record.reply.indexing_coverage for record in reversed(run.records))
        yield from warnings_of_target([coverage for coverage in coverages if coverage][:1])
