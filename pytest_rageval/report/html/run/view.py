"""All values of the page, computed from a run, its baseline and its history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import BADNESS, case_names
from pytest_rageval.analysis.aggregate.run import warnings_of_target
from pytest_rageval.analysis.aggregate.target_faults import group_errors
from pytest_rageval.analysis.compare.flips import CaseFlip
from pytest_rageval.analysis.compare.metrics import MetricChange
from pytest_rageval.analysis.compare.pairs import LeftOutReason
from pytest_rageval.analysis.compare.settings import shown
from pytest_rageval.analysis.trust.reliability import (
    reliability_lines,
    summarise_spot_checks,
)
from pytest_rageval.analysis.two_runs import RunComparison, past_limits, verdict_word
from pytest_rageval.metrics.definitions import stored_registry
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.report.html.run.cases import view_cases
from pytest_rageval.report.html.run.charts import mean_bar
from pytest_rageval.report.html.run.check_cases import check_rules, erred_cases
from pytest_rageval.report.html.run.data import page_data
from pytest_rageval.report.html.run.figures import (
    numbers_of,
    place_on_scale,
    view_checks,
    view_cost,
    view_latency,
    view_metrics,
)
from pytest_rageval.report.html.run.groups import GroupChanges, group_changes, view_heat_maps
from pytest_rageval.report.html.run.links import cases_link
from pytest_rageval.report.html.run.overview import view_overview
from pytest_rageval.report.html.run.overview_values import (
    ChangeView,
    CompareView,
    ErrorView,
    FlipView,
)
from pytest_rageval.report.html.run.sections import view_sections
from pytest_rageval.report.html.run.trend import view_trend
from pytest_rageval.report.html.run.values import ReportOptions, ReportView
from pytest_rageval.report.matching import rules_text
from pytest_rageval.report.target_faults import chunk_sentences
from pytest_rageval.report.view.summary import change_text
from pytest_rageval.runs.read import CaseKey, case_key
from pytest_rageval.support.text import counted, format_value
from pytest_rageval.values.config import NO_CONFIG
from pytest_rageval.values.numbers import JudgeReliability
from pytest_rageval.values.run import StoredRun


def view_report(
    run: StoredRun,
    *,
    baseline: RunComparison | None = None,
    history: Sequence[StoredRun] = (),
    options: ReportOptions | None = None,
) -> ReportView:
    """Compute everything that the page shows.

    Args:
        run: shown on the page.
        baseline: the run to compare with and the comparison; None: none.
        history: the last runs of the results folder with this one, oldest first; their records
            are not needed.
        options: extent of the page.
    """
    chosen = options or ReportOptions()
    numbers = numbers_of(run)
    run = replace(run, aggregate=numbers)
    cases = view_cases(run, chosen, baseline)
    names = case_names(run.records)
    first = _first_anchors(cases.anchors)
    anchors = {names[f"{file}::{name}"]: anchor for (file, name), anchor in first.items()}
    filters = {name for row in cases.rows for name in row.checks}
    registry = stored_registry(run.config)
    erred = erred_cases(check_rules(run.checks, registry), run.records)
    failed, others = view_checks(run.checks, anchors, filters, erred)
    changes, by_group = _changes(run, baseline)
    metrics = view_metrics(numbers, run.checks, changes, registry)
    latency = view_latency(numbers, baseline)
    compare = (
        None if baseline is None else view_comparison(baseline, cases.anchors, redact=chosen.redact)
    )
    return ReportView(
        run_id=run.run_id,
        verdict=_shown_verdict(run),
        sentence=run.sentence or _undecided(run),
        overview=view_overview(
            run,
            metrics=metrics,
            latency=latency,
            cases=cases,
            compare=compare,
            history=history,
            time=None if baseline is None else baseline.comparison.time,
        ),
        failed=failed,
        others=others,
        made=tuple(made_facts(run)),
        errors=tuple(_errors(run, anchors, redact=chosen.redact)),
        facts=tuple(_facts(run)),
        notes=tuple(_notes(run, chosen, baseline)),
        compare=compare,
        metrics=metrics,
        mean_bars={row.key: mean_bar(row) for row in metrics},
        heat_maps=view_heat_maps(numbers, registry, cases.rows, by_group),
        # A section may quote documents.
        sections=() if chosen.redact else view_sections(run.sections),
        trend=view_trend(history, run.run_id, chosen.address),
        latency=latency,
        concurrency=run.config.concurrency,
        cost=view_cost(run, None if baseline is None else baseline.base),
        cases=cases,
        data=page_data(cases, registry),
        redacted=chosen.redact,
    )


def _shown_verdict(run: StoredRun) -> str:
    if run.verdict == "fail" and run.gate is not None and not run.gate.complete:
        return "incomplete"
    return run.verdict or "unknown"


def _first_anchors(anchors: Mapping[CaseKey, str]) -> dict[tuple[str, str], str]:
    """Return the anchor of each case, by file and id: of several repeats, that of the first."""
    return {(file, name): anchor for (file, name, _), anchor in reversed([*anchors.items()])}


def _undecided(run: StoredRun) -> str:
    recorded = len({case_key(record)[:2] for record in run.records})
    # How many of them -k or a shard selects is not stored before the end.
    in_files = run.config.set.n_asked
    if recorded < in_files:  # it goes on, or was killed
        cases = counted(recorded, "case")
        return f"The run has not ended: {cases} recorded, of {in_files} in its files."
    return "The run holds no decision of the gate."


def _changes(
    run: StoredRun, baseline: RunComparison | None
) -> tuple[Mapping[str, ChangeView], GroupChanges]:
    """Show the change of each metric since the baseline, over all cases and by group."""
    if baseline is None:
        return {}, {}
    beyond = _beyond_limits(run, baseline.base.run_id)
    changes = view_changes(baseline, beyond)
    return changes, group_changes(baseline.comparison.pairing.pairs, changes.keys())


def made_facts(run: StoredRun) -> Iterator[tuple[str, str]]:
    """Yield when, from which code, of which target and with which judge a run was made."""
    config, git = run.config, run.config.git
    at = (config.timestamp or "")[:16].replace("T", " ")
    yield "Started", f"{at} UTC" if (config.timestamp or "").endswith("+00:00") else at
    if git.commit:
        yield "Commit", git.commit[:7] + (", with uncommitted changes" if git.dirty else "")
    yield "Branch", git.branch or ""
    yield "Target", ", ".join(config.asked)
    yield "k", "" if config is NO_CONFIG else str(config.settings.k)
    yield "Judge", "off" if run.judge == "none" else run.judge or ""


def _errors(run: StoredRun, anchors: Mapping[str, str], *, redact: bool) -> Iterator[ErrorView]:
    """Yield the errors of the target by cause; redacted without its words."""
    for group in group_errors(map(run.whole, (one for one in run.records if one.error))):
        names = case_names(run.records)
        cases = [names[record.nodeid] for record in group.records]
        yield ErrorView(
            kind=group.kind,
            message=group.label if redact else group.message,
            n=len(cases),
            cases=tuple((name, anchors.get(name, "")) for name in cases[:_CASES_NAMED]),
            link=cases_link(stage=group.kind),
        )


def _facts(run: StoredRun) -> Iterator[tuple[str, str]]:
    config = run.config
    facts = {
        "Answers by": config.target_models.get("llm_model"),
        "Embeddings by": config.target_models.get("embedding_model"),
        "Index": config.index_build_version,
        "Dataset": config.dataset_hash,
        "Configuration": config.config_hash,
        "Commit": config.git.commit,
        "pytest-rageval": config.versions.get("pytest-rageval"),
    }
    yield from ((name, str(found)) for name, found in facts.items() if found)
    if rules := rules_text(numbers_of(run).matching):
        yield "Evidence by", rules


def _notes(run: StoredRun, options: ReportOptions, baseline: RunComparison | None) -> Iterator[str]:
    yield from run.notes
    decided = run.baseline.run_id
    if baseline and not run.baseline.problem and decided not in {None, baseline.base.run_id}:
        yield f"The checks of changes were decided against {decided}, another run than this page's."
    yield from filter(None, [run.saturation])
    yield from reliability_lines(JudgeReliability(spot_check=summarise_spot_checks(run.records)))
    yield from chunk_sentences(run.records, run.settings, run.config.asked)
    if not options.redact:  # they include the target's notes about its index
        yield from numbers_of(run).warnings
        coverages = (record.reply.indexing_coverage for record in reversed(run.records))
        yield from warnings_of_target([coverage for coverage in coverages if coverage][:1])


_CASES_NAMED: Final = 10
_REASONS: Final[tuple[tuple[LeftOutReason, str], ...]] = (
    ("only_in_base", "only in the baseline"),
    ("only_in_new", "only in this run"),
    ("content_changed", "of changed content"),
    ("k_changed", "of another k"),
)


def _beyond_limits(run: StoredRun, base: str) -> frozenset[str]:
    """Return the metrics whose change to this baseline is past a limit, by the stored gate."""
    if run.baseline.run_id != base:
        return frozenset()
    return past_limits(run.checks)


def view_changes(found: RunComparison, beyond: Collection[str] = ()) -> dict[str, ChangeView]:
    """Show the change of each metric over the paired cases, and of each own one of the runs.

    Args:
        found: comparison with the baseline.
        beyond: metrics whose change is past a limit, in the words of ``rageval compare``.
    """
    registry, comparison = found.registry, found.comparison
    of_cases = {
        key: _change(change, registry.info(key), past=beyond)
        for key, change in comparison.metrics.items()
        if change.base is not None and change.delta is not None
    }
    return of_cases | {
        key: ChangeView(
            base=format_value(change.base),
            delta=change_text(key, change.delta),
            n=change.n_new,
            place=place_on_scale(change.base, registry.info(key)),
        )
        for key, change in comparison.run_metrics.items()
    }


def _change(change: MetricChange, info: MetricInfo | None, *, past: Collection[str]) -> ChangeView:
    interval = "-"
    if change.low is not None and change.high is not None:
        interval = f"{change.low:+.2f} to {change.high:+.2f}"
    return ChangeView(
        base=format_value(change.base),
        delta=change_text(change.key, change.delta),
        interval=interval,
        p="-" if change.p is None else f"{change.p:.2g}",
        verdict=verdict_word(change, past),
        n=change.n,
        place=place_on_scale(change.base, info),
    )


def view_comparison(
    baseline: RunComparison, anchors: Mapping[CaseKey, str], *, redact: bool
) -> CompareView:
    """Show flips, differences and metrics that cannot be compared.

    If redacted, it has no reasons, which name paths and headings.
    """
    found = baseline.comparison
    comparability = baseline.comparability
    places = _first_anchors(anchors)
    listed = (*comparability.invariants, *comparability.versions, *comparability.config)
    return CompareView(
        run_id=baseline.base.run_id,
        invariants=tuple(one.name for one in comparability.invariants),
        warning=comparability.warning or "",
        flips=tuple(
            FlipView(
                anchor=places.get((flip.file, flip.case_id), ""),
                case_id=flip.case_id,
                direction=flip.direction,
                change=_flip_text(flip),
                reason="" if redact else flip.reason,
            )
            for flip in sorted(found.flips, key=_severity)
        ),
        flipped=_flipped(found.flips),
        n_paired=baseline.n_paired,
        left_out=tuple(
            f"{n} {words}" for reason, words in _REASONS if (n := found.pairing.count(reason))
        ),
        facts=tuple((one.name, shown(one.base), shown(one.new)) for one in listed),
        verdict=baseline.conclusion.sentence,
        lost="" if redact else next((one.public for one in baseline.headline.patterns), ""),
    )


def _severity(flip: CaseFlip) -> tuple[bool, int]:
    """Order flips: those for the worse first, among them the largest fall of the outcome."""
    fall = BADNESS.get(flip.new_outcome, 1) - BADNESS.get(flip.base_outcome, 1)
    return flip.direction != "worse", -abs(fall)


def _flipped(flips: Sequence[CaseFlip]) -> str:
    """Count the cases that flipped, by the change of their outcome.

    >>> _flipped(())
    '0 flipped'
    """
    same = "in a metric alone"
    found = Counter(
        same if flip.base_outcome == flip.new_outcome else _flip_text(flip) for flip in flips
    )
    changes = ", ".join(f"{n} {change}" for change, n in found.most_common())
    return f"{len(flips)} flipped" + (f": {changes}" if changes else "")


def _flip_text(flip: CaseFlip) -> str:
    if flip.base_outcome != flip.new_outcome:
        return f"{flip.base_outcome} \u2192 {flip.new_outcome}"
    if not flip.changes:
        return flip.new_outcome
    first = flip.changes[0]
    return f"{first.metric} {format_value(first.base)} \u2192 {format_value(first.new)}"
