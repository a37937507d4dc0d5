"""Order in which people read answers: random ones beside those that promise most. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Literal, TypeVar

from pytest_rageval.analysis.trust.reliability import PASS_LINE
from pytest_rageval.judges.spot_check import second_scores
from pytest_rageval.support.text import TOLERANCE
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import RETRIEVAL_STAGES

Reason = Literal["flipped", "judge unsure", "rule against judge", "negative feedback"]
"""Reason for which an answer promises more than a random one."""

_Key = TypeVar("_Key", bound=Hashable)


def random_order(keys: Iterable[_Key]) -> tuple[_Key, ...]:
    """Return keys in an order that depends on nothing but the keys, the same for all readers."""
    return tuple(sorted(dict.fromkeys(keys), key=_drawn))


@lru_cache(maxsize=1 << 16)
def _drawn(key: Hashable) -> bytes:
    return hashlib.sha256(f"review {key!r}".encode("utf-8", "backslashreplace")).digest()


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
