"""The columns of a part on disk: one file of metrics, column by column, and one of the rest."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from pytest_rageval.analysis.aggregate.case_groups import CaseOutcome
from pytest_rageval.analysis.aggregate.columns import Profile, RecordColumns
from pytest_rageval.analysis.aggregate.operational import AttemptStatus
from pytest_rageval.engine.distributed.job import Floats, Ints, Job
from pytest_rageval.metrics.cross_lingual import NoDocuments
from pytest_rageval.metrics.matching import DocumentKey
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.values.record import FailureStage


class _Sparse(msgspec.Struct):
    rows: Ints
    values: Floats


class _Documents(msgspec.Struct):
    keys: dict[DocumentKey, int]
    flat: Ints
    ends: Ints
    absent: dict[int, NoDocuments]


class KeptColumns(msgspec.Struct):
    """All columns of a part but the metrics, under the names by which `RecordColumns` has them."""

    metrics: ClassVar[Floats] = array("d")
    names: list[tuple[str, str, int]]
    extra: dict[str, _Sparse]
    before: dict[str, _Sparse]
    latency: dict[str, _Sparse]
    profiles: dict[Profile, int]
    profile_codes: Ints
    clusters: dict[str, int]
    cluster_codes: Ints
    cutoffs: Ints
    references: Ints
    outcomes: list[CaseOutcome]
    stages: list[FailureStage | None]
    attempts: list[AttemptStatus]
    usage: dict[str, list[float]]
    costs: dict[int, dict[str, float | bool | None]]
    coverages: list[dict[str, Any]]
    coverage_codes: dict[int, int]
    documents: _Documents
    translations: dict[int, str]
    reranked: bool
    verdicts_failed: int
    verdicts_needed: int
    uncounted: set[tuple[str, str]]
    unsure: set[tuple[str, str]]
    rules: dict[str, int]


def write_columns(job: Job, part: int, columns: RecordColumns) -> None:
    """Write the columns of a part.

    Raises:
        StorageError: a file cannot be written.
    """
    metrics = (array("d", columns.metric(key)).tobytes() for key in columns.registry.cases)
    job.write(f"part-{part}.metrics", metrics)
    kept = msgspec.convert(columns, KeptColumns, from_attributes=True)
    job.write_value(f"part-{part}.columns", kept)


class StoredColumns(RecordColumns):
    """The columns of all parts, whose metrics stay on disk.

    Raises:
        StorageError: a file cannot be read.
    """

    def __init__(self, job: Job, registry: Registry) -> None:
        super().__init__(registry, path_case=job.settings.path_case)
        self._job = job
        self.sizes: list[int] = []
        """Number of rows of each part."""
        for part in range(job.n_parts):
            kept = job.read_value(f"part-{part}.columns", KeptColumns)
            self.sizes.append(len(kept.names))
            self.extend(kept)

    def metric(self, key: str) -> Sequence[float]:
        """One value per row: finite, `NOT_APPLICABLE` or `ERROR`."""
        if key in self.registry.cases:
            return stored_metric(self._job, self.sizes, list(self.registry.cases).index(key))
        return super().metric(key)


def stored_metric(job: Job, sizes: Sequence[int], place: int) -> array[float]:
    """Return one value per row of all parts, of the metric at a place in the registry.

    Raises:
        StorageError: a file cannot be read.
    """
    found = array("d")
    for part, n in enumerate(sizes):
        found += job.read_array(f"part-{part}.metrics", "d", place * n, n)
    return found
