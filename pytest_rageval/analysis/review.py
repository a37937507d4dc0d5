"""Figures of what readers of answers found. Pure.

Every share and error rate is that of the random sample alone, since the other answers were read
because something looked wrong (``reading_order``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, Literal

from pytest_rageval.analysis.aggregate.case_groups import group_repeats
from pytest_rageval.analysis.reading_order import random_sample
from pytest_rageval.analysis.stats.agreement import kappa
from pytest_rageval.analysis.stats.distributions import cluster_sums
from pytest_rageval.analysis.stats.intervals import MetricScale, mean_interval
from pytest_rageval.metrics.scoring import case_weight
from pytest_rageval.values.record import CaseRecord, FailureStage
from pytest_rageval.values.run import (
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """An answer that can be read, as figures count it."""

    stage: OurStage = "unscored"
    weight: float | None = None
    """Requests that it stands for, above 0; None: its case has no weight, and counts once."""
    cluster: str | None = None
    """Conversation or document that it shares with other answers; None: with none."""


def readable_record(record: CaseRecord) -> Readable:
    """Return the answer of a record as figures count it."""
    scores = record.scores
    return Readable(
        stage=scores.failure_stage or ("unscored" if scores.unchecked else "passed"),
        weight=case_weight(record.case),
        cluster=record.cluster,
    )


def read_records(records: Iterable[CaseRecord]) -> Iterator[CaseRecord]:
    """Yield the records whose answers are read: the first repeat of each case that has one."""
    firsts = (group.first for group in group_repeats(records))
    return (record for record in firsts if record.response is not None)


# --- figures ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A share of the random sample, with its 95 % interval."""

    k: int
    n: int
    """Answers of the sample, and those of them that are counted, without their weights."""
    value: float | None
    """Weighted; None: the sample is empty."""
    low: float | None
    high: float | None


def share_of(hits: Iterable[bool], of: Sequence[Readable]) -> Share:
    """Return the share of hits.

    The interval is that of any mean over cases: Wilson's where each answer stands for as much and
    for itself alone, and otherwise the plus-two t over clusters, of weighted answers that of
    ``weighted_mean``. It is absent where all answers are of one cluster.

    Args:
        hits: one of each answer.
        of: the answers, in the same order.

    >>> share_of([True, False, False, False], [Readable()] * 4).value
    0.25
    >>> share_of([True, False], [Readable(weight=3.0), Readable()]).value
    0.75
    """
    values = [float(hit) for hit in hits]
    k, n = int(sum(values)), len(values)
    if not n:
        return Share(k=0, n=0, value=None, low=None, high=None)
    weights, clusters = [one.weight or 1.0 for one in of], [one.cluster for one in of]
    if len(set(weights)) == 1:
        sample = cluster_sums(values, clusters)
        found = mean_interval(sample, MetricScale(binary=True), confidence=_CONFIDENCE)
        return Share(k=k, n=n, value=k / n, low=found.low, high=found.high)
    # Imported here, since numpy is slow to import.
    import numpy as np

    from pytest_rageval.analysis.aggregate.summaries import weighted_mean
    from pytest_rageval.analysis.aggregate.table import cluster_codes

    mean = weighted_mean(
        np.array(values), np.array(weights), cluster_codes(clusters), (0.0, 1.0), _CONFIDENCE
    )
    return Share(k=k, n=n, value=mean.mean, low=mean.low, high=mean.high)


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


def review_figures(
    reviewer: str,
    reviews: Mapping[ReviewKey, AnswerReview],
    answers: Mapping[ReviewKey, Readable],
) -> ReviewFigures:
    """Compute the figures of one reader.

    Args:
        reviewer: name of the reader.
        reviews: as ``latest_reviews`` gives them.
        answers: every answer that could be read.
    """

    def share(hits: Sequence[bool], of: Sequence[AnswerReview]) -> Share:
        return share_of(hits, [answers[one.key] for one in of])

    sample = [reviews[key] for key in random_sample(answers, reviews)]
    judged = [one for one in sample if one.verdict != "skip"]
    names = list(categories_of(reviews))
    if any(one.verdict == "fail" and not one.category for one in reviews.values()):
        names.append("")
    return ReviewFigures(
        reviewer=reviewer,
        n_answers=len(answers),
        n_read=len(reviews),
        n_random=len(sample),
        n_blind=sum(one.blind for one in reviews.values()),
        verdicts=dict(Counter(one.verdict for one in reviews.values() if one.verdict is not None)),
        weighted=len({one.weight or 1.0 for one in answers.values()}) > 1,
        failed=share([one.verdict == "fail" for one in judged], judged),
        categories=tuple(
            CategoryFigure(
                name=name or NO_CATEGORY,
                n=sum(_has(one, name) for one in reviews.values()),
                by_stage=dict(
                    Counter(answers[key].stage for key, one in reviews.items() if _has(one, name))
                ),
                share=share([_has(one, name) for one in judged], judged),
            )
            for name in names
        ),
        since_new=since_new_category(reviews.values()),
        stages=tuple(
            StageFigure(
                stage=stage,
                wrong=share([_contradicts(one, answers[one.key].stage) for one in of], of),
            )
            for stage, of in _by_stage(judged, answers)
        ),
    )


def _has(review: AnswerReview, category: str) -> bool:
    return review.category == category and (bool(category) or review.verdict == "fail")


def _by_stage(
    judged: Iterable[AnswerReview], answers: Mapping[ReviewKey, Readable]
) -> Iterator[tuple[str, list[AnswerReview]]]:
    """Yield answers that we scored: all of them, then those of each stage, the most first."""
    by_stage: dict[str, list[AnswerReview]] = {}
    scored = [one for one in judged if answers[one.key].stage != "unscored"]
    for one in scored:
        by_stage.setdefault(answers[one.key].stage, []).append(one)
    if scored:
        yield "all", scored
    yield from sorted(by_stage.items(), key=lambda item: (-len(item[1]), item[0]))


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
    answers: Mapping[ReviewKey, Readable],
) -> tuple[ReviewAgreement, ...]:
    """Compare every two readers who read an answer in common."""
    found = []
    for (one, firsts), (other, seconds) in combinations(by_reviewer.items(), 2):
        pairs = {
            key: (float(firsts[key].verdict == "fail"), float(seconds[key].verdict == "fail"))
            for key in firsts
            if key in seconds and "skip" not in {firsts[key].verdict, seconds[key].verdict}
        }
        if pairs:
            each = [replace(answers[key], weight=None) for key in pairs]
            agreed = share_of((a == b for a, b in pairs.values()), each)
            value = kappa(*zip(*pairs.values(), strict=True), categories=(0.0, 1.0))
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
    answers: Mapping[ReviewKey, Readable],
) -> ReviewFindings:
    """Compute what readers found, each apart.

    Args:
        lines: of each reader's file.
        hashes: of every answer that somebody read.
        answers: every answer that can be read.
    """
    read = {name: latest_reviews(of, hashes) for name, of in lines.items()}
    by_reader = {name: reviews for name, reviews in read.items() if reviews}
    figures = [review_figures(name, reviews, answers) for name, reviews in by_reader.items()]
    return ReviewFindings(
        figures=tuple(sorted(figures, key=lambda one: (-one.n_read, one.reviewer))),
        agreement=review_agreement(by_reader, answers),
    )
