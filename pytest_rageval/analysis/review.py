"""Figures of what readers of answers found. Pure.

Every share and error rate is that of the random sample alone, since the other answers were read
because something looked wrong (``reading_order``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, Literal

from pytest_rageval.analysis.aggregate.case_groups import group_repeats
from pytest_rageval.analysis.reading_order import random_sample
from pytest_rageval.analysis.stats.agreement import kappa
from pytest_rageval.analysis.stats.distributions import normal_quantile
from pytest_rageval.analysis.stats.intervals import tail_level, wilson_bounds
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord, FailureStage
from pytest_rageval.values.reviews import (
    AnswerReview,
    ReviewKey,
    ReviewLine,
    ReviewVerdict,
    part_of,
)

OurStage = FailureStage | Literal["passed", "unscored"]
"""``passed``: we saw nothing wrong; ``unscored``: we said nothing."""
ENOUGH: Final = 20
"""Answers in a row without a new category after which more reading brings little."""
_CONFIDENCE: Final = 0.95
NO_CATEGORY: Final = "(no category yet)"


# --- what was read ---------------------------------------------------------------------------


def latest_reviews(
    lines: Iterable[ReviewLine], hashes: Mapping[ReviewKey, str]
) -> dict[ReviewKey, AnswerReview]:
    """Return the verdict of one reader on each answer, in the order of first reading.

    Args:
        lines: of the reader's file, in its order; changes of categories apply to those before.
        hashes: of the answers as they are now; verdicts on others are left out.
    """
    found: dict[ReviewKey, AnswerReview] = {}
    for line in lines:
        one = line.review
        if one is not None and hashes.get(one.key) == one.answer_hash:
            found[one.key] = one
        if (change := line.category) is not None:
            found |= {
                key: replace(review, category=change.after)
                for key, review in found.items()
                if review.category == change.before
            }
    return {key: one for key, one in found.items() if one.verdict is not None}


def categories_of(reviews: Mapping[ReviewKey, AnswerReview]) -> dict[str, int]:
    """Return the number of answers of each category, the largest first."""
    counts = Counter(one.category for one in reviews.values() if one.category)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def since_new_category(reviews: Iterable[AnswerReview]) -> int:
    """Return the number of answers read since the last one with a new category.

    A failed answer that has no category yet may bring a new one, and counts as such.

    Args:
        reviews: in the order of first reading; skipped ones do not count.
    """
    seen: set[str] = set()
    n = 0
    for one in reviews:
        if one.verdict == "skip":
            continue
        new = one.verdict == "fail" and (not one.category or one.category not in seen)
        seen |= {one.category}
        n = 0 if new else n + 1
    return n


def record_key(record: CaseRecord) -> ReviewKey:
    """Return the key of a record's answer."""
    return record.file, record.name, record.repeat


def record_stage(record: CaseRecord) -> OurStage:
    """Return our stage of a record."""
    return record.scores.failure_stage or ("unscored" if record.scores.unchecked else "passed")


def weight_of(case: Case) -> float:
    """Return the requests that a case stands for, ``metadata.weight``; 1 without a positive one."""
    given = case.metadata.get("weight")
    if isinstance(given, bool) or not isinstance(given, int | float):
        return 1.0
    return float(given) if math.isfinite(given) and given > 0 else 1.0


def read_records(records: Iterable[CaseRecord]) -> Iterator[CaseRecord]:
    """Yield the records whose answers are read: the first repeat of each case that has one."""
    firsts = (group.first for group in group_repeats(records))
    return (record for record in firsts if record.response is not None)


# --- figures ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share of the random sample, with its 95 % interval by Wilson."""

    k: int
    n: int
    """Answers of the sample, and those of them that are counted, without their weights."""
    value: float | None
    """Weighted; None: the sample is empty."""
    low: float | None
    high: float | None


def share_of(hits: Iterable[bool], weights: Iterable[float] = ()) -> Share:
    """Return the share of hits.

    Args:
        hits: of the sample.
        weights: requests that each stands for, above 0; empty: all the same. The interval is that
            of the effective number of answers, (sum w)^2 / sum w^2 (Kish 1965).

    >>> share_of([True, False, False, False]).value
    0.25
    >>> share_of([True, False], [3.0, 1.0]).value
    0.75
    """
    every = list(hits)
    each = list(weights) or [1.0] * len(every)
    if not every:
        return Share(k=0, n=0, value=None, low=None, high=None)
    total = math.fsum(each)
    value = math.fsum(w for hit, w in zip(every, each, strict=True) if hit) / total
    n = total**2 / math.fsum(w * w for w in each)
    low, high = wilson_bounds(value, n, normal_quantile(tail_level(_CONFIDENCE, 2)))
    return Share(k=sum(every), n=len(every), value=value, low=low, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryFigure:
    """One category of what is wrong."""

    name: str
    """``NO_CATEGORY``: failed answers without one."""
    n: int
    """Answers read, random or not."""
    by_stage: Mapping[str, int]
    """The same by our stage; ``passed``: we saw nothing wrong, ``unscored``: we said nothing."""
    share: Share
    """Of the random sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFigure:
    """Share of answers in which a reader contradicts one of our stages."""

    stage: str
    """``passed``: we saw nothing wrong; ``all``: every stage together."""
    wrong: Share
    """Of the random sample: the reader passes what we failed, fails what we passed, or sees the
    fault in another part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFigures:
    """Findings of one reader."""

    reviewer: str
    n_answers: int
    """Answers that could be read."""
    n_read: int
    n_random: int
    """Those of them that are a random sample of all."""
    n_blind: int
    """Those of them read without our stage and scores."""
    verdicts: Mapping[ReviewVerdict, int]
    weighted: bool
    """Whether answers stand for different numbers of requests."""
    failed: Share
    """Of the random sample."""
    categories: tuple[CategoryFigure, ...]
    """The largest first."""
    since_new: int
    """Answers read since the last one that brought a new category."""
    stages: tuple[StageFigure, ...]
    """Errors of our stages; empty: we scored none of the answers."""

    @property
    def saturated(self) -> bool:
        """Whether the last ``ENOUGH`` answers brought no new category."""
        return self.since_new >= ENOUGH


Stages = Mapping[ReviewKey, OurStage]
"""Our stage of every answer."""


def review_figures(
    reviewer: str,
    reviews: Mapping[ReviewKey, AnswerReview],
    stages: Stages,
    weights: Mapping[ReviewKey, float] | None = None,
) -> ReviewFigures:
    """Compute the figures of one reader.

    Args:
        reviewer: name of the reader.
        reviews: as ``latest_reviews`` gives them.
        stages: our stage of every answer that could be read.
        weights: requests that an answer stands for, above 0; None, or one that is missing: 1.
    """
    known = weights or {}

    def share(hits: Sequence[bool], of: Sequence[AnswerReview]) -> Share:
        return share_of(hits, [known.get(one.key, 1.0) for one in of])

    sample = [reviews[key] for key in random_sample(stages, reviews)]
    judged = [one for one in sample if one.verdict != "skip"]
    names = list(categories_of(reviews))
    if any(one.verdict == "fail" and not one.category for one in reviews.values()):
        names.append("")
    return ReviewFigures(
        reviewer=reviewer,
        n_answers=len(stages),
        n_read=len(reviews),
        n_random=len(sample),
        n_blind=sum(one.blind for one in reviews.values()),
        verdicts=dict(Counter(one.verdict for one in reviews.values() if one.verdict is not None)),
        weighted=len(set(known.values())) > 1,
        failed=share([one.verdict == "fail" for one in judged], judged),
        categories=tuple(
            CategoryFigure(
                name=name or NO_CATEGORY,
                n=sum(_has(one, name) for one in reviews.values()),
                by_stage=dict(
                    Counter(stages[key] for key, one in reviews.items() if _has(one, name))
                ),
                share=share([_has(one, name) for one in judged], judged),
            )
            for name in names
        ),
        since_new=since_new_category(reviews.values()),
        stages=tuple(
            StageFigure(
                stage=stage, wrong=share([_contradicts(one, stages[one.key]) for one in of], of)
            )
            for stage, of in _by_stage(judged, stages)
        ),
    )


def _has(review: AnswerReview, category: str) -> bool:
    return review.category == category and (bool(category) or review.verdict == "fail")


def _by_stage(
    judged: Iterable[AnswerReview], stages: Stages
) -> Iterator[tuple[str, list[AnswerReview]]]:
    """Yield answers that we scored: all of them, then those of each stage, the most first."""
    scored = [one for one in judged if stages[one.key] != "unscored"]
    if scored:
        yield "all", scored
    counts = Counter(stages[one.key] for one in scored)
    for stage, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield stage, [one for one in scored if stages[one.key] == stage]


def _contradicts(review: AnswerReview, stage: OurStage) -> bool:
    if stage == "passed" or stage == "unscored":
        return review.verdict == "fail"
    return review.verdict == "pass" or review.part not in {None, part_of(stage)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewAgreement:
    """Agreement of two readers on pass and fail."""

    first: str
    second: str
    n: int
    """Answers that both passed or failed."""
    agreed: Share
    kappa: float | None
    """Cohen's; None: no disagreement was possible."""


def review_agreement(
    by_reviewer: Mapping[str, Mapping[ReviewKey, AnswerReview]],
) -> tuple[ReviewAgreement, ...]:
    """Compare every two readers who read an answer in common."""
    found = []
    for (one, firsts), (other, seconds) in combinations(by_reviewer.items(), 2):
        pairs = [
            (float(firsts[key].verdict == "fail"), float(seconds[key].verdict == "fail"))
            for key in firsts
            if key in seconds and "skip" not in {firsts[key].verdict, seconds[key].verdict}
        ]
        if pairs:
            agreed = share_of(a == b for a, b in pairs)
            value = kappa([a for a, _ in pairs], [b for _, b in pairs], categories=(0.0, 1.0))
            found.append(
                ReviewAgreement(first=one, second=other, n=len(pairs), agreed=agreed, kappa=value)
            )
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFindings:
    """Findings of all readers of the answers of one run or file."""

    figures: tuple[ReviewFigures, ...]
    """Of each reader, the one who read most first."""
    agreement: tuple[ReviewAgreement, ...]


def review_findings(
    lines: Mapping[str, Iterable[ReviewLine]],
    hashes: Mapping[ReviewKey, str],
    stages: Stages,
    weights: Mapping[ReviewKey, float] | None = None,
) -> ReviewFindings:
    """Compute what readers found, each apart.

    Args:
        lines: of each reader's file.
        hashes: of every answer that can be read.
        stages: our stage of each.
        weights: requests that an answer stands for; None: all the same.
    """
    read = {name: latest_reviews(of, hashes) for name, of in lines.items()}
    by_reader = {name: reviews for name, reviews in read.items() if reviews}
    figures = [
        review_figures(name, reviews, stages, weights) for name, reviews in by_reader.items()
    ]
    return ReviewFindings(
        figures=tuple(sorted(figures, key=lambda one: (-one.n_read, one.reviewer))),
        agreement=review_agreement(by_reader),
    )
