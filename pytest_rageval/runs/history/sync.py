"""Updates the index from the folders, a run at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from pytest_rageval.runs.history.database import IndexDatabase, RowError, tables
from pytest_rageval.runs.history.run_rows import (
    Origin,
    RunRows,
    content_hash,
    read_run_rows,
    stamp_of,
)
from pytest_rageval.runs.store import RESULTS, is_run, list_runs
from pytest_rageval.runs.tags import tags_by_run

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row, Select

_ATTEMPTS: Final = 5
"""To read a run that is being written; the next sync adds a run that was missed."""

Change = Literal["added", "changed", "unchanged", "removed"]


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

    def note(self, run_id: str, change: Change) -> None:
        """Add a run to the list of a change."""
        getattr(self, change).append(run_id)


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
        if rebuild:
            self._drop()
        result = SyncResult()
        known = self._known()
        folders = list_runs(self._results)
        tags = tags_by_run(self._results)
        for folder in folders:
            self._sync(folder, tags.get(folder.name, ()), known.get(folder.name), result)
        here = {folder.name for folder in folders}
        for name in _closed_folders(self._results):
            here.add(name)
            result.broken[name] = [f"{self._results / name}: cannot be opened"]
        gone = [name for name, one in known.items() if one.source == self._origin.source]
        self._remove((name for name in gone if name not in here), result)
        return result

    def put(self, run_ids: Iterable[str]) -> SyncResult:
        """Put in or remove some runs alone.

        Raises:
            StorageError: the database fails.
        """
        result = SyncResult()
        tags = tags_by_run(self._results)
        for name in run_ids:
            folder = self._results / name
            if is_run(folder):
                with self._database.transaction() as connection:
                    known = self._one(connection, name)
                self._sync(folder, tags.get(name, ()), known, result)
            else:
                self._remove([name], result)
        return result

    # --- one run -----------------------------------------------------------------------------

    def _sync(
        self, folder: Path, tags: tuple[str, ...], known: Row[Any] | None, result: SyncResult
    ) -> None:
        name = folder.name
        if known is not None and not known.unreadable and known.source == self._origin.source:
            if known.stamp == stamp_of(folder, tags).value:
                result.note(name, "unchanged")
                return
        try:
            change, problems = self._write(folder, tags, known)
            for attempt in range(_ATTEMPTS):
                if change is not None:
                    break
                last = attempt + 1 == _ATTEMPTS
                tags = tags_by_run(self._results).get(name, ())
                change, problems = self._write(folder, tags, None, last=last)
        except FileNotFoundError:  # pruned meanwhile
            self._remove([name], result)
            return
        except (RowError, UnicodeEncodeError) as error:  # its name may hold any bytes
            result.broken[name] = [f"{folder}: cannot be kept: {error}"]
            return
        if change is not None:
            result.note(name, change)
        if problems:
            result.broken[name] = problems

    def _write(
        self, folder: Path, tags: tuple[str, ...], known: Row[Any] | None, *, last: bool = False
    ) -> tuple[Change | None, list[str]]:
        """Read a run, and write it if it has not changed since.

        Reading takes longer than writing, so it is done before other writers are locked out.

        Args:
            folder: of the run.
            tags: its tags.
            known: its earlier state in the index, which may make the reading unnecessary.
            last: write it even if it changed; its stamp lets the next sync read it again.

        Returns:
            The change, or None if the run changed meanwhile; and the problems of reading it.
        """
        stamp, hashed = stamp_of(folder, tags), content_hash(folder, tags)
        rows = None
        if known is None or known.content_hash != hashed or known.unreadable:
            rows = read_run_rows(folder, tags)
        with self._database.transaction(f"{self._origin.project}/{folder.name}") as connection:
            if not is_run(folder):
                raise FileNotFoundError(folder)
            now = tags_by_run(self._results).get(folder.name, ())
            if stamp_of(folder, now).value != stamp.value and not last:
                return None, []
            known = self._one(connection, folder.name)
            kept = {"stamp": stamp.value if stamp.settled else "", "content_hash": hashed}
            if known is not None and known.content_hash == hashed:
                self._vouch(connection, folder.name, known, kept["stamp"])
            elif rows is None:  # another process removed or changed it meanwhile
                return None, []
            elif known is None or not self._is_more(known, rows):
                self._replace(connection, folder.name, rows, kept)
                return "added" if known is None else "changed", list(rows.problems)
        return "unchanged", list(rows.problems) if rows else []

    def _vouch(self, connection: Connection, run_id: str, known: Row[Any], stamp: str) -> None:
        """Note this folder as the source of a run that is already in the index."""
        if (known.source, known.stamp) != (self._origin.source, stamp):
            runs = tables().runs
            values = {"source": self._origin.source, "stamp": stamp}
            connection.execute(runs.update().where(*self._is(runs, run_id)).values(values))

    def _is_more(self, known: Row[Any], rows: RunRows) -> bool:
        # A clone of the repository has the figures of a run, but not its records, which came from
        # the machine that made it.
        other = known.source != self._origin.source
        return other and known.has_records and not rows.run["has_records"]

    def _replace(
        self, connection: Connection, run_id: str, rows: RunRows, kept: Mapping[str, str]
    ) -> None:
        known = tables()
        key = {"project": self._origin.project, "run_id": run_id}
        self._delete(connection, run_id)
        run = {
            **key,
            **rows.run,
            **kept,
            "source": self._origin.source,
            "synced_at": datetime.now(UTC),
        }
        connection.execute(known.runs.insert(), run)
        for table, found in ((known.results, rows.results), (known.metrics, rows.metrics)):
            if found:
                connection.execute(table.insert(), [{**key, **row} for row in found])

    # --- removing ----------------------------------------------------------------------------

    def _remove(self, run_ids: Iterable[str], result: SyncResult) -> None:
        """Remove runs whose folders are gone, unless one is back or came from another folder."""
        for name in run_ids:
            with self._database.transaction(f"{self._origin.project}/{name}") as connection:
                known = self._one(connection, name)
                gone = not is_run(self._results / name)
                if known is not None and known.source == self._origin.source and gone:
                    self._delete(connection, name)
                    result.note(name, "removed")

    def _delete(self, connection: Connection, run_id: str) -> None:
        for table in tables().of_a_run:
            connection.execute(table.delete().where(*self._is(table, run_id)))

    def _drop(self) -> None:
        with self._database.transaction(f"{self._origin.project}/") as connection:
            for table in tables().of_a_run:
                connection.execute(table.delete().where(table.c.project == self._origin.project))

    # --- state of the index ------------------------------------------------------------------

    def _known(self) -> dict[str, Row[Any]]:
        runs = tables().runs
        statement = _select_known().where(runs.c.project == self._origin.project)
        with self._database.transaction() as connection:
            return {row.run_id: row for row in connection.execute(statement)}

    def _one(self, connection: Connection, run_id: str) -> Row[Any] | None:
        runs = tables().runs
        return connection.execute(_select_known().where(*self._is(runs, run_id))).first()

    def _is(self, table: Any, run_id: str) -> tuple[Any, Any]:
        return table.c.project == self._origin.project, table.c.run_id == run_id


def _closed_folders(results_dir: Path) -> list[str]:
    """Return the names of folders that cannot be read."""
    found = []
    for path in sorted(results_dir.iterdir()) if results_dir.is_dir() else []:
        try:
            (path / RESULTS).stat()  # Path.exists() hides the error from Python 3.14 on
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            found.append(path.name)
    return found


def _select_known() -> Select[Any]:
    """Return the query of the state of runs in the index."""
    from sqlalchemy import select

    c = tables().runs.c
    return select(c.run_id, c.source, c.stamp, c.content_hash, c.has_records, c.unreadable)
