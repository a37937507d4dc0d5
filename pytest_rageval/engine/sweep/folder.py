"""Folder of a sweep: its runs, and what it was begun with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from itertools import chain, count, takewhile
from pathlib import Path
from typing import Any

from pytest_rageval.runs.store import BEGUN, is_run, read_json, write_versioned
from pytest_rageval.runs.tags import prepare_results_dir
from pytest_rageval.support.files import named_errors
from pytest_rageval.values.errors import ConfigError, StorageError
from pytest_rageval.values.sweep import SweepFile


def begin_sweep(results: Path, name: str, begun: Mapping[str, Any], *, resume: bool) -> Path:
    """Return the folder of a sweep, a new one or the one to resume.

    Args:
        results: folder of all runs.
        name: of the sweep; a new one whose name is taken becomes ``NAME-2`` and so on.
        begun: what it is asked with, from ``description``.
        resume: whether to resume the last sweep of this name.

    Raises:
        ConfigError: no sweep to resume, or it was begun with other settings.
        StorageError: a file cannot be read or written.
    """
    taken = _taken(results, name)
    if not resume:
        folder = results / (f"{name}-{len(taken) + 1}" if taken else name)
        with named_errors(folder, StorageError):
            prepare_results_dir(results)
            prepare_results_dir(folder)
        write_versioned(folder, BEGUN, begun)
        return folder
    found = [folder for folder in taken if (folder / BEGUN).is_file()]
    if not found:
        raise ConfigError.of("--resume", "no_sweep", folder=results, id=repr(name))
    _refuse_other(found[-1], begun)
    return found[-1]


def _taken(results: Path, name: str) -> list[Path]:
    """Return the folders of the sweeps of a name, oldest first."""
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    taken = list(takewhile(Path.exists, (results / one for one in names)))
    if taken and is_run(taken[0]):
        raise ConfigError.of("--name", "duplicate", found=taken[0], owner="a run")
    return taken


def description(sweep: SweepFile, *, cases: str, n_cases: int) -> dict[str, Any]:
    """Return what a sweep is begun with, as JSON values; of its cases their hash and number."""
    given = {key: value for key, value in asdict(sweep).items() if key != "path"}
    plain: dict[str, Any] = json.loads(json.dumps({"sweep": given}, default=dict))
    return {**plain, "cases": cases, "n_cases": n_cases}


def _refuse_other(folder: Path, begun: Mapping[str, Any]) -> None:
    stored = read_json(folder / BEGUN)
    then, now = stored.get("sweep"), begun["sweep"]
    changed = [key for key in now if not isinstance(then, dict) or then.get(key) != now[key]]
    if changed:
        raise ConfigError.of("--resume", "other_sweep", folder=folder, names=", ".join(changed))
    if stored.get("cases") != begun["cases"]:
        raise ConfigError.of(
            "--resume",
            "other_cases",
            folder=folder,
            found=begun["n_cases"],
            n=stored.get("n_cases"),
        )
