"""Order in which answers are read, and the figures of what readers found. Pure.

Answers that promise most are read beside a random sample; every share and error rate is computed on
the random sample alone, since the others were chosen because something looked wrong.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, takewhile
from typing import Final, Literal, TypeVar

from pytest_rageval.analysis.aggregate.case_groups import group_repeats
from pytest_rageval.analysis.stats.agreement import kappa
from pytest_rageval.analysis.stats.intervals import Interval, wilson
from pytest_rageval.analysis.trust.reliability import PASS_LINE
from pytest_rageval.judges.spot_check import second_scores
from pytest_rageval.support.text import TOLERANCE
from pytest_rageval.values.record import CaseRecord, FailureStage
from pytest_rageval.values.reviews import (
    RETRIEVAL_STAGES,
    AnswerReview,
    ReviewKey,
    ReviewLine,
    ReviewVerdict,
    part_of,
)

Reason = Literal["flipped", "judge unsure", "rule against judge", "negative feedback"]
"""Reason for which an answer promises more than a random one."""
OurStage = FailureStage | Literal["passed", "unscored"]
"""``passed``: we saw nothing wrong; ``unscored``: we said nothing."""
ENOUGH: Final = 20
"""Answers in a row without a new category after which more reading brings little."""
NO_CATEGORY: Final = "(no category yet)"

_Key = TypeVar("_Key", bound=Hashable)


# --- order -----------------------------------------------------------------------------------


def random_order(keys: Iterable[_Key]) -> tuple[_Key, ...]:
    """Return keys in an order that depends on nothing but the keys, the same for all readers."""

    def drawn(key: _Key) -> bytes:
        return hashlib.sha256(f"review {key!r}".encode("utf-8", "backslashreplace")).digest()

    return tuple(sorted(dict.fromkeys(keys), key=drawn))


def reading_order(
    reasons: Mapping[_Key, Sequence[Reason]], *, random_share: float
) -> tuple[_Key, ...]:
    """Mix the random order with the answers that promise most.

    At any place in the result, at least ``random_share`` of the answers so far come from the random
    order, until nothing promising is left; those with most reasons come first.

    Args:
        reasons: of every answer; empty for one that promises nothing.
        random_share: 0 to 1.
    """
    drawn = random_order(reasons)
    # Stable: equal ones stay in the random order.
    promising = sorted((key for key in drawn if reasons[key]), key=lambda key: -len(reasons[key]))
    order: dict[_Key, None] = {}
    at, n_random = 0, 0
    for key in promising:
        while at < len(drawn) and n_random < random_share * (len(order) + 1) - TOLERANCE:
            n_random += drawn[at] not in order
            order.setdefault(drawn[at])
            at += 1
        order.setdefault(key)
    return tuple(dict.fromkeys((*order, *drawn)))


def random_sample(keys: Iterable[_Key], read: Mapping[_Key, object]) -> tuple[_Key, ...]:
    """Return the answers that were read and are a simple random sample of all.

    It is the longest start of the random order that was read to the last answer, whatever else
    was.
    """
    return tuple(takewhile(read.__contains__, random_order(keys)))


def reasons_of(record: CaseRecord, flipped: bool = False) -> tuple[Reason, ...]:
    """Return why the answer of a record promises more than a random one."""
    found: list[Reason] = ["flipped"] if flipped else []
    judgements = record.verdicts.judgements
    unsure = any(one.verdict is not None and one.verdict.unsure for one in judgements.values())
    seconds = second_scores(record.verdicts).items()
    firsts = record.scores.metrics
    if unsure or any((v := firsts.get(k)) is not None and abs(v - two) > 1 for k, two in seconds):
        found.append("judge unsure")
    if _disputed(record):
        found.append("rule against judge")
    return tuple(found)


def _disputed(record: CaseRecord) -> bool:
    """Whether the judge passes an answer without its evidence or against a rule, or the reverse."""
    score, metrics = record.scores.metrics.get("correctness"), record.scores.metrics
    kept = metrics.get("answer_rules_pass_rate")
    if score is None:
        return False
    right = score >= PASS_LINE - TOLERANCE
    if kept is not None:
        return right != (kept == 1)
    facts = record.verdicts.evidence.facts_stated if record.verdicts.evidence else None
    if not right:
        return bool(facts) and all(facts or ())
    return record.scores.failure_stage in RETRIEVAL_STAGES


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
    value: float | None
    """None: the sample is empty."""
    low: float | None
    high: float | None


def share_of(hits: Iterable[bool]) -> Share:
    """Return the share of hits."""
    every = list(hits)
    k, n = sum(every), len(every)
    interval: Interval = wilson(k, n)
    value = k / n if n else None
    return Share(k=k, n=n, value=value, low=interval.low, high=interval.high)


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
    reviewer: str, reviews: Mapping[ReviewKey, AnswerReview], stages: Stages
) -> ReviewFigures:
    """Compute the figures of one reader.

    Args:
        reviewer: name of the reader.
        reviews: as ``latest_reviews`` gives them.
        stages: our stage of every answer that could be read.
    """
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
        failed=share_of(one.verdict == "fail" for one in judged),
        categories=tuple(_category(name, reviews, judged, stages) for name in names),
        since_new=since_new_category(reviews.values()),
        stages=tuple(_stage_errors(judged, stages)),
    )


def _has(review: AnswerReview, category: str) -> bool:
    return review.category == category and (bool(category) or review.verdict == "fail")


def _category(
    name: str,
    reviews: Mapping[ReviewKey, AnswerReview],
    judged: Sequence[AnswerReview],
    stages: Stages,
) -> CategoryFigure:
    keys = [key for key, one in reviews.items() if _has(one, name)]
    return CategoryFigure(
        name=name or NO_CATEGORY,
        n=len(keys),
        by_stage=dict(Counter(stages[key] for key in keys)),
        share=share_of(_has(one, name) for one in judged),
    )


def _stage_errors(judged: Iterable[AnswerReview], stages: Stages) -> Iterable[StageFigure]:
    by_stage: dict[str, list[bool]] = {}
    for one in judged:
        stage = stages[one.key]
        if stage != "unscored":
            by_stage.setdefault(stage, []).append(_contradicts(one, stage))
    if by_stage:
        every = [wrong for found in by_stage.values() for wrong in found]
        yield StageFigure(stage="all", wrong=share_of(every))
    for name, found in sorted(by_stage.items(), key=lambda item: (-len(item[1]), item[0])):
        yield StageFigure(stage=name, wrong=share_of(found))


def _contradicts(review: AnswerReview, stage: FailureStage | Literal["passed"]) -> bool:
    if stage == "passed":
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
) -> ReviewFindings:
    """Compute what readers found, each apart.

    Args:
        lines: of each reader's file.
        hashes: of every answer that can be read.
        stages: our stage of each.
    """
    read = {name: latest_reviews(of, hashes) for name, of in lines.items()}
    by_reader = {name: reviews for name, reviews in read.items() if reviews}
    figures = [review_figures(name, reviews, stages) for name, reviews in by_reader.items()]
    return ReviewFindings(
        figures=tuple(sorted(figures, key=lambda one: (-one.n_read, one.reviewer))),
        agreement=review_agreement(by_reader),
    )
