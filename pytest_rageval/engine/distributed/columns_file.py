"""The columns of a part on disk: one file of metrics, column by column, and one of the rest."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from pytest_rageval.analysis.aggregate.case_groups import CaseOutcome
from pytest_rageval.analysis.aggregate.columns import Profile, RecordColumns
from pytest_rageval.analysis.aggregate.operational import AttemptStatus
from pytest_rageval.engine.distributed.job import Job
from pytest_rageval.metrics.cross_lingual import NoDocuments
from pytest_rageval.metrics.matching import DocumentKey
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.support.files import named_errors
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.record import FailureStage

_WIDTH: Final = 8
_Sparse = tuple[bytes, bytes]


class _Rest(msgspec.Struct):
    """Everything but the metrics; arrays as their bytes."""

    names: list[tuple[str, str, int]]
    extra: dict[str, _Sparse]
    before: dict[str, _Sparse]
    latency: dict[str, _Sparse]
    profiles: list[Profile]
    profile_codes: bytes
    clusters: list[str]
    cluster_codes: bytes
    cutoffs: bytes
    references: bytes
    outcomes: list[CaseOutcome]
    stages: list[FailureStage | None]
    attempts: list[AttemptStatus]
    usage: dict[str, list[float]]
    costs: dict[int, dict[str, float | None]]
    coverages: list[dict[str, Any]]
    coverage_codes: dict[int, int]
    documents: list[DocumentKey]
    document_codes: bytes
    document_ends: bytes
    no_documents: dict[int, NoDocuments]
    translations: dict[int, str]
    reranked: bool
    verdicts_failed: int
    verdicts_needed: int
    uncounted: list[tuple[str, str]]
    rules: dict[str, int]


def _names(part: int) -> tuple[str, str]:
    return f"part-{part}.metrics", f"part-{part}.columns"


def write_columns(job: Job, part: int, columns: RecordColumns) -> None:
    """Write the columns of a part.

    Raises:
        StorageError: a file cannot be written.
    """
    metrics, rest = _names(part)
    job.write(metrics, (array("d", columns.metric(k)).tobytes() for k in columns.registry.cases))
    documents = columns.documents
    job.write_value(
        rest,
        _Rest(
            names=columns.names,
            extra=_sparse_bytes(columns.extra),
            before=_sparse_bytes(columns.before),
            latency=_sparse_bytes(columns.latency),
            profiles=columns.profiles.distinct,
            profile_codes=columns.profile_codes.tobytes(),
            clusters=columns.clusters.distinct,
            cluster_codes=columns.cluster_codes.tobytes(),
            cutoffs=columns.cutoffs.tobytes(),
            references=columns.references.tobytes(),
            outcomes=columns.outcomes,
            stages=columns.stages,
            attempts=columns.attempts,
            usage=dict(columns.usage),
            costs={row: dict(cost) for row, cost in columns.costs.items()},
            coverages=[dict(coverage) for coverage in columns.coverages],
            coverage_codes=columns.coverage_codes,
            documents=documents.keys.distinct,
            document_codes=documents.flat.tobytes(),
            document_ends=documents.ends.tobytes(),
            no_documents=documents.absent,
            translations=columns.translations,
            reranked=columns.reranked,
            verdicts_failed=columns.verdicts_failed,
            verdicts_needed=columns.verdicts_needed,
            uncounted=list(columns.uncounted),
            rules=dict(columns.rules),
        ),
    )


def _sparse_bytes(columns: Mapping[str, Any]) -> dict[str, _Sparse]:
    return {name: (c.rows.tobytes(), c.values.tobytes()) for name, c in columns.items()}


def _fill(target: array[Any], content: bytes) -> None:
    target.frombytes(content)


def _read_columns(job: Job, part: int, registry: Registry) -> RecordColumns:
    """Return the columns of a part without its metrics."""
    rest: _Rest | None = job.read_value(_names(part)[1], _Rest)
    if rest is None:
        raise StorageError(f"{job.folder}: part {part} is missing; score again")
    columns = RecordColumns(registry)
    columns.names = rest.names
    for mine, theirs in (
        (columns.extra, rest.extra),
        (columns.before, rest.before),
        (columns.latency, rest.latency),
    ):
        for name, (rows, values) in theirs.items():
            _fill(mine[name].rows, rows)
            _fill(mine[name].values, values)
    columns.profiles.of(rest.profiles)
    columns.clusters.of(rest.clusters)
    for target, content in (
        (columns.profile_codes, rest.profile_codes),
        (columns.cluster_codes, rest.cluster_codes),
        (columns.cutoffs, rest.cutoffs),
        (columns.references, rest.references),
        (columns.documents.flat, rest.document_codes),
        (columns.documents.ends, rest.document_ends),
    ):
        _fill(target, content)
    columns.outcomes, columns.stages, columns.attempts = rest.outcomes, rest.stages, rest.attempts
    columns.usage.update(rest.usage)
    columns.costs.update(rest.costs)
    columns.coverages += rest.coverages
    columns.coverage_codes = rest.coverage_codes
    columns.documents.keys.of(rest.documents)
    columns.documents.absent = rest.no_documents
    columns.translations = rest.translations
    columns.reranked = rest.reranked
    columns.verdicts_failed, columns.verdicts_needed = rest.verdicts_failed, rest.verdicts_needed
    columns.uncounted = set(rest.uncounted)
    columns.rules = Counter(rest.rules)
    return columns


class StoredColumns(RecordColumns):
    """The columns of all parts, whose metrics stay on disk.

    Raises:
        StorageError: a file cannot be read.
    """

    def __init__(self, job: Job, registry: Registry) -> None:
        super().__init__(registry, path_case=job.settings.path_case)
        self._job = job
        sizes = []
        for part in range(job.n_parts):
            found = _read_columns(job, part, registry)
            sizes.append(len(found))
            self.extend(found)
        job.write_value("sizes", sizes)

    def metric(self, key: str) -> Sequence[float]:
        """One value per row: finite, `NOT_APPLICABLE` or `ERROR`."""
        if key in self.registry.cases:
            return stored_metric(self._job, list(self.registry.cases).index(key))
        return super().metric(key)


def stored_metric(job: Job, place: int) -> array[float]:
    """Return one value per row of all parts.

    Args:
        job: with the columns of all parts, of which `StoredColumns` were made.
        place: of the metric in the registry.

    Raises:
        StorageError: a file cannot be read.
    """
    found = array("d")
    for part, n in enumerate(job.read_value("sizes", list[int]) or ()):
        path = job.path(_names(part)[0])
        with named_errors(path, StorageError, "read"), path.open("rb") as file:
            file.seek(place * n * _WIDTH)
            found.frombytes(file.read(n * _WIDTH))
    return found
