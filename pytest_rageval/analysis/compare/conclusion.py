"""The verdict of a comparison without limits: better, worse, mixed, no difference, cannot tell.

Pure. Defined in docs/compare.md#the-verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pytest_rageval.analysis.aggregate.case_groups import CaseGroup
from pytest_rageval.analysis.compare.metrics import MARGIN_SHARE, MetricChange, PairedComparison
from pytest_rageval.analysis.compare.pairs import PASSED
from pytest_rageval.metrics.built_in import ASPECT_KEYS
from pytest_rageval.support.text import TOLERANCE, counted, first_few, format_value, part, plural
from pytest_rageval.values.headline import Headline
from pytest_rageval.values.words import CHANGE

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
    unproven: bool = False
    """Whether cases changed all the same, in numbers that may be chance."""

    @property
    def shown(self) -> str:
        """The word as it is shown."""
        word = "incomplete" if self.incomplete else "unproven" if self.unproven else self.word
        return word.replace("_", " ")

    @property
    def sentence(self) -> str:
        """The verdict in one plain-ASCII sentence, which begins with it."""
        return f"{self.shown}: {self.reason}"


def unanswered(cases: Sequence[CaseGroup]) -> str:
    """Say that a target was down, since most of its cases have no answer; empty: it was not."""
    n = sum(
        case.outcome == "error" and case.first.error is not None and case.first.error.kind in _LOST
        for case in cases
    )
    if not n or n < 0.5 * len(cases):
        return ""
    return f"{n} of {counted(len(cases), 'case')} got no answer"


def conclude(found: PairedComparison, headline: Headline) -> Conclusion:
    """Conclude from the share of cases that pass, adjusted for their number the aspects, and time.

    A change counts if it is proven (the bounds exclude 0) and large (beyond the margin); new errors
    count without a proof, if they are several and a share of the cases beyond the margin.
    """
    pairs, since = found.pairing.pairs, headline.since
    for name, cases in (("the new run", [p.new for p in pairs]), ("base", [p.base for p in pairs])):
        if gone := unanswered(cases):
            return Conclusion(word="cannot_tell", reason=f"{gone} in {name}", incomplete=True)
    rows = [row for row in _deciding(found) if row.p is not None]
    if not rows:
        reason = found.unscored or f"{counted(len(pairs), 'paired case')} with a score in both runs"
        return Conclusion(word="cannot_tell", reason=reason)
    worse, better = (
        [row for row in rows if row.verdict == verdict and is_large(row)]
        for verdict in ("worse", "better")
    )
    down = since is not None and since.erred.n > max(1.0, MARGIN_SHARE * since.n)
    slower = 0.0 if since is None or since.time_ms is None else since.time_ms[1] - since.time_ms[0]
    bad = bool(worse or down or slower > 0)
    good = bool(better or (slower < 0 and not bad))
    parts = [since.counts] if since is not None else []
    parts += [*_moved(worse), *_moved(better), *(since.rates if since is not None else ())]
    # Without a case that is worse they are of old failures, except that cases vary.
    broke = any(flip.direction == "worse" for flip in found.flips)
    parts += [one.public for one in headline.patterns if broke or one.code == "repeats"][:2]
    if found.passed is not None and found.passed.p is not None and not found.passed.equal:
        parts.append(_p(found.passed.p))
    if bad or good:
        word: ConclusionWord = "mixed" if bad and good else CHANGE[not bad]
        return Conclusion(word=word, reason="; ".join(parts))
    if found.no_difference:
        reason = f"every score of {counted(len(pairs), 'case')} is equal"
        return Conclusion(word="no_difference", reason=reason)
    parts += _half_missing(rows)
    return Conclusion(
        word="no_difference",
        reason="; ".join(parts) or "no score moved",
        unproven=bool(found.flips),
    )


def is_large(row: MetricChange) -> bool:
    """Whether a change is beyond the margin below which it does not matter."""
    return abs(row.delta or 0.0) > row.margin + TOLERANCE


def _deciding(found: PairedComparison) -> Iterator[MetricChange]:
    if found.passed is not None:
        yield found.passed
    yield from (found.metrics[key] for key in ASPECT_KEYS if key in found.metrics)


def _moved(rows: Sequence[MetricChange]) -> Iterator[str]:
    """Name the metrics that decide; that cases pass or fail is counted already."""
    if named := [row for row in rows if row.key != PASSED.key]:
        first, *others = named
        more = part(", {}", first_few([row.key for row in others], _NAMED))
        yield f"{_change_text(first)}{more}"


def _change_text(row: MetricChange) -> str:
    return f"{row.key} {format_value(row.base)} -> {format_value(row.new)} ({_p(row.p or 0.0)})"


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def _half_missing(rows: Iterable[MetricChange]) -> Iterator[str]:
    """Say of the changes that do not count whether size or proof is missing."""
    proven = {"better", "worse"}
    small = [row.key for row in rows if row.verdict in proven and not is_large(row)]
    if small:
        verb = plural(len(small), "is", "are")
        yield f"{first_few(small, _NAMED)} {verb} proven to differ, but by little"
    large = [row for row in rows if row.verdict not in proven and is_large(row)]
    if named := [row for row in large if row.key != PASSED.key]:
        yield f"{_change_text(named[0])} is a large change, but not proven"
