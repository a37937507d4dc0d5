"""A job of scoring in parts, and the folder that keeps the finished parts."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import uuid4

import msgspec

from pytest_rageval.metrics.definitions import definitions_document
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.runs.list import PARTS
from pytest_rageval.runs.tags import prepare_results_dir
from pytest_rageval.support.files import Lock, named_errors, shown_below, write_file
from pytest_rageval.values.errors import ConfigError, StorageError
from pytest_rageval.values.settings import Settings

File = Literal["cases", "responses"]
if TYPE_CHECKING:
    Ints = array[int]
    Floats = array[float]
else:  # of files: Python before 3.12 does not know arrays of a type
    Ints = Floats = array

FILES: Final[tuple[File, ...]] = ("cases", "responses")
_PART_BYTES: Final = 32 << 20
_RANGE_BYTES: Final = 32 << 20
_MOST_RANGES: Final = 256
_JOB: Final = "job.json"
_OWN: Final = re.compile(
    r"job\.json|table|(cases|responses)-\d+(\.index)?|reported-\d+|part-\d+(\.(metrics|columns))?"
    r"|\..+\.rageval-[\da-f-]+\.tmp"
)
"""Names of the files of a folder, those of killed writers included."""
_BEFORE_JOB: Final = re.compile(r"\.lock|\.job\.json\.rageval-[\da-f-]+\.tmp")
"""Names that a command leaves behind that is killed before the folder has its job."""
_DECIDING: Final = ("pytest-rageval", "numpy", "snowballstemmer")
"""Packages that decide numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file to score, as it was when the job began."""

    path: Path
    """Absolute: workers may have another working directory."""
    shown: str
    """The path as it is shown to the user."""
    size: int
    changed_ns: int

    def check(self) -> None:
        """Check that the file is as it was when the job began.

        Raises:
            StorageError: it has another size or time, or cannot be read.
        """
        with named_errors(self.path, StorageError, "read"):
            now = self.path.stat()
        if (now.st_size, now.st_mtime_ns) != (self.size, self.changed_ns):
            raise StorageError(f"{self.path}: not the file that the job began with; score again")

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """The beginnings and ends, in bytes, by which it is indexed."""
        step = max(_RANGE_BYTES, -(-self.size // _MOST_RANGES))
        return [(start, min(self.size, start + step)) for start in range(0, self.size, step)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Two files to score, the same for every process."""

    files: Mapping[File, InputFile]
    settings: Settings
    folder: Path
    """Place of the finished parts, which every worker can write."""
    name: str
    """Hash of everything that decides the parts."""
    n_parts: int
    versions: dict[str, str]
    """Versions of Python and of packages that decide numbers."""

    def check(self) -> None:
        """Check that a worker has the versions, the files and the folder of the command.

        Raises:
            ConfigError: it has another version.
            StorageError: it does not see the folder, or one of the files has changed.
        """
        own = _versions()
        for name, version in self.versions.items():
            if own.get(name) != version:
                raise ConfigError(
                    f"a worker has {name} {own.get(name)}, expected {version} everywhere"
                )
        if self._read(_JOB) != self.name.encode():
            raise StorageError(f"{self.folder}: holds the parts of another job")
        for file in self.files.values():
            file.check()

    # --- files of the folder

    def has(self, name: str) -> bool:
        """Return whether a file is there, and so is complete."""
        return (self.folder / name).is_file()

    def write(self, name: str, content: bytes | Iterable[bytes]) -> None:
        """Write a file atomically.

        Raises:
            StorageError: it cannot be written.
        """
        path = self.folder / name
        with named_errors(path, StorageError):
            write_file(path, content)

    def write_value(self, name: str, value: object) -> None:
        """Write a value that ``read_value`` returns again; it may hold arrays."""
        self.write(name, msgspec.msgpack.encode(value, enc_hook=_packed))

    def read_value(self, name: str, kind: Any) -> Any:
        """Return the value of a file.

        Raises:
            StorageError: the file is missing, cannot be read, or holds something else.
        """
        content = self._read(name)
        try:
            return msgspec.msgpack.decode(content, type=kind, ext_hook=_array)
        except (msgspec.MsgspecError, ValueError) as error:
            raise self._broken(name, str(error)) from None

    def read_array(self, name: str, typecode: str, first: int, n: int) -> array[Any]:
        """Return some items of a file that holds nothing else.

        Raises:
            StorageError: the file is missing, cannot be read, or is too short.
        """
        found = array(typecode)
        content = self._read(name, first * found.itemsize, n * found.itemsize)
        if len(content) < n * found.itemsize:
            raise self._broken(name, "is cut off")
        found.frombytes(content)
        return found

    def _read(self, name: str, first: int = 0, size: int = -1) -> bytes:
        path = self.folder / name
        with named_errors(path, StorageError, "read"):
            try:
                with path.open("rb") as file:
                    file.seek(first)
                    return file.read(size)
            except FileNotFoundError:
                raise StorageError(
                    f"{path}: not seen by this process; name a folder that every worker shares "
                    "with --parts"
                ) from None

    def _broken(self, name: str, how: str) -> StorageError:
        return StorageError(f"{self.folder / name}: {how}; remove the folder and score again")

    # --- the folder itself

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep the folder for this job alone until the block ends.

        Raises:
            StorageError: another session has it, it holds something else, or cannot be written.
        """
        with named_errors(self.folder, StorageError):
            self.folder.mkdir(parents=True, exist_ok=True)
        self._refuse_other_files()  # before a lock is made among them
        with closing(Lock(self.folder, wait=False, what="job")):
            self._refuse_other_files()
            if not self.has(_JOB):
                self.write(_JOB, self.name.encode())
            elif self._read(_JOB) != self.name.encode():
                raise StorageError(
                    f"{self.folder}: holds parts of other files, settings or versions, or of "
                    "metrics in code, of which none is used again; remove it or name another folder"
                )
            yield
        with suppress(OSError):  # it holds parts
            self.folder.rmdir()

    def _refuse_other_files(self) -> None:
        with named_errors(self.folder, StorageError, "read"):
            names = {path.name for path in self.folder.iterdir()}
        if _JOB not in names and not all(map(_BEFORE_JOB.fullmatch, names)):
            raise StorageError(f"{self.folder}: holds other files, expected an empty or a new one")

    def remove(self) -> None:
        """Remove the files of the job; the folder goes when it is no longer claimed."""
        with suppress(OSError):
            # The name of the job last: without it, parts could be those of any other.
            for path in sorted(self.folder.iterdir(), key=lambda path: path.name == _JOB):
                if _OWN.fullmatch(path.name):
                    path.unlink()


def _packed(value: Any) -> msgspec.msgpack.Ext:
    if isinstance(value, array):
        return msgspec.msgpack.Ext(ord(value.typecode), value.tobytes())
    raise NotImplementedError(f"{type(value)} in a file of a job")


def _array(typecode: int, content: memoryview) -> array[Any]:
    found = array(chr(typecode))
    found.frombytes(content)
    return found


def open_job(
    cases: Path, responses: Path, settings: Settings, registry: Registry, folder: Path | None
) -> Job:
    """Return the job of two files.

    Args:
        cases: the case file.
        responses: the file of responses.
        settings: of the run.
        registry: the metrics.
        folder: of the parts; None: one among the results, named by the job.

    Raises:
        ConfigError: the settings need all records in one process.
        StorageError: a file is not a plain one, or the results cannot be written.
    """
    if registry.reads_records:
        raise ConfigError(
            "a metric or a section of the project needs all records in one process; "
            "leave out --workers and --scheduler"
        )
    root, paths = Path(settings.rootdir), zip(FILES, (cases, responses), strict=True)
    files = {name: _input_file(path, root) for name, path in paths}
    deciding = [
        _versions(),
        repr(files),
        repr(settings),
        definitions_document(registry),
        # Nothing shows whether code is what it was when a part was scored.
        uuid4().hex if any(info.compute for info in registry.cases.values()) else None,
    ]
    name = hashlib.sha256(json.dumps(deciding).encode()).hexdigest()[:12]
    if folder is None:
        results = settings.results_folder
        with named_errors(results, StorageError):
            prepare_results_dir(results)
        folder = results / f"{PARTS}{name}"
    return Job(
        files=files,
        settings=settings,
        folder=folder.absolute(),
        name=name,
        versions=_versions(),
        n_parts=max(1, -(-sum(one.size for one in files.values()) // _PART_BYTES)),
    )


def _input_file(path: Path, root: Path) -> InputFile:
    with named_errors(path, StorageError, "read"):
        found = path.stat()
    if not path.is_file():
        raise StorageError(f"{path}: expected a file; a pipe is scored without --workers")
    return InputFile(
        path=path.absolute(),
        shown=shown_below(path, root),
        size=found.st_size,
        changed_ns=found.st_mtime_ns,
    )


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{n: metadata.version(n) for n in _DECIDING}}
