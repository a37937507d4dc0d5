"""The numbers of many records, column by column.

A record is reduced to some hundred floats as soon as it is added, so that a run of any length is
aggregated without its texts in memory.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, repeat
from math import inf
from struct import Struct
from typing import Any, Final, NamedTuple, TypeVar

from pytest_rageval.analysis.aggregate.case_groups import (
    CaseOutcome,
    outcome_of_repeats,
    record_outcome,
    stage_of_repeats,
)
from pytest_rageval.analysis.aggregate.operational import (
    AttemptStatus,
    attempt_status,
    verdict_failures,
)
from pytest_rageval.analysis.aggregate.samples import ERROR, NOT_APPLICABLE, CasePart
from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.cross_lingual import Documents, NoDocuments, retrieved_documents
from pytest_rageval.metrics.deciding import rules_of_cut
from pytest_rageval.metrics.matching import DocumentKey, PathCase
from pytest_rageval.metrics.registry import MetricInfo, Registry
from pytest_rageval.metrics.scoring import is_unsure
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord, FailureStage

PASSED: Final[frozenset[CaseOutcome]] = frozenset({"passed", "unchecked"})
"""Outcomes of a repeat that count as a pass."""

_Item = TypeVar("_Item", bound=Hashable)
_Value = TypeVar("_Value")


class _Codes(dict[_Item, int]):
    """Numbers distinct values 0, 1, … in the order of first appearance: ``codes[value]``."""

    def __init__(self) -> None:
        self.distinct: list[_Item] = []

    def __missing__(self, item: _Item) -> int:
        code = self[item] = len(self.distinct)
        self.distinct.append(item)
        return code

    def of(self, items: Iterable[_Item]) -> list[int]:
        """Return the codes of several values, by which those of other columns are translated."""
        return list(map(self.__getitem__, items))


class _Sparse:
    """A column in which only some rows have a value: rows and values side by side."""

    def __init__(self) -> None:
        self.rows = array("q")
        self.values = array("d")

    def add(self, row: int, value: float) -> None:
        self.rows.append(row)
        self.values.append(value)

    def extend(self, other: _Sparse, first: int) -> None:
        self.rows.extend([first + row for row in other.rows])
        self.values.extend(other.values)

    def dense(self, n: int) -> list[float]:
        column = [NOT_APPLICABLE] * n
        for row, value in zip(self.rows, self.values, strict=True):
            column[row] = value
        return column


class Profile(NamedTuple):
    """Groups that a case belongs to."""

    category: str
    difficulty: str | None
    tags: tuple[str, ...]
    vaults: tuple[str, ...]
    answerable: bool


class RecordColumns:
    """Collects records, in any order, and gives their numbers as a `CaseTable`.

    Rows are in the order of arrival; a `CaseTable` orders them.

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
        self._translated = translated
        self._path_case = path_case
        self._keys = tuple(registry.cases)
        self._pack = Struct(f"{len(self._keys)}d").pack
        self.metrics = array("d")
        self.extra = defaultdict[str, _Sparse](_Sparse)
        self.before = defaultdict[str, _Sparse](_Sparse)
        self.names: list[tuple[str, str, int]] = []
        self._files: dict[str, str] = {}
        self.profiles: _Codes[Profile] = _Codes()
        self.profile_codes = array("q")
        self.clusters: _Codes[str] = _Codes()
        self.cluster_codes = array("q")
        self.cutoffs = array("q")
        self.references = array("b")
        self.outcomes: list[CaseOutcome] = []
        self.stages: list[FailureStage | None] = []
        self.attempts: list[AttemptStatus] = []
        self.latency = defaultdict[str, _Sparse](_Sparse)
        self.usage = defaultdict[str, list[float]](list)
        self.costs: dict[int, Mapping[str, float | None]] = {}
        self.coverages: list[Mapping[str, Any]] = []
        self.coverage_codes: dict[int, int] = {}
        self.documents = _DocumentSets()
        self.translations: dict[int, str] = {}
        self.reranked = False
        self.verdicts_failed = 0
        self.verdicts_needed = 0
        self.uncounted: set[tuple[str, str]] = set()
        self.unsure: set[tuple[str, str]] = set()
        self.rules = Counter[str]()

    def __len__(self) -> int:
        return len(self.names)

    def __getstate__(self) -> dict[str, object]:
        """Leave out the metrics, which may be code that another process cannot load."""
        return {name: v for name, v in vars(self).items() if name not in {"registry", "_pack"}}

    def add(self, record: CaseRecord) -> None:
        """Take the numbers of one record, if it counts."""
        if not record.counted:
            self.uncounted.add((record.file, record.case.id))
            return
        row = len(self.names)
        # One string per file instead of one per record.
        file = self._files.setdefault(record.file, record.file)
        self.names.append((file, record.name, record.repeat))
        self._add_metrics(row, record)
        case, response, scores = record.case, record.response, record.scores
        profile = Profile(case.category, case.difficulty, case.tags, case.vaults, case.answerable)
        self.profile_codes.append(self.profiles[profile])
        cluster = record.cluster
        self.cluster_codes.append(-1 if cluster is None else self.clusters[cluster])
        self.cutoffs.append(record.k)
        self.references.append(_has_reference(record.stored_case))
        self.outcomes.append(record_outcome(record))
        self.stages.append(scores.failure_stage)
        self.attempts.append(attempt_status(record))
        for name, ms in record.latency.items():
            self.latency[name].add(row, ms)
        if response is not None:
            for name, amount in response.usage.items():
                self.usage[name].append(amount)
            if response.indexing_coverage is not None:
                self.coverage_codes[row] = self._coverage_code(response.indexing_coverage)
        if cost := record.verdicts.cost:
            self.costs[row] = cost
        self._add_verdicts(record)
        if self._translated:
            self.documents.add(retrieved_documents(record, self._path_case))
        for rule in chain.from_iterable(rules_of_cut(record)):
            self.rules[rule] += 1
        if case.translation_of is not None:
            self.translations[row] = case.translation_of

    def _add_verdicts(self, record: CaseRecord) -> None:
        failures = verdict_failures(record)
        self.verdicts_failed += sum(failures)
        self.verdicts_needed += len(failures)
        if is_unsure(record):
            self.unsure.add((record.file, record.case.id))

    def _add_metrics(self, row: int, record: CaseRecord) -> None:
        scores = record.scores
        metrics, reasons = scores.metrics, scores.not_applicable
        if tuple(metrics) == self._keys:
            values = [
                value if value is not None else NOT_APPLICABLE if key in reasons else ERROR
                for key, value in metrics.items()
            ]
        else:
            values = [_value(metrics, reasons, key) for key in self._keys]
            for key in metrics.keys() - self.registry.cases.keys():
                self.extra[key].add(row, _value(metrics, reasons, key))
        self.metrics.frombytes(self._pack(*values))  # a tenth of the time of extend()
        if scores.metrics_before_rerank is None:
            return
        # An empty list has all of its ranks, but is not evidence of a reranker.
        self.reranked = self.reranked or record.reply.retrieved_chunks != ()
        for key, before in scores.metrics_before_rerank.items():
            if before is not None:
                self.before[key].add(row, before)

    def extend(self, other: RecordColumns) -> None:
        """Take the rows of other columns over the same metrics."""
        first = len(self)
        self.metrics.extend(other.metrics)
        for mine, theirs in (
            (self.extra, other.extra),
            (self.before, other.before),
            (self.latency, other.latency),
        ):
            for name, sparse in theirs.items():
                mine[name].extend(sparse, first)
        self.names += other.names
        profiles = self.profiles.of(other.profiles)
        self.profile_codes.extend([profiles[code] for code in other.profile_codes])
        clusters = self.clusters.of(other.clusters)
        self.cluster_codes.extend([-1 if c < 0 else clusters[c] for c in other.cluster_codes])
        self.cutoffs.extend(other.cutoffs)
        self.references.extend(other.references)
        self.outcomes += other.outcomes
        self.stages += other.stages
        self.attempts += other.attempts
        for name, amounts in other.usage.items():
            self.usage[name] += amounts
        self.costs |= {first + row: cost for row, cost in other.costs.items()}
        coverages = [self._coverage_code(coverage) for coverage in other.coverages]
        self.coverage_codes |= {first + r: coverages[c] for r, c in other.coverage_codes.items()}
        self.documents.extend(other.documents)
        self.translations |= {first + row: name for row, name in other.translations.items()}
        self.reranked = self.reranked or other.reranked
        self.verdicts_failed += other.verdicts_failed
        self.verdicts_needed += other.verdicts_needed
        self.uncounted |= other.uncounted
        self.unsure |= other.unsure
        self.rules.update(other.rules)

    def metric(self, key: str) -> Sequence[float]:
        """One value per row: finite, `NOT_APPLICABLE` or `ERROR`."""
        if key in self._keys:
            return self.metrics[self._keys.index(key) :: len(self._keys)]
        return self.extra[key].dense(len(self))

    def _coverage_code(self, coverage: Mapping[str, Any]) -> int:
        # A target reports the same one with every answer, so the last one nearly always matches.
        for code in reversed(range(len(self.coverages))):
            if self.coverages[code] == coverage:
                return code
        self.coverages.append(coverage)
        return len(self.coverages) - 1

    def table(self) -> CaseTable:
        """Order the rows by file, case id and repeat, and fold the repeats of each case."""
        order = array("q", sorted(range(len(self)), key=self.names.__getitem__))
        starts = array("q")
        last = None
        for place, row in enumerate(order):
            file, case_id, _ = self.names[row]
            if (file, case_id) != last:
                starts.append(place)
                last = file, case_id
        return CaseTable(self, CaseRows(order, starts))


def _has_reference(case: Case | None) -> int:
    """Tell whether a judge can compare an answer with more than the retrieved chunks."""
    if case is None:
        return -1
    return bool(case.expected_key_facts or (case.expected_answer or "").strip())


def _value(metrics: Mapping[str, float | None], reasons: Mapping[str, str], key: str) -> float:
    if (value := metrics.get(key)) is not None:
        return value
    return NOT_APPLICABLE if key in reasons or key not in metrics else ERROR


class _DocumentSets:
    """The documents that each record retrieved, as numbers in one array."""

    def __init__(self) -> None:
        self.keys: _Codes[DocumentKey] = _Codes()
        self.flat = array("L")
        self.ends = array("L")
        self.absent: dict[int, NoDocuments] = {}

    def add(self, documents: Documents) -> None:
        if isinstance(documents, NoDocuments):
            self.absent[len(self.ends)] = documents
        else:
            self.flat.extend(self.keys.of(documents))
        self.ends.append(len(self.flat))

    def extend(self, other: _DocumentSets) -> None:
        row, first = len(self.ends), len(self.flat)
        codes = self.keys.of(other.keys)
        self.flat.extend([codes[code] for code in other.flat])
        self.ends.extend([first + end for end in other.ends])
        self.absent |= {row + at: reason for at, reason in other.absent.items()}

    def __getitem__(self, row: int) -> Documents:
        if (absent := self.absent.get(row)) is not None:
            return absent
        start = self.ends[row - 1] if row else 0
        return frozenset(self.keys.distinct[code] for code in self.flat[start : self.ends[row]])


class CaseRows:
    """The rows of each case, by which a column of rows becomes one of cases.

    Args:
        order: rows by file, case id and repeat.
        starts: for every case, the place of its first row in ``order``.
    """

    def __init__(self, order: Sequence[int], starts: Sequence[int]) -> None:
        self.order = order
        self.starts = starts
        self.firsts = [order[start] for start in starts]
        """For every case, the row of its first repeat."""
        ends = [*starts[1:], len(order)] if starts else []
        self.repeats = [end - start for start, end in zip(starts, ends, strict=True)]
        """For every case, the number of its rows."""
        self.repeated = [case for case, repeats in enumerate(self.repeats) if repeats > 1]
        """Cases with several rows."""
        self._one_each = self.firsts == list(range(len(order)))

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, case: int) -> Sequence[int]:
        """The rows of a case, its first repeat first."""
        start = self.starts[case]
        return self.order[start : start + self.repeats[case]]

    def __iter__(self) -> Iterator[Sequence[int]]:
        return map(self.__getitem__, range(len(self)))

    def fold(self, column: Sequence[float]) -> array[float]:
        """Return one value per case, of several repeats their mean."""
        return array("d", column if self._one_each else self.per_case(column, _fold_repeats))

    def per_case(
        self, column: Sequence[_Value], fold: Callable[[Sequence[_Value]], _Value]
    ) -> list[_Value]:
        """Return the value of each case, of several repeats the one that a function gives."""
        folded = list(map(column.__getitem__, self.firsts))
        for case in self.repeated:
            folded[case] = fold([column[row] for row in self[case]])
        return folded


class CaseTable:
    """One row per case, in the order of file and case id; repeats are folded into it.

    Made by `RecordColumns.table`; the columns must not grow while it is in use.
    """

    def __init__(self, columns: RecordColumns, rows: CaseRows) -> None:
        self.columns = columns
        self.rows = rows
        # A case without gold document is a cluster of its own.
        alone = count(len(columns.clusters.distinct))
        codes = [columns.cluster_codes[row] for row in rows.firsts]
        self.clusters = array("q", [next(alone) if code < 0 else code for code in codes])
        self.outcomes = rows.per_case(columns.outcomes, outcome_of_repeats)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def stages(self) -> list[FailureStage | None]:
        """The failure stage of each case; None: no stage failed."""
        seen = list(zip(self.columns.outcomes, self.columns.stages, strict=True))
        folded = self.rows.per_case(seen, lambda repeats: ("missed", stage_of_repeats(repeats)))
        return [None if outcome == "error" else stage for outcome, stage in folded]

    @property
    def metric_infos(self) -> Mapping[str, MetricInfo | None]:
        """Every metric; unregistered keys of records come last."""
        return {**self.columns.registry.cases, **dict.fromkeys(sorted(self.columns.extra))}

    def metric(self, key: str) -> array[float]:
        """One value per case: finite, `NOT_APPLICABLE` or `ERROR`."""
        return self.rows.fold(self.columns.metric(key))

    def before_rerank(self, key: str) -> array[float]:
        """One value per case of a retrieval metric before reranking; not finite: unknown."""
        return self.rows.fold(self.columns.before[key].dense(len(self.columns)))

    @property
    def reranked_keys(self) -> Sequence[str]:
        """Metrics known before reranking for some case, in the order of the registry."""
        if not self.columns.reranked:
            return []
        return [key for key in self.columns.registry.cases if key in self.columns.before]

    def part(self, cases: Sequence[int]) -> CasePart:
        """Return some cases, by their indices."""
        return CasePart(
            cases=array("q", cases),
            clusters=array("q", [self.clusters[case] for case in cases]),
            once=not self.rows.repeated or all(self.rows.repeats[case] == 1 for case in cases),
        )

    def repeats_of(self, values: Sequence[_Item]) -> Iterator[list[_Item]]:
        """Per case, the column's value for each repeat, in order."""
        for rows in self.rows:
            yield [values[row] for row in rows]

    def names(self) -> Iterator[tuple[str, str]]:
        """File and id of every case."""
        for row in self.rows.firsts:
            yield self.columns.names[row][:2]

    def profiles(self) -> Iterator[tuple[Profile, list[int]]]:
        """Each distinct profile with the cases that have it."""
        cases: list[list[int]] = [[] for _ in self.columns.profiles.distinct]
        for case, row in enumerate(self.rows.firsts):
            cases[self.columns.profile_codes[row]].append(case)
        yield from zip(self.columns.profiles.distinct, cases, strict=True)

    @property
    def cutoffs(self) -> list[int]:
        """The distinct cutoffs k, ascending."""
        return sorted({self.columns.cutoffs[row] for row in self.rows.firsts})

    @property
    def references(self) -> list[int]:
        """Per case 1: it has a reference; 0: it has none; -1: its record does not hold it."""
        return [self.columns.references[row] for row in self.rows.firsts]

    def latencies(self, name: str) -> Iterator[tuple[AttemptStatus, float | None, bool]]:
        """Every call, in the order of arrival: the fields of its `LatencyObservation`."""
        known = self.columns.latency.get(name, _Sparse()).dense(len(self.columns))
        times = (ms if ms < inf else None for ms in known)
        return zip(self.columns.attempts, times, repeat(False))

    def costs(self) -> Iterator[Mapping[str, float | None]]:
        """The cost of every record that has one, in order."""
        known = self.columns.costs
        return (known[row] for row in self.rows.order if row in known)

    def coverages(self) -> list[Mapping[str, Any]]:
        """The distinct indexing coverages in the order of the cases, the last case's last."""
        known = self.columns.coverage_codes
        codes = [known[row] for row in self.rows.order if row in known]
        return [self.columns.coverages[code] for code in dict.fromkeys(reversed(codes))][::-1]

    def translations(self) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
        """Pairs of a case and the case of its file that it translates."""
        named = self.columns.translations
        for row in self.rows.firsts if named else ():
            if (original := named.get(row)) is not None:
                file, case_id, _ = self.columns.names[row]
                yield (file, case_id), (file, original)

    def documents(
        self, cases: Iterable[tuple[str, str]]
    ) -> dict[tuple[str, str], Sequence[Documents]]:
        """Per case, the documents that each repeat retrieved; unknown cases are left out."""
        wanted = set(cases)
        return {
            name: [self.columns.documents[row] for row in rows]
            for name, rows in zip(self.names(), self.rows, strict=True)
            if name in wanted
        }


def _fold_repeats(values: Sequence[float]) -> float:
    scored = [value for value in values if abs(value) < inf]
    if (mean := fmean(scored)) is not None:
        return mean
    return ERROR if ERROR in values else NOT_APPLICABLE
