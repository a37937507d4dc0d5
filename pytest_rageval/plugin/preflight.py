"""Detection of sessions that evaluate, which runs in every session of pytest.

It checks paths and imports little; ``loading`` reads the settings and files of those that evaluate.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.project.discovery import (
    DEFAULT_TESTPATHS,
    argument_path,
    iter_case_files,
    names_cases,
    selected_files,
)
from pytest_rageval.project.options import OPTIONS

_PYPROJECT = "pyproject.toml"
_FOUND = pytest.StashKey[tuple[tuple[str, ...], tuple[Path, ...]]]()
"""Test paths as the session's files name them, and the case files found there."""


def evaluates(config: pytest.Config) -> bool:
    """Return whether the command line selects case files."""
    testpaths = _raw_testpaths(config.rootpath)
    files = tuple(iter_case_files(rootdir=config.rootpath, testpaths=testpaths))
    config.stash[_FOUND] = (testpaths, files)
    return bool(selected(config, files, testpaths))


def left_out(config: pytest.Config) -> list[str]:
    """Return a line for the header if the session leaves out case files below its arguments."""
    testpaths, files = config.stash[_FOUND]
    here = config.invocation_params.dir
    if selected_files(session_arguments(config), files, invocation_dir=here):
        names = " ".join(os.path.relpath(config.rootpath / path, here) for path in testpaths)
        return [f"rageval: evaluation cases skipped; run `pytest {names}` to include them"]
    others = {one: os.path.relpath(one, here) for one in sorted(_other_projects(config, here))}
    if others:
        alone = f", or run it alone with a table [tool.pytest.ini_options] in its {_PYPROJECT}"
        return [
            "rageval: cases left out, since their project is not the rootdir of pytest: give "
            f"--rootdir {name}"
            # conftest.py above evals/pytest.ini, or that of -c, is read with --confcutdir alone.
            + (alone if config.rootpath in folder.parents else f" --confcutdir {name}")
            for folder, name in others.items()
        ]
    named = sorted({*_elsewhere(config, here)})
    paths = json.dumps([*(testpaths if files else ()), *named], ensure_ascii=False)
    return [
        f"rageval: cases left out, since {folder} is not a test path: write testpaths = {paths} "
        f"below [tool.rageval] in {config.rootpath / _PYPROJECT}, or name the files"
        for folder in named[:1]
    ]


def _other_projects(config: pytest.Config, here: Path) -> Iterator[Path]:
    """Yield the projects whose cases an argument names, and which are not pytest's rootdir."""
    arguments = session_arguments(config)
    paths = [argument_path(argument, here) for argument in arguments]
    for folder in {one for path in paths for one in (path, *path.parents)} - {config.rootpath}:
        if "[tool.rageval" in _text(folder / _PYPROJECT):
            files = iter_case_files(rootdir=folder, testpaths=_raw_testpaths(folder))
            if selected_files(arguments, files, invocation_dir=here):
                yield folder


def _elsewhere(config: pytest.Config, here: Path) -> Iterator[str]:
    """Yield the named folders of cases, such as ``bot/evals``, that are not test paths."""
    for argument in session_arguments(config):
        path = argument_path(argument, here)
        if path.name in DEFAULT_TESTPATHS and config.rootpath in path.parent.parents:
            files = iter_case_files(rootdir=path.parent, testpaths=[path.name])
            if selected_files([argument], files, invocation_dir=here):
                yield path.relative_to(config.rootpath).as_posix()


def selected(config: pytest.Config, files: Iterable[Path], testpaths: Iterable[str]) -> list[Path]:
    """Return those of the case files that the command line asks for."""
    root, here = config.rootpath, config.invocation_params.dir
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is not None:  # the controller has decided
        return [root / file for file in json.loads(worker.get("rageval_files", "[]"))]
    arguments = session_arguments(config)
    if not _wants_cases(config):
        arguments = [
            argument
            for argument in arguments
            if names_cases(argument, rootdir=root, testpaths=testpaths, invocation_dir=here)
        ]
    return selected_files(arguments, files, invocation_dir=here)


def session_arguments(config: pytest.Config) -> list[str]:
    """Return the arguments of the session, with the paths of modules that ``--pyargs`` names."""
    if not config.option.pyargs:
        return config.args
    from pytest_rageval.plugin.private import module_path

    return [module_path(argument.partition("::")[0]) for argument in config.args]


def _wants_cases(config: pytest.Config) -> bool:
    """Return whether options ask for the cases below any argument, or nothing is going to run."""
    option = config.option
    given = {str(argument).partition("=")[0] for argument in config.invocation_params.args}
    return bool(
        option.collectonly
        or (getattr(option, "lf", False) and _some_case_failed(config))
        or _selects_cases(option.markexpr)
        or given & {setting.flag for setting in OPTIONS}
    )


def _selects_cases(markexpr: str) -> bool:
    if "case" not in markexpr:
        return False
    from pytest_rageval.plugin.private import selects_mark

    return selects_mark(markexpr, "case")


def _some_case_failed(config: pytest.Config) -> bool:
    # Where nothing failed, --lf runs everything.
    cache = getattr(config, "cache", None)
    return cache is not None and any(".jsonl::" in one for one in cache.get("cache/lastfailed", {}))


def _raw_testpaths(rootdir: Path) -> tuple[str, ...]:
    # Unvalidated on purpose: a session that does not evaluate must not fail by these settings.
    text = _text(rootdir / _PYPROJECT)
    if "rageval" not in text or "testpaths" not in text:
        return DEFAULT_TESTPATHS
    import tomllib

    try:
        found: Any = tomllib.loads(text)["tool"]["rageval"]["testpaths"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return DEFAULT_TESTPATHS
    listed = isinstance(found, list) and all(isinstance(f, str) for f in found)
    return tuple(found) if listed else DEFAULT_TESTPATHS


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
