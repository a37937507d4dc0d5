"""Findings of readers of answers as blocks: categories by stage, and errors of our stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pytest_rageval.analysis.review import (
    ENOUGH,
    NO_CATEGORY,
    ReviewAgreement,
    ReviewFigures,
    ReviewFindings,
    Share,
    StageFigure,
)
from pytest_rageval.report.view.blocks import Block, Fact, Group, Row, Table
from pytest_rageval.report.view.summary import interval_text
from pytest_rageval.support.text import clean, counted, format_value, part

_NAME: Final = 40


def review_blocks(found: ReviewFindings) -> Iterator[Block]:
    """Yield what all readers found, one after the other."""
    for figures in found.figures:
        yield Group(figures.reviewer, [*figures_blocks(figures)])
    yield from agreement_facts(found.agreement)


def figures_blocks(figures: ReviewFigures) -> Iterator[Block]:
    """Yield what one reader found."""
    said = ", ".join(f"{n} {word}" for word, n in figures.verdicts.items())
    blind = part(", {} of them blind", figures.n_blind)
    read = f"{figures.n_read} of {counted(figures.n_answers, 'answer')}: {said}{blind}"
    yield Fact("read", read)
    weighted = ", weighted by the requests that each stands for" if figures.weighted else ""
    skipped = part(", {} skipped", figures.n_random - figures.failed.n)
    sample = f"{figures.n_random} of them, drawn at random{skipped}"
    yield Fact("sample", f"{sample}; shares count these alone{weighted}")
    yield Fact("failed", share_text(figures.failed))
    if figures.categories:
        yield category_table(figures)
    yield Fact("", saturation_text(figures))
    if figures.stages:
        yield stage_table(figures.stages)
        yield Fact("", "wrong: the reader passes what our stage failed, or the reverse, or sees "
                       "the fault in another part")  # fmt: skip


def share_text(share: Share) -> str:
    """Return a share with its interval and counts."""
    if share.value is None:
        return "no answer of the random sample is read"
    interval = interval_text(share.low, share.high)
    return f"{format_value(share.value)} {interval} ({_counts(share)})"


def _counts(share: Share) -> str:
    return f"{share.k} of {share.n}"


def category_table(figures: ReviewFigures) -> Table:
    """Return categories with our stages of their answers, and their share of the random sample."""
    scored = any(one.by_stage.keys() - {"unscored"} for one in figures.categories)
    rows: list[Row] = [
        (
            clean(one.name, _NAME),
            one.n,
            _counts(one.share),
            one.share.value,
            interval_text(one.share.low, one.share.high),
            *([_stages(one.by_stage)] if scored else ()),
        )
        for one in figures.categories
    ]
    ours = ("our stages",) if scored else ()
    return Table(("category", ">read", ">in sample", ">share", ">95% CI", *ours), rows)


def _stages(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{n} {stage}" for stage, n in ordered)


def saturation_text(figures: ReviewFigures) -> str:
    """Return how many answers brought no new category."""
    n = figures.since_new
    if open_ones := sum(one.n for one in figures.categories if one.name == NO_CATEGORY):
        return f"{counted(open_ones, 'failed answer')} without a category, which may be a new one"
    if figures.saturated:
        return f"no new category in the last {n}: more reading brings little"
    return f"no new category in the last {n}; read on until it is {ENOUGH}"


def stage_table(stages: Iterable[StageFigure]) -> Table:
    """Return how often the reader contradicts our stages."""
    rows: list[Row] = [
        (
            one.stage,
            _counts(one.wrong),
            one.wrong.value,
            interval_text(one.wrong.low, one.wrong.high),
        )
        for one in stages
    ]
    return Table(("our stage", ">wrong in sample", ">share", ">95% CI"), rows)


def agreement_facts(found: Iterable[ReviewAgreement]) -> Iterator[Fact]:
    """Yield how far readers agree."""
    for one in found:
        kappa = part(", kappa {}", one.kappa is not None and format_value(one.kappa))
        yield Fact("agreed", f"{one.first} and {one.second}: {share_text(one.agreed)}{kappa}")
