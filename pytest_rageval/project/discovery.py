"""Selection of the files that hold evaluation cases: path logic only, standard library only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_rageval.values.settings import Settings

DEFAULT_TESTPATHS = ("evals",)

THRESHOLDS = "thresholds.toml"
"""The gate's file at the rootdir; its checks are reported as items of it."""

NOT_CASES = frozenset(
    {"results", "cassettes", "cache", "labels", "reviews", "documents", "inbox", "vault", "vaults"}
)
"""Folders below a test path whose ``.jsonl`` files are never case files, unless they are named."""


def is_case_file(
    path: Path,
    *,
    rootdir: Path,
    testpaths: Iterable[str],
    vault: str | None = None,
    labels: str | None = None,
) -> bool:
    """Say whether a file found by walking is a case file.

    A file named on the command line is always one and is not asked about here.

    Args:
        path: absolute path of the file.
        rootdir: pytest's rootdir.
        testpaths: folders (or files) relative to ``rootdir`` that hold cases.
        vault: folder of the embedded server's documents, relative to ``rootdir``.
        labels: file of people's labels, relative to ``rootdir``.
    """
    if path.suffix != ".jsonl" or (labels is not None and path == rootdir / labels):
        return False
    bases = [Path(os.path.abspath(rootdir / testpath)) for testpath in testpaths]
    if vault is not None and path.is_relative_to(notes := Path(os.path.abspath(rootdir / vault))):
        # A test path among the notes is still one, as where the project itself is the vault.
        bases = [base for base in bases if base.is_relative_to(notes)]
    for base in bases:
        if path == base:
            return True
        if path.is_relative_to(base):
            return NOT_CASES.isdisjoint(path.relative_to(base).parts[:-1])
    return False


def iter_case_files(
    *, rootdir: Path, testpaths: Iterable[str], vault: str | None = None, labels: str | None = None
) -> Iterator[Path]:
    """Yield every case file of the test paths, sorted by path."""
    found: set[Path] = set()
    names = tuple(testpaths)
    for testpath in names:
        base = Path(os.path.abspath(rootdir / testpath))
        files = _jsonl_files(base) if base.is_dir() else (base,)
        found.update(
            file
            for file in files
            if file.is_file()
            and is_case_file(file, rootdir=rootdir, testpaths=names, vault=vault, labels=labels)
        )
    yield from sorted(found)


def project_files(settings: Settings) -> list[Path]:
    """Return every case file of a project, sorted by path."""
    return list(
        iter_case_files(
            rootdir=Path(settings.rootdir),
            testpaths=settings.testpaths,
            vault=settings.target.vault,
            labels=settings.judging.labels,
        )
    )


def cases_folder(settings: Settings) -> Path:
    """Return the folder of the cases of the first test path, which may be a file."""
    first = Path(settings.rootdir) / settings.testpaths[0]
    return first.parent if first.is_file() else first


def _jsonl_files(base: Path) -> Iterator[Path]:
    """Yield the files below a folder, without entering folders that never hold case files."""
    for folder, folders, names in os.walk(base):
        folders[:] = [name for name in folders if name not in NOT_CASES]
        yield from (Path(folder, name) for name in names if name.endswith(".jsonl"))


def argument_path(argument: str, invocation_dir: Path) -> Path:
    """Return the absolute path that a pytest command-line argument names."""
    # abspath, not resolve: pytest keeps symlinks in node paths.
    return Path(os.path.abspath(invocation_dir / argument.split("::", 1)[0]))


def names_cases(
    argument: str, *, rootdir: Path, testpaths: Iterable[str], invocation_dir: Path
) -> bool:
    """Say whether a command-line argument names a case file, a test path or a folder below one.

    A folder above a test path, such as the root, holds other tests too. Running those does not ask
    for an evaluation, which may send paid requests.
    """
    path = argument_path(argument, invocation_dir)
    named = (path.is_relative_to(os.path.abspath(rootdir / testpath)) for testpath in testpaths)
    return path.suffix == ".jsonl" or any(named)


def selected_files(
    arguments: Iterable[str], case_files: Iterable[Path], *, invocation_dir: Path
) -> list[Path]:
    """Return the case files that the command-line arguments ask for.

    A ``.jsonl`` file that is named is always included; a folder includes the case files below
    it.
    """
    known = list(case_files)
    chosen: set[Path] = set()
    for argument in arguments:
        path = argument_path(argument, invocation_dir)
        if path.suffix == ".jsonl" and path.is_file():
            chosen.add(path)
        else:
            chosen.update(file for file in known if file.is_relative_to(path))
    return sorted(chosen)
