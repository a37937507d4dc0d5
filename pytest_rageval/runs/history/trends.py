"""Runs and figures of a trend, read from the index."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import UnionType
from typing import TYPE_CHECKING, Any

from pytest_rageval.analysis.trend import RunFigure, TrendQuery, TrendRun
from pytest_rageval.runs.history.database import IndexDatabase, tables
from pytest_rageval.runs.history.run_rows import NUMBERS
from pytest_rageval.runs.list import TrendSource
from pytest_rageval.support.text import clean
from pytest_rageval.values.errors import StorageError

if TYPE_CHECKING:
    from sqlalchemy import Row


def query_trend(database: IndexDatabase, project: str, query: TrendQuery) -> TrendSource:
    """Return the result of ``read_trend`` for the folders that the index was filled from.

    Raises:
        StorageError: the database fails, or a row of it is damaged.
    """
    from sqlalchemy import and_, select

    runs, metrics = tables().runs, tables().metrics
    figure = and_(
        metrics.c.project == runs.c.project,
        metrics.c.run_id == runs.c.run_id,
        metrics.c.scope == query.scope,
        metrics.c.group_name == query.group,
        metrics.c.metric == query.metric,
    )
    own = metrics.c.project == project
    found = (
        select(runs, *(column for column in metrics.c if column.name not in ("project", "run_id")))
        .select_from(runs.outerjoin(metrics, figure))
        .where(runs.c.project == project, runs.c.has_metrics)
    )
    names = select(metrics.c.metric).where(own).distinct()
    groups = select(metrics.c.group_name).where(own, metrics.c.scope == query.scope).distinct()
    with database.transaction() as connection:
        try:
            return TrendSource(
                runs=tuple(_trend_run(row, query) for row in connection.execute(found)),
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


def _trend_run(row: Row[Any], query: TrendQuery) -> TrendRun:
    names = ("verdict", "config_hash", "dataset_hash")
    return TrendRun(
        run_id=row.run_id,
        ran_at=_utc(row.ran_at),
        figure=None if row.metric is None else _figure(row, query),
        tags=tuple((_typed(row, "tags", str, "a text") or "").split()),
        **{name: _typed(row, name, str, "a text") for name in names},
        config=_config(row),
        partial=row.partial,
    )


def _figure(row: Row[Any], query: TrendQuery) -> RunFigure:
    return RunFigure(
        scope=query.scope,
        group=row.group_name,
        metric=row.metric,
        **{name: _typed(row, name, int | float, "a number") for name in NUMBERS},
    )


def _config(row: Row[Any]) -> dict[str, Any]:
    found = json.loads(row.config)
    if not isinstance(found, dict):
        raise ValueError("config: expected an object")
    return found


def _typed(row: Row[Any], name: str, kind: type | UnionType, expected: str) -> Any:
    value = getattr(row, name)
    if value is not None and not isinstance(value, kind):
        raise ValueError(f"{name}: expected {expected}")
    return value


def _utc(time: datetime) -> datetime:
    # SQLite keeps no zone, and its times are in UTC; PostgreSQL answers in the user's zone.
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
