"""The numbers of many records: one table of the cases that they are repeats of, and one of scores.

A record is reduced to a row as soon as it is added, so that a run of any length is aggregated
without its texts in memory. Aggregate, gate and comparison read their numbers here, so that all
mean the same by a case's value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, groupby
from math import fsum
from struct import pack
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pytest_rageval.analysis.aggregate.case_groups import (
    ERROR,
    NOT_APPLICABLE,
    CaseGroup,
    CaseOutcome,
    coded_scores,
    fold_repeats,
    outcome_of_repeats,
    record_outcome,
    stage_of_repeats,
)
from pytest_rageval.analysis.aggregate.operational import (
    AttemptStatus,
    attempt_status,
    verdict_failures,
)
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.deciding import rules_of_cut
from pytest_rageval.metrics.matching import PathCase
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.metrics.scoring import case_weight, is_unsure
from pytest_rageval.metrics.whole_run import Documents, NoDocuments, retrieved_documents
from pytest_rageval.values.record import AgainReason, CaseRecord, FailureStage
from pytest_rageval.values.verdict import JudgeUsage

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


class ScoreTable:
    """Scores of cases: finite, `NOT_APPLICABLE` or `ERROR`.

    Args:
        scores: of rows x metrics; the repeats of a case are next to each other.
        repeats: number of rows of each case.
        keys: the metrics.
    """

    def __init__(self, scores: Floats, repeats: Sequence[int], keys: Sequence[str]) -> None:
        self._scores = scores
        self.repeats: Places = np.array(repeats, dtype=np.intp)
        self._starts = np.cumsum(self.repeats) - self.repeats
        self._places = {key: place for place, key in enumerate(keys)}

    @classmethod
    def of(cls, cases: Sequence[CaseGroup], keys: Sequence[str]) -> ScoreTable:
        """Return some metrics of cases."""
        repeats = [case.unselected for case in cases]
        rows = [coded_scores(record.scores, keys) for case in repeats for record in case]
        scores = np.array(rows, dtype=float).reshape(len(rows), len(keys))
        return cls(scores, [*map(len, repeats)], keys)

    def metric(self, key: str) -> Floats:
        """Return a metric of every case."""
        return self.fold(self._scores[:, self._places[key]])

    def repeated(self, key: str, repeats: int) -> Floats:
        """Return a metric of cases x repeats, of the cases with so many."""
        rows = np.repeat(self.repeats == repeats, self.repeats)
        found: Floats = self._scores[rows, self._places[key]].reshape(-1, repeats)
        return found

    def fold(self, column: Floats | Sequence[float]) -> Floats:
        """Return one value per case, of a column with one per row."""
        column = np.asarray(column, dtype=float)
        folded: Floats = column[self._starts]
        for case in np.flatnonzero(self.repeats > 1):
            start = self._starts[case]
            folded[case] = fold_repeats(column[start : start + self.repeats[case]].tolist())
        return folded


def cluster_codes(clusters: Sequence[str | None]) -> Places:
    """Number the clusters of cases; a case without one is a cluster of its own."""
    codes: dict[object, int] = {}
    return np.array(
        [codes.setdefault(at if c is None else c, len(codes)) for at, c in enumerate(clusters)],
        dtype=np.intp,
    )


class Sample:
    """The scored values of a metric over some cases, a ``ClusteredSample``.

    Args:
        column: finite, `NOT_APPLICABLE` or `ERROR`.
        clusters: number of the cluster of each value.
    """

    def __init__(self, column: Floats, clusters: Places) -> None:
        scored = np.isfinite(column)
        self._values, self._clusters = column[scored], clusters[scored]
        self.n = len(self._values)
        self.n_error = int(np.count_nonzero(column == ERROR))
        self.n_clusters = int(np.count_nonzero(np.bincount(self._clusters)))
        self.is_binary = bool(((self._values == 0) | (self._values == 1)).all())
        """Whether every value is 0 or 1."""
        self.total = fsum(self._values.tolist())

    @property
    def median(self) -> float:
        """Median of the values, of which there is at least one."""
        # As `np.median`, which imports its masked arrays for it.
        low, high = (self.n - 1) // 2, self.n // 2
        return float(np.mean(np.partition(self._values, (low, high))[low : high + 1]))

    @property
    def pieces(self) -> Sequence[tuple[float, int]]:
        """Sum and size of each cluster, in order of first appearance."""
        groups: dict[int, list[float]] = {}
        for value, cluster in zip(self._values.tolist(), self._clusters.tolist(), strict=True):
            groups.setdefault(cluster, []).append(value)
        return [(fsum(group), len(group)) for group in groups.values()]

    def squares_about(self, centre: float) -> float:
        """Sum over clusters of (sum - size x ``centre``) squared."""
        totals: Floats = self._values - centre
        if self.n_clusters < self.n:  # each is added in the order of the cases
            totals = np.bincount(self._clusters, weights=totals).astype(np.float64)
        return fsum((totals * totals).tolist())


_Value = TypeVar("_Value")
_NOTHING: Final[Mapping[str, float]] = {}


class Profile(NamedTuple):
    """Groups that a case belongs to."""

    category: str
    difficulty: str | None
    tags: tuple[str, ...]
    vaults: tuple[str, ...]
    answerable: bool
    turn: str | None
    """``turn_group`` of the case."""


class Row(NamedTuple):
    """The numbers of one record."""

    name: tuple[str, str]
    """File and name of the case."""
    case_id: str
    repeat: int
    again: AgainReason | None
    selected: bool
    """As of the record."""
    scores: bytes
    """A float for each metric of the registry: finite, `NOT_APPLICABLE` or `ERROR`."""
    other_scores: Mapping[str, float]
    """The same for metrics that are not in it, by key."""
    before: Mapping[str, float | None]
    """Retrieval metrics before reranking."""
    profile: Profile
    cluster: str | None
    weight: float | None
    """Requests of a log that the case stands for, above 0; None: not known."""
    k: int
    has_reference: bool
    """Whether a judge can compare the answer with more than the retrieved chunks."""
    outcome: CaseOutcome
    stage: FailureStage | None
    attempt: AttemptStatus
    latency: Mapping[str, float]
    usage: Mapping[str, float]
    judged: JudgeUsage | None
    """Tokens and money of its verdicts; None: no model judged."""
    coverage: Mapping[str, Any] | None
    """Index of the target, as it reports it; None: it does not."""
    documents: Documents
    translation_of: str | None
    verdicts: tuple[int, int]
    """Number of verdicts that failed, and of all that were needed."""
    unsure: bool
    clarifies: bool | None
    """Whether the answer asks back; None: it must not, or nothing was answered."""


class RecordRows:
    """Collects records, in any order, and gives their numbers as a `CaseTable`.

    Args:
        registry: the metrics; unregistered keys of records get columns, too.
        path_case: whether paths that differ only in case are different documents.
        translated: whether any case may have a ``translation_of``, so that documents are kept to be
            compared.
    """

    def __init__(
        self,
        registry: Registry = BUILT_IN,
        *,
        path_case: PathCase = "sensitive",
        translated: bool = True,
    ) -> None:
        self.registry = registry
        self.rows: list[Row] = []
        self.rules = Counter[str]()
        self.uncounted: set[tuple[str, str]] = set()
        self.reranked = False
        self._documents = partial(retrieved_documents, path_case=path_case) if translated else None
        self._known: dict[object, Any] = {}
        self._coverage: Mapping[str, Any] | None = None

    def __getstate__(self) -> dict[str, object]:
        """Leave out the metrics, which may be code that another process cannot load."""
        return {name: getattr(self, name) for name in ("rows", "rules", "uncounted", "reranked")}

    def add(self, record: CaseRecord) -> None:
        """Take the numbers of one record, if it counts."""
        case, reply, scores = record.case, record.reply, record.scores
        if not record.counted:
            self.uncounted.add((record.file, case.id))
            return
        keys = self.registry.cases
        coded = coded_scores(scores, keys)
        others, before = scores.metrics.keys() - keys, scores.metrics_before_rerank
        # An empty list has all of its ranks, but is not evidence of a reranker.
        self.reranked |= before is not None and reply.retrieved_chunks != ()
        if reply.indexing_coverage != self._coverage:
            self._coverage = reply.indexing_coverage
        failed = verdict_failures(record)
        documents = self._documents(record) if self._documents else NoDocuments.NOT_REPORTED
        if not isinstance(documents, NoDocuments):
            documents = frozenset(map(self._once, documents))
        has_reference = bool(case.expected_key_facts or (case.expected_answer or "").strip())
        self.rows.append(
            Row(
                name=(self._once(record.file), record.name),
                case_id=case.id,
                repeat=record.repeat,
                again=record.again,
                selected=record.selected,
                scores=pack(f"{len(coded)}d", *coded),
                other_scores=dict(zip(others, coded_scores(scores, others), strict=True))
                if others
                else _NOTHING,
                before=before or _NOTHING,
                profile=self._once(
                    Profile(
                        case.category,
                        case.difficulty,
                        case.tags,
                        case.vaults,
                        case.answerable,
                        case.turn_group,
                    )
                ),
                cluster=record.cluster,
                weight=case_weight(case),
                k=record.k,
                has_reference=has_reference,
                outcome=record_outcome(record),
                stage=scores.failure_stage,
                attempt=attempt_status(record),
                latency=record.latency,
                usage=reply.usage,
                judged=record.verdicts.usage,
                coverage=self._coverage,
                documents=documents,
                translation_of=case.translation_of,
                verdicts=(sum(failed), len(failed)),
                unsure=is_unsure(record),
                clarifies=scores.clarifies if record.may_clarify else None,
            )
        )
        self.rules.update(chain.from_iterable(rules_of_cut(record)))

    def _once(self, value: _Value) -> _Value:
        """Return the first of equal values, so that each is in memory once."""
        found: _Value = self._known.setdefault(value, value)
        return found

    def extend(self, other: RecordRows) -> None:
        """Take the rows of others over the same metrics."""
        self.rows += other.rows
        self.rules.update(other.rules)
        self.uncounted |= other.uncounted
        self.reranked |= other.reranked


class CasePart:
    """Some cases of a table.

    Args:
        cases: their indices.
        table: it.
    """

    def __init__(self, cases: Iterable[int], table: CaseTable) -> None:
        self.cases: Places = np.array([*cases], dtype=np.intp)
        self.clusters: Places = np.unique(table.clusters[self.cases], return_inverse=True)[1]


class CaseTable:
    """Metrics of cases, in the order of file and case id; repeats are folded.

    Args:
        columns: of the records, which must not grow while the table is in use.
    """

    def __init__(self, columns: RecordRows) -> None:
        self.columns = columns
        every = sorted(columns.rows, key=lambda row: (row.name, row.repeat))
        self.asked = [[*rows] for _, rows in groupby(every, key=lambda row: row.name)]
        """The rows of each case, its first repeat first."""
        self.cases = [[row for row in rows if not row.selected] or rows[:1] for rows in self.asked]
        """Those of them that figures read."""
        self.rows = [row for rows in self.cases for row in rows]
        self.firsts = [rows[0] for rows in self.cases]
        self.outcomes = [outcome_of_repeats([row.outcome for row in rows]) for rows in self.asked]
        self.stages = [
            stage_of_repeats([(row.outcome, row.stage) for row in rows]) for rows in self.cases
        ]
        self.clusters = cluster_codes([row.cluster for row in self.firsts])
        others = sorted({key for row in self.rows for key in row.other_scores})
        self.metric_infos: Mapping[str, MetricInfo | None] = {
            **columns.registry.cases,
            **dict.fromkeys(others),
        }
        """Every metric; unregistered keys of records come last."""
        scores = np.frombuffer(b"".join([row.scores for row in self.rows]))
        scores = scores.reshape(len(self.rows), len(columns.registry.cases))
        if others:
            more = [[row.other_scores.get(k, NOT_APPLICABLE) for k in others] for row in self.rows]
            scores = np.hstack([scores, np.array(more)])
        self.scores = ScoreTable(scores, [*map(len, self.cases)], [*self.metric_infos])

    def __len__(self) -> int:
        return len(self.cases)

    def before_rerank(self, key: str) -> Floats:
        """Return a retrieval metric of every case before reranking; not finite: unknown."""
        values = [row.before.get(key) for row in self.rows]
        return self.scores.fold([NOT_APPLICABLE if v is None else v for v in values])

    def coverages(self) -> list[Mapping[str, Any]]:
        """The distinct indexing coverages in the order of the cases, the last case's last."""
        found: list[Mapping[str, Any]] = []
        for row in reversed(self.rows):
            if row.coverage is not None and row.coverage not in found:
                found.insert(0, row.coverage)
        return found
