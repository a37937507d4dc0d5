"""The verdict of a comparison without limits: better, worse, mixed, no difference, cannot tell.

Pure. Defined in docs/compare.md#the-verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup
from pytest_rageval.analysis.compare.metrics import Comparison, MetricChange
from pytest_rageval.metrics.built_in import ASPECT_KEYS
from pytest_rageval.support.text import TOLERANCE, counted, first_few, format_value

ConclusionWord = Literal[
    "better", "worse", "mixed", "no_difference", "cannot_tell", "not_comparable"
]
_NAMED: Final = 4
_LOST: Final = frozenset({"connection", "timeout", "http", "empty", "not_attempted"})
"""Kinds of errors of a target that is down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """The verdict with its reason."""

    word: ConclusionWord
    reason: str
    """One sentence without the word and without a full stop."""
    incomplete: bool = False
    """Whether nothing can be told because the target was down."""

    @property
    def sentence(self) -> str:
        """The verdict in one plain-ASCII sentence, which begins with it in capitals."""
        word = "INCOMPLETE" if self.incomplete else self.word.replace("_", " ").upper()
        return f"{word}{'' if self.word == 'no_difference' else ':'} {self.reason}"


def unanswered(cases: Sequence[CaseGroup]) -> str:
    """Say that a target was down, since most of its cases have no answer; empty: it was not."""
    n = sum(
        case.outcome == "error" and case.first.error is not None and case.first.error.kind in _LOST
        for case in cases
    )
    if not n or n < 0.5 * len(cases):
        return ""
    return f"{n} of {counted(len(cases), 'case')} got no answer"


def conclude(found: Comparison) -> Conclusion:
    """Conclude from the share of cases that pass and, adjusted for their number, the aspects.

    A change counts if it is proven (the bounds exclude 0) and large (beyond the margin).
    """
    pairs = found.pairing.pairs
    for name, cases in (("the new run", [p.new for p in pairs]), ("base", [p.base for p in pairs])):
        if down := unanswered(cases):
            return Conclusion(word="cannot_tell", reason=f"{down} in {name}", incomplete=True)
    rows = [row for row in _deciding(found) if row.p is not None]
    if not rows:
        reason = found.unscored or f"{counted(len(pairs), 'paired case')} with a score in both runs"
        return Conclusion(word="cannot_tell", reason=reason)
    worse, better = (
        [row for row in rows if row.verdict == word and is_large(row)]
        for word in ("worse", "better")
    )
    counts = _counts(found)
    rest = [*_half_missing(rows), *_beside(found)]
    if worse or better:
        word: ConclusionWord = "mixed" if worse and better else "worse" if worse else "better"
        parts = [*counts, *_named("worse", worse), *_named("better", better)]
        return Conclusion(word=word, reason="; ".join([*parts, *rest]))
    seen = rows[0].mde
    effect = "no change would be" if seen is None else f"{_short(seen)} would be"
    shown = f"that these cases could show ({effect} seen)"
    said = "; ".join([*counts, *rest])
    return Conclusion(word="no_difference", reason=f"{shown}: {said}" if said else shown)


def is_large(row: MetricChange) -> bool:
    """Whether a change is beyond the margin below which it does not matter."""
    return abs(row.delta or 0.0) > row.margin + TOLERANCE


def _deciding(found: Comparison) -> Iterator[MetricChange]:
    if found.passed is not None:
        yield found.passed
    yield from (found.metrics[key] for key in ASPECT_KEYS if key in found.metrics)


def _counts(found: Comparison) -> list[str]:
    pairs = found.pairing.pairs
    n = sum("error" not in {pair.base.outcome, pair.new.outcome} for pair in pairs)
    moved = [f.direction for f in found.flips if "error" not in {f.base_outcome, f.new_outcome}]
    worse, better = (moved.count(direction) for direction in ("worse", "better"))
    return [f"{worse} worse and {better} better of {counted(n, 'case')}"]


def _named(word: str, rows: Sequence[MetricChange]) -> Iterator[str]:
    if rows:
        first, *others = rows
        more = f", {first_few([row.key for row in others], _NAMED)}" if others else ""
        yield f"{word}: {first.key} {_moved(first)}{more}"


def _moved(row: MetricChange) -> str:
    p = "p < 0.001" if row.p is not None and row.p < 0.001 else f"p {format_value(row.p)}"
    return f"{format_value(row.base)} -> {format_value(row.new)} ({p})"


def _half_missing(rows: Iterable[MetricChange]) -> Iterator[str]:
    """Say of the changes that do not count whether size or proof is missing."""
    proven = {"better", "worse"}
    small = [row.key for row in rows if row.verdict in proven and not is_large(row)]
    if small:
        verb = "is" if len(small) == 1 else "are"
        yield f"{first_few(small, _NAMED)} {verb} proven to differ, but by little"
    large = [row for row in rows if row.verdict not in proven and is_large(row)]
    if large:
        yield f"{large[0].key} {_moved(large[0])} is a large change, but not proven"


def _beside(found: Comparison) -> Iterator[str]:
    erred = sum(f.new_outcome == "error" != f.base_outcome for f in found.flips)
    if erred:
        yield f"{counted(erred, 'case')} {'is' if erred == 1 else 'are'} an error now"


def time_text(found: Comparison) -> str:
    """Say how much slower or faster calls are; empty: neither is proven, or by little."""
    time = found.time
    if time is None or time.verdict not in {"better", "worse"} or not time.base or not time.new:
        return ""
    ratio = max(time.new / time.base, time.base / time.new)
    if ratio < 1.5:
        return ""
    word = "slower" if time.verdict == "worse" else "faster"
    return f"latency_ms: calls are {ratio:.1f} times {word} ({time.base:.0f} -> {time.new:.0f} ms)"


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"
