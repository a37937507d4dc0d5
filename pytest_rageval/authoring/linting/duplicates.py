"""Duplicate questions within a set or between sets, found without comparing all pairs. Pure.

Texts are compared by the Jaccard similarity of their words and pairs of words. Two that are alike
share at least one of their rarest parts (prefix filtering: Bayardo, Ma and Srikant 2007), so only
texts that do are compared.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from pytest_rageval.authoring.linting.findings import (
    LintFinding,
    PlacedCase,
    Rule,
    finding,
)
from pytest_rageval.metrics.matching import anchor_segments, norm_path, norm_text
from pytest_rageval.values.case import Case

NEAR: Final = 0.75
"""Jaccard similarity of near-duplicates."""
_CROWD: Final = 16
"""Number of earlier texts with the same part to compare with: thousands of texts from one template
share most parts, and comparing all of them would take hours."""
_WORD: Final = re.compile(r"\w+(?:['’.\-]\w+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resemblance:
    """A near-duplicate of an earlier text."""

    index: int
    earlier: int
    similarity: float
    """0 to 1; 1: the same words and pairs of words."""


def words(text: str) -> tuple[str, ...]:
    """Return the normalised words of a text.

    >>> words("What's the e-mail of  Ines?")
    ("what's", 'the', 'e-mail', 'of', 'ines')
    """
    return tuple(_WORD.findall(norm_text(text)))


def shingles(text: str) -> frozenset[str]:
    """Return the words and the pairs of neighbouring words of a text."""
    found = words(text)
    return frozenset(found) | {f"{one} {two}" for one, two in pairwise(found)}


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the size of the intersection over that of the union; 0 if both are empty."""
    common = len(one & other)
    union = len(one) + len(other) - common
    return common / union if union else 0.0


def find_resemblances(texts: Sequence[str], *, threshold: float = NEAR) -> Iterator[Resemblance]:
    """Yield the earlier texts that each one resembles, most similar first.

    Args:
        texts: in a stable order, because the result depends on it.
        threshold: minimum similarity, above 0.
    """
    sets = [shingles(text) for text in texts]
    n_holding = Counter(part for held in sets for part in held)
    holding: dict[str, list[int]] = defaultdict(list)
    for index, held in enumerate(sets):
        # At the threshold, two sets differ in at most so many parts of either.
        n_rarest = int((1 - threshold) * len(held) + 1e-9) + 1
        candidates: set[int] = set()
        for part in heapq.nsmallest(n_rarest, held, key=lambda one: (n_holding[one], one)):
            earlier = holding[part]
            candidates.update(earlier)
            if len(earlier) < _CROWD:
                earlier.append(index)
        similar = [(jaccard(held, sets[one]), one) for one in candidates]
        for similarity, one in sorted(similar, key=lambda pair: (-pair[0], pair[1])):
            if similarity >= threshold:
                yield Resemblance(index=index, earlier=one, similarity=similarity)


def asks_of_another(one: str, other: str) -> bool:
    """Whether two texts differ in a number, and so have different subjects.

    >>> asks_of_another("What does form 12 ask for?", "What does form 13 ask for?")
    True
    """
    return _numbers(one) != _numbers(other)


@lru_cache(maxsize=1 << 16)
def _numbers(text: str) -> frozenset[str]:
    return frozenset(word for word in words(text) if any(map(str.isdigit, word)))


_Scope = tuple[frozenset[str], frozenset[str], int | None]
_SHOWN: Final = 3
"""Number of duplicates named in a finding."""


def find_duplicates(cases: Sequence[PlacedCase]) -> Iterator[LintFinding]:
    """Yield a finding for each case whose question nearly equals an earlier one.

    Questions with different vaults, folders or cutoffs, and translations of one another, are not
    duplicates. Near-duplicates are ignored if they differ in a number or in their evidence, or if
    only one is answerable.

    Args:
        cases: of all files, in their order.
    """
    yield from _exact(cases)
    yield from _near(cases)


def _exact(cases: Sequence[PlacedCase]) -> Iterator[LintFinding]:
    first: dict[tuple[tuple[str, ...] | str, _Scope, str], PlacedCase] = {}
    for placed in cases:
        key = (_asked(placed.case), _scope(placed.case))
        same_file = first.setdefault((*key, placed.file), placed)
        anywhere = first.setdefault((*key, ""), placed)
        if same_file is not placed:
            yield _same(placed, same_file)
        elif anywhere is not placed:
            message = f"the same question as {anywhere.place} ({anywhere.case.id}) of another set"
            yield finding(placed, "warning", "leakage", message, field="question")


def _same(placed: PlacedCase, other: PlacedCase) -> LintFinding:
    where = f"{other.place} ({other.case.id})"
    if _expectation(placed.case) != _expectation(other.case):
        message = f"the same question as {where}, with other evidence or another answerable"
        return finding(placed, "error", "contradiction", message, field="question")
    message = f"the same question as {where}, so it counts twice"
    return finding(placed, "error", "duplicate", message, field="question")


def _near(cases: Sequence[PlacedCase]) -> Iterator[LintFinding]:
    reported: dict[tuple[int, bool], int] = {}
    for found in find_resemblances([placed.case.question for placed in cases], threshold=NEAR):
        placed, other = cases[found.index], cases[found.earlier]
        elsewhere = placed.file != other.file
        if not resembles(placed.case, other.case):
            continue
        n_reported = reported.get((found.index, elsewhere), 0)
        if n_reported < _SHOWN:
            reported[found.index, elsewhere] = n_reported + 1
            yield _nearly(placed, other, found.similarity, elsewhere=elsewhere)


def resembles(one: Case, other: Case) -> bool:
    """Whether two cases with similar questions ask the same."""
    if asks_of_another(one.question, other.question):
        return False
    translated = one.id == other.translation_of or other.id == one.translation_of
    if (
        one.answerable != other.answerable
        or translated
        or _scope(one) != _scope(other)
        or _asked(one) == _asked(other)
    ):
        return False
    evidence, others = _evidence(one), _evidence(other)
    return not evidence or not others or bool(evidence & others)


def _nearly(
    placed: PlacedCase, other: PlacedCase, similarity: float, *, elsewhere: bool
) -> LintFinding:
    rule: Rule = "leakage" if elsewhere else "near-duplicate"
    set_of = " of another set" if elsewhere else ""
    message = (
        f"nearly the same question as {other.place} ({other.case.id}){set_of}, "
        f"{similarity:.0%} alike"
    )
    return finding(placed, "warning", rule, message, field="question")


def _asked(case: Case) -> tuple[str, ...] | str:
    # A question without words, such as emoji, is compared as a whole.
    return words(case.question) or case.question


def _scope(case: Case) -> _Scope:
    return frozenset(case.vaults), frozenset(case.folders), case.k


def _evidence(case: Case) -> frozenset[tuple[str, tuple[str, ...]]]:
    return frozenset((norm_path(one.rel_path), anchor_segments(one)) for one in case.gold_supports)


def _expectation(case: Case) -> tuple[bool, frozenset[tuple[str, tuple[str, ...]]]]:
    return case.answerable, _evidence(case)
