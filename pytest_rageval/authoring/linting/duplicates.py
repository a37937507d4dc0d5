"""Duplicate questions within a set or between sets. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pytest_rageval.authoring.linting.findings import (
    LintFinding,
    PlacedCase,
    Rule,
    Severity,
    finding,
)
from pytest_rageval.authoring.linting.shingles import (
    NEAR,
    asks_of_another,
    find_resemblances,
    words,
)
from pytest_rageval.metrics.matching import anchor_segments, norm_path
from pytest_rageval.values.case import Case

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
    told: dict[tuple[int, bool], int] = {}
    for found in find_resemblances([placed.case.question for placed in cases], threshold=NEAR):
        placed, other = cases[found.index], cases[found.earlier]
        elsewhere = placed.file != other.file
        if not resembles(placed.case, other.case):
            continue
        said = told.get((found.index, elsewhere), 0)
        if said < _SHOWN:
            told[found.index, elsewhere] = said + 1
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
    severity: Severity = "warning"
    rule: Rule = "leakage" if elsewhere else "near-duplicate"
    set_of = " of another set" if elsewhere else ""
    message = (
        f"nearly the same question as {other.place} ({other.case.id}){set_of}, "
        f"{similarity:.0%} alike"
    )
    return finding(placed, severity, rule, message, field="question")


def _asked(case: Case) -> tuple[str, ...] | str:
    # A question without words, such as emoji, is compared as a whole.
    return words(case.question) or case.question


def _scope(case: Case) -> _Scope:
    return frozenset(case.vaults), frozenset(case.folders), case.k


def _evidence(case: Case) -> frozenset[tuple[str, tuple[str, ...]]]:
    return frozenset((norm_path(one.rel_path), anchor_segments(one)) for one in case.gold_supports)


def _expectation(case: Case) -> tuple[bool, frozenset[tuple[str, tuple[str, ...]]]]:
    return case.answerable, _evidence(case)
