"""A job of scoring in parts, and the folder that keeps the finished parts."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from pytest_rageval.metrics.definitions import definitions_document
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.runs.documents import versions
from pytest_rageval.runs.tags import prepare_results_dir
from pytest_rageval.support.files import named_errors, write_file
from pytest_rageval.values.dataclass import dataclass
from pytest_rageval.values.errors import ConfigError, StorageError
from pytest_rageval.values.settings import Settings

_PART_BYTES: Final = 32 << 20
_RANGE_BYTES: Final = 32 << 20
_MOST_RANGES: Final = 256
_JOB: Final = "job.json"
_DECIDING: Final = ("pytest-rageval", "numpy", "python")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Two files to score, the same for every process."""

    cases: Path
    """Absolute, as is ``responses``: workers may have another working directory."""
    responses: Path
    shown: tuple[str, str]
    """Both as they are shown to the user."""
    settings: Settings
    folder: Path
    """Of the finished parts, which every worker can write."""
    n_parts: int
    versions: dict[str, str]
    """Of Python and packages that decide numbers."""

    def check_versions(self) -> None:
        """Check that a worker has the versions of the process that started the job.

        Raises:
            ConfigError: it has another one.
        """
        own = _versions()
        for name, version in self.versions.items():
            if own.get(name) != version:
                raise ConfigError(
                    f"a worker has {name} {own.get(name)}, expected {version} everywhere"
                )

    def path(self, name: str) -> Path:
        """Return a file of the folder."""
        return self.folder / name

    def write(self, name: str, content: bytes | Iterable[bytes]) -> None:
        """Write a file of the folder atomically.

        Raises:
            StorageError: it cannot be written.
        """
        with named_errors(self.path(name), StorageError):
            write_file(self.path(name), content)

    def write_value(self, name: str, value: object) -> None:
        """Write a value that ``read_value`` returns again."""
        self.write(name, msgspec.msgpack.encode(value))

    def read_value(self, name: str, kind: Any) -> Any:
        """Return the value of a file of the folder, or None where there is none.

        Raises:
            StorageError: the file cannot be read, or holds something else.
        """
        path = self.path(name)
        with named_errors(path, StorageError, "read"):
            if not path.is_file():
                return None
            content = path.read_bytes()
        try:
            return msgspec.msgpack.decode(content, type=kind)
        except msgspec.MsgspecError as error:
            raise StorageError(f"{path}: {error}; remove the folder and score again") from None

    def remove(self) -> None:
        """Remove the folder with all parts."""
        shutil.rmtree(self.folder, ignore_errors=True)


def open_job(
    cases: Path, responses: Path, settings: Settings, registry: Registry, folder: Path | None
) -> Job:
    """Return the job of two files, in a folder that may hold finished parts of it.

    Args:
        cases: the case file.
        responses: the file of responses.
        settings: of the run.
        registry: the metrics.
        folder: of the parts; None: one among the results, named by the job.

    Raises:
        ConfigError: the settings need all records in one process.
        StorageError: a file is not a plain one, or the folder holds something else.
    """
    if registry.reads_records:
        raise ConfigError(
            "a metric or a section of the project needs all records in one process; "
            "leave out --workers and --scheduler"
        )
    sizes = []
    for path in (cases, responses):
        with named_errors(path, StorageError, "read"):
            found = path.stat()
        if not path.is_file():
            raise StorageError(f"{path}: expected a file; a pipe is scored without --workers")
        sizes.append((found.st_size, found.st_mtime_ns))
    content = [
        _versions(),
        [os.fspath(path.absolute()) for path in (cases, responses)],
        sizes,
        repr(settings),
        definitions_document(registry),
    ]
    name = hashlib.sha256(json.dumps(content, default=repr).encode()).hexdigest()[:12]
    results = Path(settings.rootdir) / settings.results_dir
    if folder is None:
        prepare_results_dir(results)
        folder = results / f".parts-{name}"
    _claim(folder, name)
    return Job(
        cases=cases.absolute(),
        responses=responses.absolute(),
        shown=(cases.as_posix(), responses.as_posix()),
        settings=settings,
        folder=folder.absolute(),
        versions=_versions(),
        n_parts=max(1, -(-sum(size for size, _ in sizes) // _PART_BYTES)),
    )


def _versions() -> dict[str, str]:
    found = versions()
    return {name: found[name] for name in _DECIDING if name in found}


def _claim(folder: Path, name: str) -> None:
    with named_errors(folder, StorageError):
        folder.mkdir(parents=True, exist_ok=True)
        found = folder / _JOB
        if not found.is_file() and any(folder.iterdir()):
            raise StorageError(f"{folder}: holds other files, expected an empty or a new folder")
        if found.is_file() and found.read_text(encoding="utf-8") != name:
            raise StorageError(
                f"{folder}: holds parts of other files, settings or versions; remove it or name "
                "another folder"
            )
        write_file(found, name.encode())


def ranges(size: int) -> list[tuple[int, int]]:
    """Return the beginnings and ends, in bytes, by which a file is indexed."""
    step = max(_RANGE_BYTES, -(-size // _MOST_RANGES))
    return [(start, min(size, start + step)) for start in range(0, size, step)]
