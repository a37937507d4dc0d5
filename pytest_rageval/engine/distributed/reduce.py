"""The numbers of all parts: one table of cases, then one metric after the other."""

from __future__ import annotations

from array import array
from dataclasses import replace

import msgspec

from pytest_rageval.analysis.aggregate.columns import CaseRows
from pytest_rageval.analysis.aggregate.run import (
    GroupSummaries,
    aggregate_rest,
    group_cases,
    summarise_groups,
)
from pytest_rageval.analysis.aggregate.samples import CasePart
from pytest_rageval.engine.distributed.columns_file import StoredColumns, stored_metric
from pytest_rageval.engine.distributed.job import Ints, Job
from pytest_rageval.engine.registry import open_registry
from pytest_rageval.values.numbers import Aggregate

_TABLE = "table"


class _Table(msgspec.Struct):
    """Basis of the summaries of each metric."""

    sizes: list[int]
    order: Ints
    starts: Ints
    groups: dict[str, dict[str, tuple[Ints, Ints, bool]]]


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
    stored = _Table(
        sizes=columns.sizes,
        order=array("q", table.rows.order),
        starts=array("q", table.rows.starts),
        groups={
            name: {
                group: (array("q", part.cases), array("q", part.clusters), part.once)
                for group, part in members.items()
            }
            for name, members in groups.items()
        },
    )
    job.write_value(_TABLE, stored)
    others = {
        key: summarise_groups(table.metric(key), groups, None)
        for key in table.metric_infos
        if key not in registry.cases
    }
    # A list that grows with the cases would be sent to the driver; `Scored` has the first of them.
    return replace(aggregate_rest(table, groups), failed_cases={}), others


def summarise_parts(job: Job, place: int) -> tuple[int, GroupSummaries]:
    """Return the summaries of a metric, by its place in the registry, over the table.

    Raises:
        StorageError: a file of the parts cannot be read.
    """
    table: _Table = job.read_value(_TABLE, _Table)
    groups = {
        name: {
            group: CasePart(cases=cases, clusters=clusters, once=once)
            for group, (cases, clusters, once) in members.items()
        }
        for name, members in table.groups.items()
    }
    info = [*open_registry(job.settings).cases.values()][place]
    column = CaseRows(table.order, table.starts).fold(stored_metric(job, table.sizes, place))
    return place, summarise_groups(column, groups, info)
