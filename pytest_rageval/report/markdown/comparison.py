"""``diff.md``: a comparison of two runs in Markdown: ids and numbers, no user or model text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import case_names
from pytest_rageval.analysis.compare.conclusion import time_text
from pytest_rageval.analysis.compare.settings import shown
from pytest_rageval.analysis.two_runs import RunComparison
from pytest_rageval.report.markdown.summary import LISTED_CASES, escape
from pytest_rageval.report.view.comparison import (
    BANNER,
    BEYOND,
    BEYOND_TEXT,
    HOLM_TEXT,
    NO_DIFFERENCE,
    ComparisonView,
    change_interval,
    conclusion,
    describe_side,
    difference_text,
    flip_counts,
    flip_value,
    group_verdict,
    groups_text,
    metric_cells,
    metric_verdict,
    moved_stages,
    noise_text,
    pairing_text,
    questions_text,
    unpaired_cells,
)
from pytest_rageval.report.view.gate import detectable_text
from pytest_rageval.report.view.summary import change_text
from pytest_rageval.support.text import format_value

GROUP_ROWS: Final = 200
"""Maximum rows by category and tag: a pull request comment has a size limit."""


def render_comparison_markdown(view: ComparisonView) -> str:
    """Render a comparison: verdict, checks, metrics, flips, then configuration differences."""
    return "\n".join(_lines(view)) + "\n"


def _lines(view: ComparisonView) -> Iterator[str]:
    found = view.found
    title = conclusion(view) if found.comparable else BANNER
    yield f"## rageval: {escape(title)}"
    yield from ("", f"- base {escape(describe_side(found.base))}")
    yield f"- new {escape(describe_side(found.new))}"
    yield f"- {pairing_text(found)}"
    if time := time_text(found.comparison):
        yield f"- {escape(time)}"
    if found.comparison.loss is not None:
        yield f"- {escape(found.comparison.loss.sentence)}"
    if found.comparison.no_difference:
        yield f"- {NO_DIFFERENCE}"
    elif asked := questions_text(found):
        yield f"- {asked}"
    if found.latency_problem:
        yield f"- {found.latency_problem}"
    yield from (f"- {escape(note)}" for note in view.notes)
    yield from _invariants(found)
    yield from _checks(view)
    yield from _metrics(view)
    yield from _groups(view)
    yield from _flips(found)
    yield from _config(found)


def _invariants(found: RunComparison) -> Iterator[str]:
    if found.comparable:
        return
    ignored = ", which was ignored" if found.ignored else ""
    yield from ("", f"**{BANNER}.** The runs were made under different conditions{ignored}:", "")
    for one in found.comparability.invariants:
        values = f"{escape(shown(one.base))} in base, {escape(shown(one.new))} in new"
        yield f"- {escape(one.name)}: {values}"


def _checks(view: ComparisonView) -> Iterator[str]:
    if not view.checks:
        return
    yield from ("", "| check | result | |", "|---|---|---|")
    words = {"pass": "ok", "fail": "**FAIL**", "warn": "warn", "skip": "skipped"}
    for result in view.checks:
        seen = detectable_text(result)
        text = escape(result.message) + (f" ({seen})" if seen else "")
        yield f"| {escape(result.check.name)} | {words[result.status]} | {text} |"


def _metrics(view: ComparisonView) -> Iterator[str]:
    comparison = view.found.comparison
    if not comparison.metrics and not comparison.unpaired:
        return
    percent = f"{comparison.confidence * 100:g} % bounds"
    yield from (
        "",
        f"| metric | n | base | new | delta | {percent} | p | verdict |",
        "|---|---:|---:|---:|---:|---|---:|---|",
    )
    totals = filter(None, (comparison.passed, comparison.time))
    for one in (*totals, *comparison.metrics.values()):
        noise, word = noise_text(one), metric_verdict(one, view.checks)
        yield f"| {' | '.join(metric_cells(one))} | {word}{f' ({noise})' if noise else ''} |"
    for late in comparison.unpaired.values():
        yield f"| {' | '.join(unpaired_cells(late))} | not paired |"
    if any(metric_verdict(one, view.checks) == BEYOND for one in comparison.metrics.values()):
        yield from ("", f"{BEYOND_TEXT[:1].upper()}{BEYOND_TEXT[1:]}.")
    if any(one.tests > 1 for one in comparison.metrics.values()):
        yield from ("", f"{escape(HOLM_TEXT)}.")


def _groups(view: ComparisonView) -> Iterator[str]:
    if not view.groups:
        return
    percent = f"{view.found.comparison.confidence * 100:g} % bounds"
    yield from (
        "",
        "<details><summary>By category and tag</summary>",
        "",
        f"{escape(groups_text(view.min_n)).capitalize()}.",
        "",
        f"| group | metric | n | base | new | delta | {percent} | verdict |",
        "|---|---|---:|---:|---:|---:|---|---|",
    )
    for one in view.groups[:GROUP_ROWS]:
        change = one.change
        yield (
            f"| {escape(one.name)} | {change.key} | {change.n} | {format_value(change.base)} "
            f"| {format_value(change.new)} | {change_text(change.key, change.delta)} "
            f"| {change_interval(change)} | {group_verdict(one)} |"
        )
    if (more := len(view.groups) - GROUP_ROWS) > 0:
        yield from ("", f"And {more} more.")
    yield from ("", "</details>")


def _flips(found: RunComparison) -> Iterator[str]:
    if moved := moved_stages(found):
        yield from ("", f"Failure stages: {moved}.")
    flips = found.comparison.flips
    if not flips:
        return
    yield from ("", f"Flips: {flip_counts(found)}.", "")
    yield from ("| | case | category | change | why |", "|---|---|---|---|---|")
    names = case_names(found.new.records)
    for flip in flips[:LISTED_CASES]:
        yield (
            f"| {flip.direction} | {escape(names[flip.nodeid])} | {escape(flip.category)} "
            f"| {flip_value(flip)} | {escape(flip.brief_reason)} |"
        )
    if (more := len(flips) - LISTED_CASES) > 0:
        yield from ("", f"And {more} more.")


def _config(found: RunComparison) -> Iterator[str]:
    changed = (*found.comparability.versions, *found.comparability.config)
    if found.comparability.warning is not None:
        yield from ("", f"Warning: {escape(found.comparability.warning)}.")
    if changed:
        yield from ("", "Configuration:", "")
        yield from (f"- {escape(difference_text(one))}" for one in changed)
