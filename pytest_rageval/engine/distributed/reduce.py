"""The numbers of all parts: one table of cases, then one metric after the other."""

from __future__ import annotations

from array import array
from dataclasses import replace

from pytest_rageval.analysis.aggregate.columns import CaseRows
from pytest_rageval.analysis.aggregate.run import (
    GroupSummaries,
    aggregate_rest,
    group_cases,
    summarise_groups,
)
from pytest_rageval.analysis.aggregate.samples import CasePart
from pytest_rageval.engine.distributed.columns_file import StoredColumns, stored_metric
from pytest_rageval.engine.distributed.job import Job
from pytest_rageval.engine.registry import open_registry
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.numbers import Aggregate

_ROWS = "table"
_Group = tuple[bytes, bytes, bool]


def aggregate_parts(job: Job, _: None) -> tuple[Aggregate, dict[str, GroupSummaries]]:
    """Write the table of all cases, by which `summarise_parts` works.

    Returns:
        All numbers but the ids of failed cases and the summaries of metrics, and the summaries of
        metrics that no registry knows.

    Raises:
        StorageError: a file of the parts cannot be read or written.
    """
    registry = open_registry(job.settings)
    columns = StoredColumns(job, registry)
    table = columns.table()
    groups = group_cases(table)
    rows = (array("q", table.rows.order).tobytes(), array("q", table.rows.starts).tobytes())
    parts = {
        name: {
            group: (part.cases.tobytes(), part.clusters.tobytes(), part.once)
            for group, part in members.items()
        }
        for name, members in groups.items()
    }
    job.write_value(_ROWS, (rows, parts))
    found = {
        key: summarise_groups(table.metric(key), groups, None)
        for key in table.metric_infos
        if key not in registry.cases
    }
    # A list that grows with the cases would be sent to the driver; `Scored` has the first of them.
    return replace(aggregate_rest(table, groups), failed_cases={}), found


def summarise_parts(job: Job, key: str) -> tuple[str, GroupSummaries]:
    """Return the summaries of one metric over the table of ``aggregate_parts``.

    Raises:
        StorageError: a file of the parts cannot be read.
    """
    kind = tuple[tuple[bytes, bytes], dict[str, dict[str, _Group]]]
    stored = job.read_value(_ROWS, kind)
    if stored is None:
        raise StorageError(f"{job.folder}: the table is missing; score again")
    (order, starts), parts = stored
    groups = {
        name: {
            group: CasePart(cases=_ints(cases), clusters=_ints(clusters), once=once)
            for group, (cases, clusters, once) in members.items()
        }
        for name, members in parts.items()
    }
    registry = open_registry(job.settings)
    values = stored_metric(job, list(registry.cases).index(key))
    column = CaseRows(_ints(order), _ints(starts)).fold(values)
    return key, summarise_groups(column, groups, registry.cases[key])


def _ints(content: bytes) -> array[int]:
    found = array("q")
    found.frombytes(content)
    return found
