"""Detection of sessions that evaluate, and loading of their settings and case files.

``prepare`` runs in every pytest session, so it checks paths first and imports other modules only
if the session selects a case file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rageval.project.discovery import (
    DEFAULT_TESTPATHS,
    argument_path,
    iter_case_files,
    names_cases,
    project_files,
    selected_files,
)
from pytest_rageval.project.options import OPTIONS

if TYPE_CHECKING:
    from pytest_rageval.plugin.cassettes import Cassettes
    from pytest_rageval.plugin.state import State
    from pytest_rageval.project.case_reader import LoadedSet
    from pytest_rageval.project.plugins import Definition
    from pytest_rageval.values.errors import DatasetError
    from pytest_rageval.values.record import CaseRecord
    from pytest_rageval.values.settings import Settings


_PYPROJECT = "pyproject.toml"
_FOUND = pytest.StashKey[tuple[tuple[str, ...], tuple[Path, ...]]]()
"""Test paths as the session's files name them, and the case files found there."""


def prepare(config: pytest.Config) -> State | None:
    """Return the state of an evaluating session, or None for any other.

    Raises:
        pytest.UsageError: a setting or thresholds.toml is wrong (exit 4).
        pytest.exit.Exception: a case file is wrong and workers would hide it (exit 2).
    """
    rootdir = config.rootpath
    testpaths = _raw_testpaths(rootdir)
    files = tuple(iter_case_files(rootdir=rootdir, testpaths=testpaths))
    config.stash[_FOUND] = (testpaths, files)
    if not _selected(config, files, testpaths):
        return None
    from pytest_rageval.support.process import without_gc
    from pytest_rageval.values.errors import ConfigError, StorageError

    try:
        with without_gc():
            return _prepare(config, rootdir)
    except (ConfigError, StorageError) as error:
        from pytest_rageval.plugin.terminal import usage_error

        raise usage_error(error) from error


def left_out(config: pytest.Config) -> list[str]:
    """Return a line for the header if the session leaves out case files below its arguments."""
    testpaths, files = config.stash[_FOUND]
    here = config.invocation_params.dir
    if selected_files(config.args, files, invocation_dir=here):
        names = " ".join(os.path.relpath(config.rootpath / path, here) for path in testpaths)
        return [
            f"rageval: cases left out, since they were not asked for; `pytest {names}` runs them"
        ]
    others = sorted({*_other_projects(config, here)})
    if others:
        return [
            "rageval: cases left out, since their project is not the rootdir of pytest: give "
            f"--rootdir {os.path.relpath(folder, here)}, or run it alone with a table "
            f"[tool.pytest.ini_options] in its {_PYPROJECT}"
            for folder in others
        ]
    named = sorted({*_elsewhere(config, here)})
    paths = json.dumps([*(testpaths if files else ()), *named], ensure_ascii=False)
    return [
        f"rageval: cases left out, since {folder} is not a test path: write testpaths = {paths} "
        f"below [tool.rageval] in {config.rootpath / _PYPROJECT}, or name the files"
        for folder in named[:1]
    ]


def _other_projects(config: pytest.Config, here: Path) -> Iterator[Path]:
    """Yield the projects below pytest's rootdir whose cases an argument names."""
    for argument in config.args:
        path = argument_path(argument, here)
        for folder in (path, *path.parents):
            if config.rootpath in folder.parents and "[tool.rageval" in _text(folder / _PYPROJECT):
                files = iter_case_files(rootdir=folder, testpaths=_raw_testpaths(folder))
                if selected_files([argument], files, invocation_dir=here):
                    yield folder


def _elsewhere(config: pytest.Config, here: Path) -> Iterator[str]:
    """Yield the named folders of cases, such as ``bot/evals``, that are not test paths."""
    for argument in config.args:
        path = argument_path(argument, here)
        if path.name in DEFAULT_TESTPATHS and config.rootpath in path.parent.parents:
            files = iter_case_files(rootdir=path.parent, testpaths=[path.name])
            if selected_files([argument], files, invocation_dir=here):
                yield path.relative_to(config.rootpath).as_posix()


def _selected(config: pytest.Config, files: Iterable[Path], testpaths: Iterable[str]) -> list[Path]:
    """Return those of the case files that the command line asks for."""
    root, here = config.rootpath, config.invocation_params.dir
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is not None:  # the controller has decided
        return [root / file for file in json.loads(worker.get("rageval_files", "[]"))]
    arguments = config.args
    if not _wants_cases(config):
        arguments = [
            argument
            for argument in arguments
            if names_cases(argument, rootdir=root, testpaths=testpaths, invocation_dir=here)
        ]
    return selected_files(arguments, files, invocation_dir=here)


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
    failed = cache.get("cache/lastfailed", {}) if cache is not None else {}
    return any(".jsonl::" in nodeid for nodeid in failed)


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
    if isinstance(found, list) and all(isinstance(f, str) for f in found):
        return tuple(found)
    return DEFAULT_TESTPATHS


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _prepare(config: pytest.Config, rootdir: Path) -> State | None:
    from pytest_rageval.engine.preparing import (
        check_open_files,
        check_results_dir,
        check_target,
        read_labels,
        read_sets,
        run_thresholds,
    )
    from pytest_rageval.engine.registry import open_registry
    from pytest_rageval.engine.run_state import Breaker
    from pytest_rageval.judges.spot_check import check_second_judge
    from pytest_rageval.plugin.state import State
    from pytest_rageval.project.case_variables import sent_fields
    from pytest_rageval.project.settings import load_settings
    from pytest_rageval.support.http.address import learn_secrets, sent_secrets
    from pytest_rageval.support.slots import Slots

    flags = {o.dest: config.getoption(o.dest) for o in OPTIONS if o.flag is not None}
    settings = load_settings(rootdir, flags=flags, environ=os.environ)
    learn_secrets(sent_secrets(settings.target, os.environ))  # also where a fixture is asked
    whole = project_files(settings)
    files = _selected(config, whole, settings.testpaths)
    if not files:
        return None
    check_second_judge(settings)
    cassettes = _cassettes(config, settings, files)
    check_target(settings.target, os.environ if cassettes is None else cassettes.environ)
    sets, faulty = read_sets(sorted({*whole, *files}), rootdir, sent_fields(settings.target))
    notes = _leave_others(config, faulty)
    files = [file for file in files if file in sets or file in faulty]
    if not config.option.collectonly:
        check_results_dir(settings)
    _exit_of_controller(config, [str(faulty[file]) for file in files if file in faulty])
    from_controller: dict[str, Any] = getattr(config, "workerinput", {})
    if not config.option.collectonly and not from_controller:
        check_open_files(settings, sum(len(sets[file].cases) for file in files if file in sets))
    registry = open_registry(settings, _registered(config, files))
    thresholds = run_thresholds(settings, registry, sets.values(), whole=not faulty)
    settings = replace(settings, judged_on=thresholds.judged_on)
    return State(
        settings=settings,
        thresholds=thresholds,
        breaker=Breaker(limit=settings.max_errors),
        registry=registry,
        debugs=config.getoption("usepdb", False),
        files=tuple(files),
        all_files=tuple(sorted({*sets, *faulty})),
        sets=sets,
        faulty=faulty,
        target_url=from_controller.get("rageval_target_url"),
        slots=Slots(settings.concurrency),
        cassettes=cassettes,
        labels=None if from_controller else read_labels(settings, sets.values()),
        finished=_finished(from_controller),
        run_id=from_controller.get("rageval_run_id", ""),
        only=_only(from_controller, settings, sets.values(), notes),
        part=_part(settings, sets),
        notes=notes,
    )


def _exit_of_controller(config: pytest.Config, faults: Sequence[str]) -> None:
    """End a controller of xdist where files are faulty, before every worker says so."""
    from pytest_rageval.plugin.state import is_xdist_controller
    from pytest_rageval.plugin.terminal import exit_with_faults

    if faults and is_xdist_controller(config):
        exit_with_faults(config, "case files", "\n".join(faults))


def _registered(config: pytest.Config, files: Iterable[Path]) -> Iterable[Definition]:
    """Return the metrics that the files conftest.py above the cases register."""
    from pytest_rageval.plugin.private import load_conftests

    # pytest has loaded those of its arguments, and loads the others late. In the order of the
    # files, in which their hooks are called.
    for folder in dict.fromkeys(file.parent for file in files):
        # What one raises is reported by pytest when it collects the folder.
        with suppress(Exception, pytest.skip.Exception):
            load_conftests(config, folder)
    if not config.hook.pytest_rageval_register.get_hookimpls():
        return ()
    from pytest_rageval.project.plugins import HOOK, Extensions, named_code

    found = Extensions()
    call = partial(config.hook.pytest_rageval_register, registry=found)
    named_code(call, f"{HOOK} in conftest.py", config.rootpath)
    return found


def _finished(from_controller: Mapping[str, Any]) -> dict[str, dict[int, CaseRecord | None]]:
    """Return the repeats that earlier sessions finished, as received by a worker."""
    finished = json.loads(from_controller.get("rageval_finished", "{}"))
    if not finished:
        return {}
    from pytest_rageval.runs.record_json import record_from_json

    return {
        nodeid: {
            int(repeat): None if document is None else record_from_json(document)
            for repeat, document in repeats.items()
        }
        for nodeid, repeats in finished.items()
    }


def _only(
    from_controller: Mapping[str, Any],
    settings: Settings,
    sets: Iterable[LoadedSet],
    notes: list[str],
) -> frozenset[tuple[str, str]] | None:
    """Return the cases that failed in the selected run; a worker receives them."""
    if settings.failed_from is None:
        return None
    if from_controller:
        return frozenset(map(tuple, json.loads(from_controller["rageval_only"])))
    from pytest_rageval.runs.read import select_failed

    found = select_failed(settings, [(s.display, c.case.id) for s in sets for c in s.cases])
    notes += found.notes
    return found.cases


def _part(settings: Settings, sets: Mapping[Path, LoadedSet]) -> frozenset[tuple[str, str]] | None:
    if settings.shard is None:
        return None
    from pytest_rageval.project.shards import Shard

    files = [loaded for _, loaded in sorted(sets.items())]
    cases = ((loaded.display, located.case.id) for loaded in files for located in loaded.cases)
    return Shard.parse(settings.shard).part_of(cases)


def _cassettes(config: pytest.Config, settings: Settings, files: list[Path]) -> Cassettes | None:
    option = config.option  # of pytest-recording, which may be switched off
    wanted = getattr(option, "record_mode", None) or getattr(option, "block_network", False)
    if not wanted or getattr(option, "disable_recording", False):
        return None
    from pytest_rageval.plugin.cassettes import open_cassettes

    return open_cassettes(config, settings, files)


def _leave_others(config: pytest.Config, faulty: dict[Path, DatasetError]) -> list[str]:
    """Remove files that hold no cases from the faulty ones, unless they are named; return notes."""
    from pytest_rageval.project.case_reader import other_file_note

    named = {argument_path(one, config.invocation_params.dir) for one in config.args}
    notes = []
    for file in faulty.keys() - named:
        if note := other_file_note(file, os.path.relpath(file, config.rootpath)):
            del faulty[file]
            notes.append(note)
    return sorted(notes)
