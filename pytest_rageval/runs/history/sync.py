"""Updates the index from the folders, a run at a time, and reads trends from it."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from pytest_rageval.analysis.trend import TrendQuery, TrendRun
from pytest_rageval.runs.git import git_repository
from pytest_rageval.runs.history.database import IndexDatabase, RowError
from pytest_rageval.runs.history.run_rows import (
    METRICS,
    RECORDS,
    RUNS,
    content_hash,
    read_run_rows,
)
from pytest_rageval.runs.list import TrendSource
from pytest_rageval.runs.store import RESULTS, is_run
from pytest_rageval.runs.tags import tags_by_run
from pytest_rageval.support.http.address import without_secrets
from pytest_rageval.support.text import clean
from pytest_rageval.values.errors import StorageError

PROJECT: Final = "RAGEVAL_PROJECT"
_FILLED: Final = (METRICS, RECORDS, RUNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Project and folder that the rows of a results folder belong to."""

    project: str
    """Keeps the projects of one database apart."""
    source: str
    """Folder and machine, 16 hex digits: several checkouts of a project may fill one index, and a
    sync removes only rows that came from its own folder."""


def find_origin(
    rootdir: Path, results_dir: Path, environ: Mapping[str, str], *, project: str | None = None
) -> Origin:
    """Return the names under which the index keeps the runs of a results folder.

    The project is the name that a flag or ``RAGEVAL_PROJECT`` gave, else the address of the
    repository's ``origin`` and the path of the results in it, else the name of the folder and a
    part of the source.
    """
    place = results_dir.resolve()
    # A hash, because the names of machines and users are private.
    source = hashlib.sha256(os.fsencode(f"{platform.node()}:{place}")).hexdigest()[:16]
    key = (project or environ.get(PROJECT, "")).strip()
    if not key and (found := git_repository(rootdir)):
        remote, top = found[0], found[1].resolve()
        inside = place.relative_to(top) if place.is_relative_to(top) else place
        key = f"{_bare(remote)}:{inside.as_posix()}"
    return Origin(project=key or f"{rootdir.resolve().name}-{source[:8]}", source=source)


def _bare(remote: str) -> str:
    """Return an address that is equal in all clones, and without credentials.

    >>> _bare("https://ann:token@GitHub.com/acme/bot.git"), _bare("git@github.com:acme/bot.git")
    ('github.com/acme/bot', 'github.com/acme/bot')
    """
    text = without_secrets(remote.strip())
    match = re.fullmatch(r"(?:[\w+.-]+://)?(?:[^@/]*@)?([^:/]+)(?::[0-9]+(?=/))?[:/](.+)", text)
    host, path = match.groups() if match else ("", text)
    return f"{host.lower()}/{path.strip('/').removesuffix('.git')}"


@dataclass(slots=True, kw_only=True)
class SyncResult:
    """Changes that a sync made, by the ids of the runs."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    """Runs whose folders are gone."""
    broken: dict[str, list[str]] = field(default_factory=dict)
    """By run the problems of reading or keeping it, one a line; the rest of it is in the index."""


class RunIndex:
    """The rows of one results folder in a database."""

    def __init__(self, database: IndexDatabase, origin: Origin, results_dir: Path) -> None:
        self._database, self._origin, self._results = database, origin, results_dir

    def sync(self, *, rebuild: bool = False) -> SyncResult:
        """Put in new and changed runs, and remove those whose folders are gone.

        Several processes may do so at once. One that is killed leaves whole runs, and the next
        sync continues from there.

        Args:
            rebuild: drop all rows of the project first.

        Raises:
            StorageError: the database fails.
        """
        project = self._origin.project
        ours = (RUNS.c.project == project, RUNS.c.source == self._origin.source)
        with self._database.transaction() as connection:
            if rebuild:
                for table in _FILLED:
                    connection.execute(table.delete().where(table.c.project == project))
            known = connection.execute(sa.select(RUNS.c.run_id).where(*ours)).scalars().all()
        folders = sorted(self._results.iterdir()) if self._results.is_dir() else []
        return self.put(dict.fromkeys([*(one.name for one in folders if one.is_dir()), *known]))

    def put(self, run_ids: Iterable[str]) -> SyncResult:
        """Put in or remove some runs alone.

        Raises:
            StorageError: the database fails.
        """
        result = SyncResult()
        for name in run_ids:
            try:
                self._put(name, result)
            except FileNotFoundError:  # pruned, perhaps meanwhile
                self._remove(name, result)
            except PermissionError:
                result.broken[name] = [f"{self._results / name}: cannot be opened"]
            except (RowError, UnicodeEncodeError) as error:  # its name may hold any bytes
                result.broken[name] = [f"{self._results / name}: cannot be kept: {error}"]
        return result

    def _put(self, name: str, result: SyncResult) -> None:
        """Read a run, and write it if it differs from the index.

        Reading takes longer than writing, so it is done before other writers are locked out. What
        changes after the hash was taken is put in by the next sync.
        """
        folder, source = self._results / name, self._origin.source
        tags = tags_by_run(self._results).get(name, ())
        with suppress(FileNotFoundError, NotADirectoryError):
            (folder / RESULTS).stat()  # which fails where is_run only says no
        if not is_run(folder):
            raise FileNotFoundError(folder)
        hashed = content_hash(folder, tags)
        with self._database.transaction() as connection:
            known = self._known(connection, name)
        if known and (known.source, known.content_hash, known.unreadable) == (source, hashed, ""):
            result.unchanged.append(name)
            return
        rows, problems = read_run_rows(folder, tags)
        (run,) = rows[RUNS]
        run |= {"source": source, "content_hash": hashed, "synced_at": datetime.now(UTC)}
        with self._database.transaction() as connection:
            known = self._known(connection, name)
            # A clone of the repository has the figures of a run, but not its records, which came
            # from the machine that made it.
            cloned = known and known.source != source and known.has_records > run["has_records"]
            if known and known.content_hash == hashed:
                connection.execute(RUNS.update().where(*self._is(RUNS, name)).values(source=source))
                result.unchanged.append(name)
            elif cloned:
                result.unchanged.append(name)
            else:
                self._delete(connection, name)
                key = {"project": self._origin.project, "run_id": name}
                for table, found in rows.items():
                    if found:
                        connection.execute(table.insert(), [{**key, **row} for row in found])
                (result.changed if known else result.added).append(name)
        if problems:
            result.broken[name] = problems

    def _remove(self, name: str, result: SyncResult) -> None:
        """Remove a run whose folder is gone, unless it is back or came from another folder."""
        with self._database.transaction() as connection:
            known = self._known(connection, name)
            gone = not is_run(self._results / name)
            if known and known.source == self._origin.source and gone:
                self._delete(connection, name)
                result.removed.append(name)

    def _delete(self, connection: sa.Connection, name: str) -> None:
        for table in _FILLED:
            connection.execute(table.delete().where(*self._is(table, name)))

    def _known(self, connection: sa.Connection, name: str) -> sa.Row[Any] | None:
        return connection.execute(sa.select(RUNS).where(*self._is(RUNS, name))).first()

    def _is(self, table: sa.Table, name: str) -> tuple[Any, Any]:
        return table.c.project == self._origin.project, table.c.run_id == name


# --- trends


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
            raise StorageError.of(
                database.shown, "index_row", reason=clean(str(error), 200)
            ) from error


def _trend_run(found: sa.Row[Any]) -> TrendRun:
    row = {str(name): value for name, value in found._mapping.items()}
    figure = None if row["metric"] is None else {**row, "group": row["group_name"]}
    known = {"figure": figure, "ran_at": _utc(row["ran_at"]), "config": json.loads(row["config"])}
    return msgspec.convert({**row, **known, "tags": row["tags"].split()}, TrendRun)


def _utc(time: datetime) -> datetime:
    # SQLite keeps no zone, and its times are in UTC; PostgreSQL answers in the user's zone.
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
