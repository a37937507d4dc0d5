"""Duplicate questions within a set or between sets, found without comparing all pairs. Pure.

Texts are compared by the Jaccard similarity of their words and pairs of words. Two that are alike
share at least one of their rarest parts (prefix filtering: Bayardo, Ma and Srikant 2007), and
enough parts are left from the first one that they share (positional filtering: Xiao, Wang, Lin and
Yu 2008), so only such texts are compared.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from pytest_rageval.authoring.linting.findings import LintFinding, PlacedCase, Rule, finding
from pytest_rageval.metrics.matching import anchor_segments, norm_path, norm_text
from pytest_rageval.metrics.quotes import Separators, spaced
from pytest_rageval.values.case import Case

NEAR: Final = 0.75
"""Jaccard similarity of near-duplicates."""
MOST: Final = 128
"""Maximum number of earlier texts that one is compared with: thousands of texts from one template
may all be alike, and comparing each with each would take minutes."""
_JOINERS: Final = "'’.-"
_WORD: Final = re.compile(rf"[^\s{_JOINERS}]+(?:[{_JOINERS}][^\s{_JOINERS}]+)*")
_SEPARATORS: Final = Separators({ord(joiner): joiner for joiner in f"{_JOINERS}_"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Resemblance:
    """A near-duplicate of an earlier text."""

    index: int
    earlier: int
    similarity: float
    """0 to 1; 1: the same words and pairs of words."""


def words(text: str) -> tuple[str, ...]:
    """Return the normalised words of a text; a character of a script without blanks is one.

    >>> words("What's the e-mail of  Ines?")
    ("what's", 'the', 'e-mail', 'of', 'ines')
    """
    return tuple(_WORD.findall(spaced(norm_text(text).translate(_SEPARATORS))))


def shingles(text: str) -> frozenset[str]:
    """Return the words and the pairs of neighbouring words of a text."""
    found = words(text)
    return frozenset(found) | {f"{one} {two}" for one, two in pairwise(found)}


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the size of the intersection over that of the union; 0 if both are empty."""
    common = len(one & other)
    union = len(one) + len(other) - common
    return common / union if union else 0.0


class _EarlierTexts:
    """Texts by their rarest parts, to find those that may be similar to another one."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        # Keyed by part, then by the number of parts of the text and of those from this one on.
        self._holding: dict[str, dict[tuple[int, int], list[int]]] = defaultdict(dict)

    def add(self, index: int, size: int, rarest: Sequence[str]) -> None:
        for place, part in enumerate(rarest):
            self._holding[part].setdefault((size, size - place), []).append(index)

    def candidates(self, size: int, rarest: Sequence[str]) -> set[int]:
        """Return at most ``MOST`` texts, those that share the rarest parts first."""
        found: set[int] = set()
        for place, part in enumerate(rarest):
            for (other_size, left), texts in self._holding.get(part, {}).items():
                # If this is the first part that both hold, they share at most the rest of either.
                if min(size - place, left) < self._least_common(size + other_size):
                    continue
                for text in texts:
                    if len(found) == MOST:
                        return found
                    found.add(text)
        return found

    def _least_common(self, sizes: int) -> int:
        """Return the number of common parts of two similar texts with so many parts together."""
        return math.ceil(self._threshold / (1 + self._threshold) * sizes - 1e-9)


def find_resemblances(texts: Sequence[str], *, threshold: float = NEAR) -> Iterator[Resemblance]:
    """Yield the earlier texts that each one resembles, most similar first.

    Every pair is found unless more than ``MOST`` earlier texts may be similar to one, such as
    thousands that differ in one word. It is then compared with ``MOST`` of them, those that share
    its rarest parts first.

    Args:
        texts: in a stable order, because the result depends on it.
        threshold: minimum similarity, above 0.
    """
    sets = [shingles(text) for text in texts]
    n_holding = Counter(part for held in sets for part in held)
    before = _EarlierTexts(threshold)
    for index, held in enumerate(sets):
        # At the threshold, two sets differ in at most so many parts of either.
        n_rarest = int((1 - threshold) * len(held) + 1e-9) + 1
        rarest = heapq.nsmallest(n_rarest, held, key=lambda part: (n_holding[part], part))
        candidates = before.candidates(len(held), rarest)
        before.add(index, len(held), rarest)
        similar = [(jaccard(held, sets[one]), one) for one in candidates]
        for similarity, one in sorted(similar, key=lambda pair: (-pair[0], pair[1])):
            if similarity >= threshold:
                yield Resemblance(index=index, earlier=one, similarity=similarity)


def find_alike(cases: Sequence[Case]) -> Iterator[Resemblance]:
    """Yield the pairs of cases whose questions are similar, but not the same, and ask the same.

    Cases that differ in a number, in vaults, folders, cutoff or user, or of which only one is
    answerable, are never compared, so questions numbered by a template do not hide others. Left out
    are pairs that differ in their evidence, translations of one another, turns of one conversation.

    Args:
        cases: in a stable order; the pairs of each are those of ``find_resemblances``, in its
            order.
    """
    kinds: dict[tuple[frozenset[str], _Scope, bool], list[int]] = defaultdict(list)
    for index, case in enumerate(cases):
        kinds[numbers(case.whole_question), _scope(case), case.answerable].append(index)
    asked, evidence = [_asked(case) for case in cases], [_evidence(case) for case in cases]
    for indexes in kinds.values():
        for found in find_resemblances([cases[index].whole_question for index in indexes]):
            index, earlier = indexes[found.index], indexes[found.earlier]
            one, other = evidence[index], evidence[earlier]
            if asked[index] == asked[earlier] or _belong(cases[index], cases[earlier]):
                continue
            if not one or not other or one & other:
                yield Resemblance(index=index, earlier=earlier, similarity=found.similarity)


def numbers(text: str) -> frozenset[str]:
    """Return the words of a text that contain a digit: texts that differ in them ask of another.

    >>> sorted(numbers("What does form 12 of § 3a ask for?"))
    ['12', '3a']
    """
    return frozenset(word for word in words(text) if any(map(str.isdigit, word)))


_Scope = tuple[frozenset[str], frozenset[str], int | None, str]
_SHOWN: Final = 3
"""Number of duplicates named in a finding."""


def find_duplicates(cases: Sequence[PlacedCase]) -> Iterator[LintFinding]:
    """Yield a finding for each case whose question nearly equals an earlier one.

    Questions with different vaults, folders, cutoffs or users, and translations of one another, are
    not duplicates. Near-duplicates are ignored if they differ in a number or in their evidence, or
    if only one is answerable.
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
    reported: Counter[tuple[int, bool]] = Counter()
    for found in find_alike([placed.case for placed in cases]):
        placed, other = cases[found.index], cases[found.earlier]
        elsewhere = placed.file != other.file
        reported[found.index, elsewhere] += 1
        if reported[found.index, elsewhere] <= _SHOWN:
            rule: Rule = "leakage" if elsewhere else "near-duplicate"
            where = f"{other.place} ({other.case.id}){' of another set' if elsewhere else ''}"
            message = f"nearly the same question as {where}, {found.similarity:.0%} alike"
            yield finding(placed, "warning", rule, message, field="question")


def _belong(one: Case, other: Case) -> bool:
    """Return whether cases are translations of one another, or turns of one conversation."""
    if one.talk is not None and one.item == other.item:
        return True
    return one.id == other.translation_of or other.id == one.translation_of


def _asked(case: Case) -> tuple[str, ...] | str:
    # A question without words, such as emoji, is compared as a whole.
    return words(case.whole_question) or case.whole_question


def _scope(case: Case) -> _Scope:
    return frozenset(case.vaults), frozenset(case.folders), case.k, repr(case.user)


def _evidence(case: Case) -> frozenset[tuple[str, tuple[str, ...]]]:
    return frozenset((norm_path(one.rel_path), anchor_segments(one)) for one in case.gold_supports)


def _expectation(case: Case) -> tuple[bool, frozenset[tuple[str, tuple[str, ...]]]]:
    return case.answerable, _evidence(case)
