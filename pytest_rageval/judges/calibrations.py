"""Stored calibrations of judges: one small JSON file for each judge and rubric, without texts.

Those of the offline judge come with the package, in ``offline/admission.json``, which
``benchmarks/fit_offline_judge.py`` writes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec

from pytest_rageval.project.discovery import cases_folder
from pytest_rageval.support.files import named_errors, read_plain, refuse_link, write_file
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.record import SCHEMA_VERSION
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import Admissions, StoredCalibration

FOLDER: Final = "judge_calibration"
_MAX_NAME: Final = 120


def calibration_folder(settings: Settings) -> Path:
    """Return the folder of calibrations: below the first test path, beside its cases."""
    return cases_folder(settings) / FOLDER


def calibration_path(folder: Path, judge: str, rubric: str) -> Path:
    """Return the file of a judge and rubric; ``offline/11`` becomes ``offline%2F10``."""
    name = quote(judge, safe="").replace("~", "%7E")
    if len(name) > _MAX_NAME:
        digest = hashlib.sha256(judge.encode("utf-8", "backslashreplace")).hexdigest()[:12]
        name = f"{name[: _MAX_NAME - 13]}-{digest}"
    return folder / f"{name}-{rubric}.json"


def read_calibration(path: Path) -> StoredCalibration | None:
    """Read one stored calibration; None: the file does not exist.

    Raises:
        StorageError: the file is there and cannot be read.
    """
    try:
        return msgspec.json.decode(read_plain(path, "utf-8"), type=StoredCalibration)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StorageError.of(path, "no_calibration", reason=reason) from error


def read_admissions(settings: Settings) -> Admissions:
    """Read the calibrations of the package, then every stored one of a project, by name."""
    stored, problems = [*_bundled()], []
    for path in sorted(calibration_folder(settings).glob("*.json")):
        try:
            found = read_calibration(path)
        except StorageError as error:
            problems.append(str(error))
        else:
            stored += [] if found is None else [found]
    bar = settings.judging.admit_at
    return Admissions(stored=tuple(stored), bar=bar, problems=tuple(problems))


@cache
def _bundled() -> tuple[StoredCalibration, ...]:
    text = files("pytest_rageval.judges.offline").joinpath("admission.json").read_bytes()
    return msgspec.json.decode(text, type=tuple[StoredCalibration, ...])


def write_calibration(path: Path, document: Mapping[str, Any]) -> None:
    """Store a calibration in place of an earlier one.

    Raises:
        StorageError: it cannot be written, or its folder is a link.
    """
    refuse_link(path.parent)
    text = json.dumps({"schema_version": SCHEMA_VERSION, **document}, indent=1, allow_nan=False)
    with named_errors(path, StorageError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, f"{text}\n".encode())
