"""Loading of the settings and case files of a session that evaluates."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rageval.plugin.preflight import selected, session_arguments
from pytest_rageval.project.discovery import argument_path, project_files
from pytest_rageval.project.options import OPTIONS
from pytest_rageval.support.process import without_gc
from pytest_rageval.values.errors import ConfigError, DatasetError, StorageError

if TYPE_CHECKING:
    from pytest_rageval.plugin.cassettes import Cassettes
    from pytest_rageval.plugin.state import State
    from pytest_rageval.project.case_reader import LoadedSet
    from pytest_rageval.project.plugins import Definition
    from pytest_rageval.values.record import CaseRecord
    from pytest_rageval.values.settings import Settings


def load(config: pytest.Config) -> State | None:
    """Return the state of a session; None: its settings lead away from the selected files.

    Raises:
        pytest.UsageError: an option, a setting or thresholds.toml is wrong (exit 4).
        pytest.exit.Exception: a case file is wrong and workers would hide it (exit 2).
    """
    try:
        with without_gc():
            return _load(config, config.rootpath)
    except (ConfigError, StorageError) as error:
        from pytest_rageval.plugin.terminal import usage_error

        raise usage_error(error, config) from error


def _load(config: pytest.Config, rootdir: Path) -> State | None:
    from pytest_rageval.engine.own_code import open_registry
    from pytest_rageval.engine.preparing import (
        check_open_files,
        check_results_dir,
        check_target,
        read_labels,
        read_sets,
        run_thresholds,
    )
    from pytest_rageval.engine.run_state import Breaker
    from pytest_rageval.judges.spot_check import check_second_judge
    from pytest_rageval.plugin.state import State
    from pytest_rageval.project.case_variables import sent_fields
    from pytest_rageval.project.selecting import limits_of, select_cases
    from pytest_rageval.project.settings import load_settings
    from pytest_rageval.support.http.address import learn_secrets, sent_secrets
    from pytest_rageval.support.in_flight import Slots

    flags = {o.dest: config.getoption(o.dest) for o in OPTIONS if o.flag is not None}
    settings = load_settings(rootdir, flags=flags, environ=os.environ)
    learn_secrets(sent_secrets(settings.target, os.environ))  # also where a fixture is asked
    whole = project_files(settings)
    files = selected(config, whole, settings.testpaths)
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
    _exit_of_controller(config, [faulty[file] for file in files if file in faulty])
    from_controller: dict[str, Any] = getattr(config, "workerinput", {})
    if not config.option.collectonly and not from_controller:
        _refuse_missing_baseline(settings)
        check_open_files(settings, sum(len(sets[file].cases) for file in files if file in sets))
    registry = open_registry(settings, _registered(config, files))
    thresholds = run_thresholds(settings, registry, sets.values(), whole=not faulty)
    settings = replace(settings, judged_on=thresholds.judged_on)
    if settings.select:
        sets = select_cases(sets, settings)
        cases = [found.case for one in sets.values() for found in one.cases]
        tags = {tag for case in cases for tag in case.tags}
        thresholds = limits_of(thresholds, {case.category for case in cases}, tags)
    breaker = Breaker.of(settings)
    if cassettes is not None:
        breaker.is_replay = cassettes.is_replay
    return State(
        settings=settings,
        thresholds=thresholds,
        breaker=breaker,
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
        failed_before=frozenset(json.loads(from_controller.get("rageval_failed_before", "[]"))),
        run_id=from_controller.get("rageval_run_id", ""),
        only=_only(from_controller, settings, sets.values(), notes),
        part=_part(settings, sets),
        notes=notes,
    )


def _refuse_missing_baseline(settings: Settings) -> None:
    if settings.is_named_now("baseline") or settings.is_named_now("runs"):
        from pytest_rageval.runs.baseline import refuse_missing_baseline

        refuse_missing_baseline(settings)


def _exit_of_controller(config: pytest.Config, faults: Sequence[DatasetError]) -> None:
    """End a controller of xdist where files are faulty, before every worker says so."""
    from pytest_rageval.plugin.state import is_xdist_controller
    from pytest_rageval.plugin.terminal import error_text, exit_with_faults

    if faults and is_xdist_controller(config):
        text = "\n".join(error_text(one, config) for one in faults)
        exit_with_faults(config, "case files", text)


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


def _finished(
    from_controller: Mapping[str, Any],
) -> dict[str, dict[int, tuple[CaseRecord, ...] | None]]:
    """Return the repeats that earlier sessions finished, as received by a worker."""
    finished = json.loads(from_controller.get("rageval_finished", "{}"))
    if not finished:
        return {}
    from pytest_rageval.runs.documents import record_of_line

    return {
        nodeid: {
            int(repeat): None if lines is None else tuple(map(record_of_line, lines))
            for repeat, lines in repeats.items()
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

    found = select_failed(settings, [(s.display, c.case.item) for s in sets for c in s.cases])
    notes += found.notes
    return found.cases


def _part(settings: Settings, sets: Mapping[Path, LoadedSet]) -> frozenset[tuple[str, str]] | None:
    if settings.shard is None:
        return None
    from pytest_rageval.project.selecting import Shard

    files = [loaded for _, loaded in sorted(sets.items())]
    items = ((loaded.display, located.case.item) for loaded in files for located in loaded.cases)
    return Shard.parse(settings.shard).part_of(dict.fromkeys(items))


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

    named = {argument_path(one, config.invocation_params.dir) for one in session_arguments(config)}
    notes = []
    for file in faulty.keys() - named:
        if note := other_file_note(file, os.path.relpath(file, config.rootpath)):
            del faulty[file]
            notes.append(note)
    return sorted(notes)
