"""Reads the package's templates and writes missing files; never overwrites one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from pytest_rageval.authoring.scaffold.plan import PYTEST_FILES, Scaffold, plan_scaffold
from pytest_rageval.support.files import write_new_file
from pytest_rageval.values.errors import RagEvalError


class ScaffoldError(RagEvalError):
    """The project's folder cannot be read or written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Result for one planned file."""

    path: str
    created: bool
    """False: it existed and was kept."""


def read_templates() -> dict[str, bytes]:
    """Return every template file of the package by its name."""
    root = files("pytest_rageval.authoring.scaffold") / "files"
    return dict(_walk(root, ""))


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}", entry.read_bytes()


def read_project(folder: Path) -> Scaffold:
    """Return the files that the project in a folder needs; the folder need not exist.

    Raises:
        ScaffoldError: the path is a file, or a file in the folder cannot be read.
    """
    templates = read_templates()
    names = [one.path for one in plan_scaffold(templates, {}).files]
    return plan_scaffold(templates, dict(_existing(folder, [*names, *PYTEST_FILES])))


def _existing(folder: Path, names: list[str]) -> Iterator[tuple[str, bytes]]:
    for name in names:
        path = folder / name
        try:
            yield name, path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise ScaffoldError(f"{path}: cannot be read: {error.strerror}") from error


def write_scaffold(folder: Path, scaffold: Scaffold) -> Iterator[Written]:
    """Write each missing file, and yield the result for each as it is done.

    A file appears whole or not at all. Existing files are kept, even empty ones and broken links.
    Running it again completes an interrupted run.

    Raises:
        ScaffoldError: a folder or file cannot be created; names it.
    """
    for planned in scaffold.files:
        path = folder / planned.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            created = write_new_file(path, [planned.content])
        except (FileExistsError, NotADirectoryError) as error:
            where = error.filename or path.parent
            raise ScaffoldError(
                f"{where}: a file stands where a folder is needed; move it away, or name "
                "another folder"
            ) from error
        except OSError as error:
            raise ScaffoldError(
                f"{path}: cannot be written: {error.strerror}; name a folder that you may write to"
            ) from error
        yield Written(path=planned.path, created=created)
