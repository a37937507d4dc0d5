"""The common cases of two runs, the values of both sides, and the unit of inference. Pure.

Defined and chosen by simulation in docs/statistics.md#which-unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from math import nan
from typing import Final, Literal
from unicodedata import normalize

import numpy as np

from pytest_rageval.analysis.aggregate.case_groups import (
    CaseGroup,
    CaseOutcome,
    group_repeats,
    pass_share,
    record_outcome,
)
from pytest_rageval.analysis.aggregate.table import Floats, ScoreTable
from pytest_rageval.analysis.stats.difference_test import DifferenceTest, difference_test
from pytest_rageval.analysis.stats.intervals import MetricScale, fmean
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.support.text import TOLERANCE
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import ClusterSetting

Unit = Literal["document", "section", "case"]
_UNITS: Final[tuple[Unit, ...]] = ("document", "section", "case")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """Grouping of the cases of a comparison."""

    by: Unit = "document"
    """Property that the cases of one group share."""
    whole: bool = False
    """Whether the groups are taken for a sample of others, as the setting ``document`` asks."""
    n_documents: int | None = None
    """Documents that the cases are about; None: some are about none or are turns of conversations,
    or it is unknown."""
    note: str = ""
    """Reason why another unit than the one asked for decides; empty: none does."""

    def ids(self, cases: Iterable[CaseRecord]) -> list[str | None]:
        """Return the group of each case; None: the case is its own."""
        return [cluster_of(case, self.by) for case in cases]


BY_DOCUMENT: Final = Clustering()
"""The unit unless a project or the cases ask for another."""


def cluster_of(case: CaseRecord, by: Unit) -> str | None:
    """Return the document or section of the first gold; None if absent, or by case.

    The turns of a conversation are never apart.
    """
    if case.case.talk is not None:
        return case.cluster
    if by == "case" or case.cluster is None:
        return None
    golds = case.case.gold_supports
    heading = golds[0].heading_path if by == "section" and golds else None
    return f"{case.cluster} > {heading}" if heading else case.cluster


def choose_clustering(cases: Sequence[CaseRecord], setting: ClusterSetting) -> Clustering:
    """Choose the unit of the paired cases.

    One document is no sample of documents: its sections decide, and those of one section by case.

    Args:
        cases: one record of each pair.
        setting: ``auto`` groups by document and weighs the groups by their number.
    """
    documents = {case.cluster for case in cases}
    apart = any(case.case.talk is not None for case in cases)
    n_documents = None if apart or None in documents else len(documents)
    wanted: Unit = "document" if setting == "auto" else setting
    for by in _UNITS[_UNITS.index(wanted) :]:
        groups = [cluster_of(case, by) for case in cases]
        # A case of no group is its own.
        if by == "case" or len(set(groups)) + max(groups.count(None) - 1, 0) > 1:
            break
    note = ""
    if by != wanted and len(cases) > 1:
        note = f"all cases are about one {_UNITS[_UNITS.index(by) - 1]}: its {by}s decide"
    whole = by != "case" and setting != "auto"
    return Clustering(by=by, whole=whole, n_documents=n_documents, note=note)


PASSED: Final = MetricInfo(
    key="pass_rate", title="Share of cases that pass", binary=True, population="cases", level="run"
)
TIME: Final = MetricInfo(
    key="latency_ms",
    title="Mean time of a call in ms",
    direction="lower",
    scale=(0.0, None),
    population="answered cases",
    level="run",
)
"""Figures over all metrics: whether a case passes, and its time."""

LeftOutReason = Literal["only_in_base", "only_in_new", "content_changed", "k_changed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePair:
    """One case as both runs asked it, with its repeats."""

    base: CaseGroup
    new: CaseGroup

    @property
    def alike(self) -> CasePair:
        """The pair with as many repeats of each run: of more, the worst one is worse by chance."""
        both = self.base.unselected, self.new.unselected
        n = min(map(len, both))
        base, new = (CaseGroup(records=records[:n]) for records in both)
        return CasePair(base=base, new=new)

    @property
    def outcomes(self) -> tuple[CaseOutcome, CaseOutcome]:
        """The outcomes of as many repeats of each run; further ones only tell that a case varies.

        A case that changed and failed as often as the other run asked it is flaky if it passes
        later on.
        """
        alike = self.alike
        if alike.base.outcome == alike.new.outcome:
            return alike.base.outcome, alike.new.outcome
        base, new = (
            whole.outcome if whole.outcome == "flaky" and one.outcome != "passed" else one.outcome
            for whole, one in ((self.base, alike.base), (self.new, alike.new))
        )
        return base, new


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpairedCase:
    """A case that cannot be compared, and the reason."""

    file: str
    case_id: str
    reason: LeftOutReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """The cases of two runs, matched by file, id, content and cutoff."""

    pairs: tuple[CasePair, ...]
    """In the order of file and id."""
    left_out: tuple[UnpairedCase, ...]

    def count(self, reason: LeftOutReason) -> int:
        """Number of cases left out for a reason."""
        return sum(one.reason == reason for one in self.left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedValues:
    """One metric over the pairs that were scored on both sides."""

    base: tuple[float, ...]
    new: tuple[float, ...]
    clusters: tuple[str | None, ...]
    nodeids: tuple[str, ...]
    n_base_only: int = 0
    n_new_only: int = 0
    whole_clusters: bool = False
    """Whether the clusters are taken for a sample of others."""

    @property
    def n(self) -> int:
        """Number of pairs."""
        return len(self.base)

    @property
    def equal(self) -> bool:
        """Whether there are pairs and each has equal values."""
        if self.base == self.new:
            return self.n > 0
        pairs = zip(self.base, self.new, strict=True)
        return all(abs(new - base) <= TOLERANCE for base, new in pairs)

    def test(self, info: MetricInfo) -> DifferenceTest | None:
        """Test the mean of new - base; None: too few pairs."""
        return difference_test(
            self.base,
            self.new,
            MetricScale(*info.scale, binary=info.binary),
            clusters=self.clusters,
            whole_clusters=self.whole_clusters,
        )


def pair_cases(
    base: Iterable[CaseRecord], new: Iterable[CaseRecord], *, any_k: bool = False
) -> Pairing:
    """Pair the cases of two runs by file and id, if content and cutoff are the same.

    Cases that do not count are ignored.

    Args:
        base: records of the earlier run.
        new: records of the later one.
        any_k: pair cases of different cutoffs, too.
    """
    ours = {place_of(c.first): c for c in group_repeats(r for r in base if r.counted)}
    theirs = {place_of(c.first): c for c in group_repeats(r for r in new if r.counted)}
    pairs: list[CasePair] = []
    left_out: list[UnpairedCase] = []
    for key in sorted({*ours, *theirs}):
        one, other = ours.get(key), theirs.get(key)
        if one is None or other is None:
            reason: LeftOutReason = "only_in_new" if one is None else "only_in_base"
        elif one.first.case_hash != other.first.case_hash:
            reason = "content_changed"
        elif one.first.k != other.first.k and not any_k:
            reason = "k_changed"
        else:
            pairs.append(CasePair(base=one, new=other))
            continue
        left_out.append(UnpairedCase(file=key[0], case_id=key[1], reason=reason))
    return Pairing(pairs=tuple(pairs), left_out=tuple(left_out))


def place_of(record: CaseRecord) -> tuple[str, str]:
    """Return the file and the name of a case, equal on a Mac that decomposes names of files."""
    return normalize("NFC", record.file), record.name


class PairedColumns:
    """The metrics of pairs, each as two columns.

    Args:
        pairs: of one comparison, or of one group in it.
        keys: metrics to read.
        clustering: unit of the comparison.
    """

    def __init__(
        self,
        pairs: Sequence[CasePair],
        keys: Sequence[str],
        clustering: Clustering = BY_DOCUMENT,
    ) -> None:
        self._base = ScoreTable.of([pair.base for pair in pairs], keys)
        self._new = ScoreTable.of([pair.new for pair in pairs], keys)
        self._clusters = clustering.ids(pair.new.first for pair in pairs)
        self._whole_clusters = clustering.whole
        self._nodeids = [pair.new.first.nodeid for pair in pairs]

    def both(self, key: str) -> tuple[Floats, Floats]:
        """Return one metric of every pair in both runs, repeats averaged."""
        return self._base.metric(key), self._new.metric(key)

    def values(self, key: str) -> PairedValues:
        """Return one metric, repeats averaged, with counts of one-sided scores."""
        return self.paired(*self.both(key))

    def paired(self, base: Floats, new: Floats) -> PairedValues:
        """Return a figure of every pair where it is finite on both sides."""
        known, scored = np.isfinite(base), np.isfinite(new)
        both = known & scored
        return PairedValues(
            base=tuple(base[both].tolist()),
            new=tuple(new[both].tolist()),
            clusters=tuple(compress(self._clusters, both)),
            nodeids=tuple(compress(self._nodeids, both)),
            n_base_only=int((known & ~scored).sum()),
            n_new_only=int((scored & ~known).sum()),
            whole_clusters=self._whole_clusters,
        )


def pass_values(pairs: Sequence[CasePair], clustering: Clustering) -> PairedValues:
    """Pair the share of the repeats of each case that pass."""

    def passes(case: CaseGroup) -> float:
        share = (
            None if case.outcome == "error" else pass_share(map(record_outcome, case.unselected))
        )
        return nan if share is None else share

    return _paired(pairs, passes, clustering)


def time_values(pairs: Sequence[CasePair], clustering: Clustering) -> PairedValues:
    """Pair the mean time of the answers of each case."""

    def time(case: CaseGroup) -> float:
        answered = (r.latency for r in case.unselected if r.status == "ok")
        known = [latency for latency in answered if "total_ms" in latency]
        mean = fmean([latency["total_ms"] for latency in known])
        return nan if mean is None else mean

    return _paired(pairs, time, clustering)


def _paired(
    pairs: Sequence[CasePair], value: Callable[[CaseGroup], float], clustering: Clustering
) -> PairedValues:
    base = np.array([value(pair.base) for pair in pairs], dtype=float)
    new = np.array([value(pair.new) for pair in pairs], dtype=float)
    return PairedColumns(pairs, (), clustering).paired(base, new)


MET: Final[frozenset[CaseOutcome]] = frozenset({"passed", "flawed"})
"""Outcomes of cases that met their expectation of retrieval and abstention."""


def newly_missed(pairs: Iterable[CasePair]) -> tuple[CaseRecord, ...]:
    """Return the cases that the base did not miss and the new run missed.

    A flaw is no miss on either side: judges are noisy.
    """
    return tuple(
        pair.new.first for pair in pairs if pair.base.worst in MET and pair.new.worst == "missed"
    )


Verdict = Literal["better", "worse", "same", "equal", "unclear"]


def verdict(
    low: float | None,
    high: float | None,
    *,
    margin: float = 0.0,
    direction: Literal["higher", "lower", "neutral"] = "higher",
    equal: bool = False,
) -> Verdict:
    """The verdict of a comparison from the one-sided bounds of candidate - baseline.

    Args:
        low: lower bound; None if absent.
        high: upper bound.
        margin: differences smaller than this do not matter.
        direction: direction of improvement; a neutral metric is neither better nor worse.
        equal: whether no pair differs. The interval of few pairs is wide even then.

    >>> verdict(-0.02, 0.03, margin=0.05)
    'same'
    """
    if direction == "lower":
        low, high = (None if high is None else -high), (None if low is None else -low)
    if direction != "neutral":
        if low is not None and low > 0:
            return "better"
        if high is not None and high < 0:
            return "worse"
    within = low is not None and high is not None and -margin < low and high < margin
    return "same" if within else "equal" if equal else "unclear"
