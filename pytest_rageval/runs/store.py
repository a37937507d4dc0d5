"""Writing and reading of the files in run folders, ``evals/results/<run_id>/``.

Documents are written to another name and renamed, so a reader sees the old one or the new one.
``results.jsonl`` grows by one line per record.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final, TypeVar

import msgspec

from pytest_rageval.runs.documents import decoded, encode_text, record_line, record_of_line
from pytest_rageval.runs.tags import prepare_results_dir, read_tags, refuse_malformed_tag
from pytest_rageval.support.files import (
    FOLDER_LOCK,
    Lock,
    named_errors,
    open_plain,
    refuse_link,
    write_file,
)
from pytest_rageval.support.json_text import is_json
from pytest_rageval.support.jsonl import cut_torn_line
from pytest_rageval.support.process import Closing
from pytest_rageval.support.reading import hint
from pytest_rageval.values.errors import Fault, StorageError
from pytest_rageval.values.numbers import Aggregate, LocalNumbers
from pytest_rageval.values.record import SCHEMA_VERSION, CaseRecord
from pytest_rageval.values.settings import RUN_ID_RULE, is_run_id

_T = TypeVar("_T")

RESULTS: Final = "results.jsonl"
REPORT: Final = "report.html"

_LAST: Final = re.compile(r"last(?:~([0-9]{1,9}))?")

_BUFFER: Final = 1 << 18
"""Bytes read at once: a line is often longer than the default."""

SECTIONS: Final = "sections.json"
"""Sections of the report from a project's own code; only where there are any."""
RUN_FILES: Final = (RESULTS, "metrics.json", "config.json")
"""A folder with one of these is a run."""
BEGUN: Final = "begun.json"
"""A folder with this one is a sweep, which holds runs of its own."""


def new_run_id(now: datetime) -> str:
    """Return a run id such as ``20261120-1958-7c1d``: an aware time in UTC, to the minute.

    Random hex digits tell apart runs of the same minute.
    """
    return f"{now.astimezone(UTC):%Y%m%d-%H%M}-{secrets.token_hex(2)}"


# --- writing -------------------------------------------------------------------------------


class RunWriter(Closing):
    """Writes one run; usable as a context manager and from several threads.

    Args:
        results_dir: folder of all runs, created with a ``.gitignore`` where it is missing.
        run_id: name of the new run.
        resume: continue in a run whose folder exists; a torn last line is cut off first.

    Raises:
        StorageError: the id is not a run id, is taken (or, to resume, does not exist), another
            session is writing the run, or the folder cannot be written.
    """

    def __init__(self, results_dir: Path, run_id: str, *, resume: bool = False) -> None:
        if not is_run_id(run_id, new=not resume):
            raise StorageError.of("run id", "value", found=repr(run_id), expected=RUN_ID_RULE)
        self.run_id = run_id
        self.path = results_dir / run_id
        self._results = self.path / RESULTS
        self._lock = threading.Lock()
        self._folder_lock: Lock | None = None
        try:
            self._lines = self._open_named(results_dir, resume=resume)
            # Some file systems of networks count no links.
            self._linked = os.fstat(self._lines.fileno()).st_nlink > 0
        except StorageError:
            self._unlock()
            raise

    def _open_named(self, results_dir: Path, *, resume: bool) -> IO[bytes]:
        try:
            return self._open(results_dir, resume=resume)
        except OSError as error:
            taken = isinstance(error, FileExistsError | NotADirectoryError)
            if not taken or results_dir.is_dir():
                raise StorageError.of(self.path, "unwritable", reason=error.strerror) from error
            raise StorageError.of("results", "no_results_folder", found=results_dir) from error

    def _open(self, results_dir: Path, *, resume: bool) -> IO[bytes]:
        prepare_results_dir(results_dir)
        results = self._results
        refuse_link(self.path)
        if resume:
            if not self.path.is_dir():
                raise StorageError.of(self.path, "absent", what="run to resume")
            self._folder_lock = Lock(self.path, wait=False, what="run")
            # A session killed at once leaves an empty folder.
            if os.path.lexists(results):
                refuse_link(results)
                cut_torn_line(results)
            return results.open("ab")
        if self.run_id in read_tags(results_dir):
            raise StorageError.of("run id", "duplicate", found=repr(self.run_id), owner="a tag")
        self.path.mkdir(exist_ok=True)
        self._folder_lock = Lock(self.path, wait=False, what="run")
        if any(path.name != FOLDER_LOCK for path in self.path.iterdir()):
            raise StorageError.of(self.path, "exists", what="id")
        # "x": of two runs that start at once with one id, the second fails.
        return results.open("xb")

    def append(self, record: CaseRecord, line: bytes | None = None) -> int:
        """Write one record as a line, hand it to the operating system at once, return its place.

        There is no fsync: it costs milliseconds per record and would only help against a loss
        of power, after which a resume asks the lost cases again. A killed process loses
        nothing that was appended.

        Args:
            record: as it is stored.
            line: its line, where that is known.

        Raises:
            ValueError: a number is NaN or infinite.
            StorageError: it cannot be written, or the file was removed meanwhile.
        """
        line = record_line(record) if line is None else line
        with self._lock, named_errors(self._results, StorageError):
            place = self._lines.tell()
            # Bytes that a full disk refuses stay in the buffer and begin the next write, so that
            # a later line never begins inside a torn one.
            self._lines.write(line + b"\n")
            self._lines.flush()
            if self._linked and os.fstat(self._lines.fileno()).st_nlink == 0:
                raise StorageError.of(self._results, "gone")
        return place

    def rewrite(self, records: Iterable[CaseRecord]) -> list[int]:
        """Put records in the place of all that were appended, atomically.

        Args:
            records: which may be read from the lines that are replaced.

        Returns:
            The place of the line of each.
        """
        places = [0]

        def lines() -> Iterator[bytes]:
            for record in records:
                line = record_line(record) + b"\n"
                places.append(places[-1] + len(line))
                yield line

        with self._lock, named_errors(self._results, StorageError):
            self._lines.close()
            _write(self._results, lines())
            self._lines = self._results.open("ab")
        return places[:-1]

    def discard(self) -> None:
        """Remove the run again, because its sources could not be read."""
        self.close()
        shutil.rmtree(self.path, ignore_errors=True)

    def close(self) -> None:
        """Close ``results.jsonl`` and let others write the run; further calls do nothing."""
        try:
            with named_errors(self._results, StorageError):
                self._lines.close()
        finally:
            self._unlock()

    def _unlock(self) -> None:
        if self._folder_lock is not None:
            self._folder_lock.close()


def write_document(folder: Path, name: str, document: object) -> Path:
    """Write a JSON document into the folder of a run atomically and return its path.

    Args:
        folder: of the run.
        name: of the file.
        document: a dataclass, or JSON values.

    Raises:
        ValueError: a number in it is NaN or infinite, or the name is not a plain file name.
        StorageError: the file cannot be written.
    """
    values = msgspec.to_builtins(document, str_keys=True)
    # json refuses NaN, where msgspec writes null.
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, indent=2)
    return write_text_document(folder, name, text + "\n")


def write_numbers(folder: Path, numbers: Aggregate) -> None:
    """Write ``metrics.json``, which git may hold, and ``groups.json``, which stays local.

    Raises:
        StorageError: a file cannot be written.
    """
    document = msgspec.to_builtins(numbers, str_keys=True)
    groups = {one.name: document.pop(one.name) for one in fields(LocalNumbers)}
    for name, found in groups.items():
        if name.startswith("by_"):  # tags would be mostly nulls
            groups[name] = {
                group: {key: one for key, one in metrics.items() if one["n"] or one["n_error"]}
                for group, metrics in found.items()
            }
    write_versioned(folder, "groups.json", groups)
    write_document(folder, "metrics.json", document)


def write_versioned(folder: Path, name: str, document: Mapping[str, Any]) -> Path:
    """Write a document as ``write_document`` does, under the version of the schema."""
    return write_document(folder, name, {"schema_version": SCHEMA_VERSION, **document})


def write_text_document(folder: Path, name: str, text: str | Iterable[str]) -> Path:
    """Write a text (UTF-8) into the folder of a run atomically and return its path.

    Args:
        folder: of the run.
        name: of the file.
        text: as a whole or in pieces, which are never in memory together.

    Raises:
        ValueError: the name is not a plain file name.
        StorageError: the file cannot be written.
    """
    target = folder / name
    if target.parent != folder:
        raise ValueError(f"name: got {name!r}, expected a plain file name")
    _write(target, map(encode_text, (text,) if isinstance(text, str) else text))
    return target


def _write(target: Path, content: Iterable[bytes]) -> None:
    refuse_link(target.parent)
    with named_errors(target, StorageError):
        try:
            write_file(target, content)
        except (FileNotFoundError, NotADirectoryError):  # the latter: a file stands in its place
            raise StorageError.of(target, "gone") from None


# --- reading -------------------------------------------------------------------------------


def read_records(path: Path) -> list[CaseRecord]:
    """Read the records of a run in the order they were written.

    Args:
        path: a run folder or its ``results.jsonl``. A last line without its line break that
            does not parse was torn by a kill, and is left out.

    Raises:
        StorageError: the file is missing, or lines in it are broken (the text names them).
    """
    return [record for _, record in iterate_records(path)]


def iterate_records(path: Path) -> Iterator[tuple[int, CaseRecord]]:
    """Yield the records of a run one by one, each with the place of its line; see `read_records`.

    Raises:
        StorageError: as there, of broken lines only at the end.
    """
    file = path / RESULTS if path.is_dir() else path
    faults: list[Fault] = []
    place = 0
    with named_errors(file, StorageError, "unreadable"), _open_results(file) as lines:
        for number, line in enumerate(lines, start=1):
            text = line.removesuffix(b"\n")
            if text and (text != line or is_json(text)):
                try:
                    yield place, record_of_line(text)
                except StorageError as error:
                    faults.append(_broken_record(file, number, error))
            place += len(line)
    if faults:
        raise StorageError.of_faults(faults)


def _broken_record(file: Path, number: int, error: StorageError) -> Fault:
    facts = {"reason": str(error)}
    return Fault(code="broken_record", facts=facts, file=str(file), line=number)


def _open_results(file: Path) -> IO[bytes]:
    try:
        return open_plain(file, _BUFFER)
    except FileNotFoundError:
        raise StorageError.of(f"run {file.parent.name}", "no_results", found=RESULTS) from None


def read_record(path: Path, place: int) -> CaseRecord:
    """Read the record whose line begins at a place.

    Raises:
        StorageError: the file is gone, or the line is broken.
    """
    with named_errors(path / RESULTS, StorageError, "unreadable"):
        with open_plain(path / RESULTS) as lines:
            lines.seek(place)
            text = lines.readline()
            try:
                return record_of_line(text)
            except StorageError as error:
                lines.seek(0)
                number = lines.read(place).count(b"\n") + 1
                raise StorageError.of_faults(
                    [_broken_record(path / RESULTS, number, error)]
                ) from None


def read_json(path: Path) -> dict[str, Any]:
    """Read one JSON document of a run; see ``read_document``."""
    return read_document(path, dict[str, Any])


def read_document(path: Path, type_: type[_T]) -> _T:
    """Read a document of a run as the dataclass that it was written from.

    Raises:
        StorageError: it is missing or damaged, or a number in it is NaN or infinite; a value of
            another type is named with its path.
    """
    try:
        with open_plain(path) as file:
            return decoded(file.read(), msgspec.json.Decoder(type_))
    except (OSError, StorageError) as error:
        if isinstance(error, StorageError):
            raise error.within(file=str(path)) from error
        raise StorageError.of(path, "unreadable", reason=error.strerror or error) from error


# --- naming a run --------------------------------------------------------------------------


def list_runs(results_dir: Path) -> list[Path]:
    """Return the run folders, oldest first.

    A run's time is ``timestamp`` in its ``config.json``, which a clone of the repository
    keeps, or else the time its records were last written.
    """
    if not results_dir.is_dir():
        return []
    runs = [path for path in results_dir.iterdir() if is_run(path)]
    return sorted(runs, key=lambda path: (run_time(path), path.name))


def is_run(path: Path) -> bool:
    """Whether a folder holds a run; False for a folder that cannot be read."""
    try:
        return any((path / name).is_file() for name in RUN_FILES)
    except OSError:
        return False


def run_time(path: Path) -> float:
    """Return the time of a run, as ``list_runs`` orders runs: seconds since 1970.

    Raises:
        OSError: the folder is gone.
    """
    if (stored := stored_time(path / "config.json")) is not None:
        return stored
    found = [path / name for name in RUN_FILES if (path / name).is_file()]
    return (found[0] if found else path).stat().st_mtime


def stored_time(document: Path) -> float | None:
    """Return the ``timestamp`` of a document of a run, in seconds since 1970; None: it has none."""
    try:
        return time_in(read_json(document).get("timestamp"))
    except StorageError:
        return None


def time_in(timestamp: object) -> float | None:
    """Return a ``timestamp`` in seconds since 1970, or None."""
    try:
        stamp = datetime.fromisoformat(timestamp)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()


def resolve_run(
    results_dir: Path, name: str, *, exclude: str | None = None, relative_to: Path | None = None
) -> Path:
    """Return the folder of the run that a user named.

    Args:
        results_dir: folder of all runs.
        name: an id, a tag, ``last``, ``last~N`` (N runs before the last), a prefix that only one
            run has, or the path of a run folder or of a file in it.
        exclude: id of the run under way, which is neither ``last`` nor found by a prefix.
        relative_to: base of a relative path; one that is not there may be in the working
            directory, from which paths of the command line start.

    Raises:
        StorageError: no run or more than one matches, or the file of a tag is malformed.
    """
    runs = [path for path in list_runs(results_dir) if path.name != exclude]
    if (exact := results_dir / name) in runs:
        return exact
    tags = read_tags(results_dir)
    if name in tags:
        # A tag names its run even while that run is under way.
        if is_run(tagged := results_dir / tags[name]):
            return tagged
        raise StorageError.of(f"run {name!r}", "tag_lost", run=tags[name], folder=results_dir)
    refuse_malformed_tag(results_dir, name)
    last = _LAST.fullmatch(name)
    if last:
        return _nth_last(results_dir, runs, name, int(last[1] or 0), exclude)
    matches = [path for path in runs if name and path.name.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    if len(matches) > 1:
        shown = ", ".join(path.name for path in matches[-5:])
        raise StorageError.of(f"run {name!r}", "ambiguous", n=len(matches), names=shown)
    for path in (base / name for base in filter(None, (relative_to, Path()))):
        with suppress(OSError):  # the name may be longer than a path can be
            path = path.parent if path.is_file() else path
        if name and is_run(path):
            return path
    if not runs:
        raise StorageError.of(f"run {name!r}", "not_found", hint=no_runs(results_dir))
    names = [path.name for path in runs]
    latest = {"latest": ", ".join(names[-3:]), "folder": str(results_dir)}
    raise StorageError.of(f"run {name!r}", "not_found", **(hint(name, [*tags, *names]) or latest))


def _nth_last(
    results_dir: Path, runs: list[Path], name: str, back: int, exclude: str | None
) -> Path:
    if not runs and exclude is not None:
        raise StorageError.of("", "first_run", folder=results_dir)
    if not runs:
        raise StorageError.of_faults([replace(no_runs(results_dir), field=f"run {name!r}")])
    if back >= len(runs):
        raise StorageError.of(f"run {name!r}", "few_runs", folder=results_dir, n=len(runs))
    return runs[-1 - back]


def no_runs(results_dir: Path) -> Fault:
    """Say that a folder has no runs, and which command makes one."""
    beside = results_dir.parent
    cases = f" {os.path.relpath(beside)}/" if any(beside.glob("*.jsonl")) else ""
    return Fault(code="no_runs", facts={"folder": str(results_dir), "command": f"pytest{cases}"})
