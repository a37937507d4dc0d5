"""Figures of a standard suite beside the published ones (docs/studies.md#standard-suites).

Published figures rank documents, and a target delivers chunks: a document counts once, at its first
chunk, before the list is cut. The document with the id of the question is left out, as trec_eval
runs of BEIR do (``-removeQuery``). The values then equal ``nDCG@k`` and ``R@k`` of ir_measures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pytest_rageval.analysis.rerank import MEASURES, Candidates, read_candidates
from pytest_rageval.analysis.stats.distributions import cluster_sums
from pytest_rageval.analysis.stats.intervals import UNIT, fmean, mean_interval
from pytest_rageval.metrics.matching import PathCase, document_keys, norm_path
from pytest_rageval.values.record import CaseRecord

Verdict = Literal["below", "in_range", "above"]
_WORST_FIRST: Final[tuple[Verdict, ...]] = ("below", "above", "in_range")


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A figure of the literature."""

    metric: Literal["ndcg", "recall"]
    k: int
    """Cutoff, in documents."""
    values: Mapping[str, float]
    """By the system that reached it, 0 to 1; together they are the published range."""

    @property
    def key(self) -> str:
        """Such as ``ndcg@10``."""
        return f"{self.metric}@{self.k}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFigure:
    """A figure of a run beside the published range."""

    published: Published
    value: float
    """Mean over the questions."""
    low: float | None
    high: float | None
    """Ends of the 95 % interval; None: a single question has none, and the mean is compared."""
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteStudy:
    """The figures of a run of a suite."""

    n: int
    """Questions that were answered and have golds."""
    figures: tuple[SuiteFigure, ...]
    left_out: Mapping[str, int]
    """Questions by the reason why they have no figures."""
    n_crowded: int
    """Answers of ``k`` chunks or more from fewer documents than the deepest cutoff."""
    cap: int | None
    """Number of chunks below the deepest cutoff that most answers have, and none exceeds: a limit
    of the target; None: there is no sign of one."""
    not_measured: tuple[Published, ...]
    """Published figures whose cutoff is above the ``k`` of the run."""

    @property
    def verdict(self) -> Verdict:
        """``below`` if any figure is, else ``above`` if any is."""
        found = {figure.verdict for figure in self.figures}
        return next(one for one in _WORST_FIRST if one in found)


def study_suite(
    records: Iterable[CaseRecord],
    published: Sequence[Published],
    *,
    k: int,
    own_documents: Mapping[str, str],
    path_case: PathCase = "sensitive",
) -> SuiteStudy | None:
    """Measure a run; None: no question was answered, or no figure can be measured.

    Args:
        records: of the run.
        published: figures to compare with.
        k: number of chunks that were asked for.
        own_documents: by case id, the path of the document with the id of the question.
        path_case: whether paths that differ only in case are different documents.
    """
    cases, left_out = read_candidates(records, path_case=path_case, level="document")
    orders = {
        case.key: document_order(case, own_documents.get(case.record.case.id)) for case in cases
    }
    measured = [one for one in published if one.k <= k]
    if not cases or not measured:
        return None
    deepest = max(one.k for one in measured)
    sizes = [len(case.chunks) for case in cases]
    most = max(sizes)
    return SuiteStudy(
        n=len(cases),
        figures=tuple(
            _figure(
                one,
                [MEASURES[one.metric](case.ranking(orders[case.key], one.k)) for case in cases],
            )
            for one in measured
        ),
        left_out=Counter(left_out),
        n_crowded=sum(len(case.chunks) >= k and len(orders[case.key]) < deepest for case in cases),
        cap=most if 0 < most < min(deepest, k) and sizes.count(most) > len(sizes) / 2 else None,
        not_measured=tuple(one for one in published if one.k > k),
    )


def document_order(case: Candidates, own_document: str | None = None) -> list[int]:
    """Return the position of the first chunk of each document, best first.

    Args:
        case: the delivered chunks.
        own_document: path of a document to leave out.
    """
    path_case = case.settings.path_case
    own = None if own_document is None else norm_path(own_document, path_case)
    first: dict[object, int] = {}
    for position, key in enumerate(document_keys(case.chunks, path_case)):
        if key[1] != own:
            first.setdefault(key, position)
    return list(first.values())


def _figure(published: Published, values: Sequence[float]) -> SuiteFigure:
    interval = mean_interval(cluster_sums(values), UNIT)
    value = fmean(values)
    assert value is not None
    verdict: Verdict = "in_range"
    if (value if interval.high is None else interval.high) < min(published.values.values()):
        verdict = "below"
    elif (value if interval.low is None else interval.low) > max(published.values.values()):
        verdict = "above"
    return SuiteFigure(
        published=published, value=value, low=interval.low, high=interval.high, verdict=verdict
    )
