"""Stored calibrations of judges: one small JSON file for each judge and rubric, without texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote

import msgspec

from pytest_rageval.project.discovery import cases_folder
from pytest_rageval.support.files import named_errors, read_plain, refuse_link, write_file
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.record import SCHEMA_VERSION
from pytest_rageval.values.settings import Settings

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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCalibration:
    """Part of a stored calibration that later commands read."""

    schema_version: Literal[1]
    judge: str
    rubric: str
    rubric_version: str = ""
    n: int
    """Number of labels."""
    auroc: float | None = None
    kappa: float | None = None
    kappa_low: float | None = None
    """Lower end of the interval of ``kappa``."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """By hash of the answer."""


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


def read_calibrations(folder: Path) -> list[StoredCalibration]:
    """Read every stored calibration of a folder, by name; none if the folder does not exist.

    Raises:
        StorageError: one of them cannot be read.
    """
    found = map(read_calibration, sorted(folder.glob("*.json")))
    return [one for one in found if one is not None]


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
