"""Runs and figures of a trend, read from the index."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import sqlalchemy as sa

from pytest_rageval.analysis.trend import TrendQuery, TrendRun
from pytest_rageval.runs.history.database import METRICS, RUNS, IndexDatabase
from pytest_rageval.runs.list import TrendSource
from pytest_rageval.support.text import clean
from pytest_rageval.values.errors import StorageError


def query_trend(database: IndexDatabase, project: str, query: TrendQuery) -> TrendSource:
    """Return the result of ``read_trend`` for the folders that the index was filled from.

    Raises:
        StorageError: the database fails, or a row of it is damaged.
    """
    figure = sa.and_(
        METRICS.c.project == RUNS.c.project,
        METRICS.c.run_id == RUNS.c.run_id,
        METRICS.c.scope == query.scope,
        METRICS.c.group_name == query.group,
        METRICS.c.metric == query.metric,
    )
    own = METRICS.c.project == project
    figures = [column for column in METRICS.c if column.name not in ("project", "run_id")]
    found = (
        sa.select(RUNS, *figures)
        .select_from(RUNS.outerjoin(METRICS, figure))
        .where(RUNS.c.project == project, RUNS.c.has_metrics)
    )
    names = sa.select(METRICS.c.metric).where(own).distinct()
    groups = sa.select(METRICS.c.group_name).where(own, METRICS.c.scope == query.scope).distinct()
    with database.transaction() as connection:
        try:
            return TrendSource(
                runs=tuple(_trend_run(row) for row in connection.execute(found)),
                metrics=frozenset(connection.execute(names).scalars()),
                groups=frozenset(connection.execute(groups).scalars()),
            )
        # A database does not notice that a byte within a value has changed, and SQLite keeps values
        # of any type in any column: the driver, or the code below, cannot read them.
        except (RecursionError, TypeError, ValueError) as error:
            raise StorageError(
                f"{database.shown}: a row of the index is damaged ({clean(str(error), 200)}); "
                "rageval runs sync --rebuild makes it anew"
            ) from error


def _trend_run(found: sa.Row[Any]) -> TrendRun:
    row = {str(name): value for name, value in found._mapping.items()}
    figure = None if row["metric"] is None else {**row, "group": row["group_name"]}
    known = {"figure": figure, "ran_at": _utc(row["ran_at"]), "config": json.loads(row["config"])}
    return msgspec.convert({**row, **known, "tags": row["tags"].split()}, TrendRun)


def _utc(time: datetime) -> datetime:
    # SQLite keeps no zone, and its times are in UTC; PostgreSQL answers in the user's zone.
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
