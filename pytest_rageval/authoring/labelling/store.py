"""The files of annotators beside a case file: ``labels/<name>.jsonl``, append-only."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_rageval.authoring.labelling.entries import LabelEntry, parse_entry
from pytest_rageval.support.jsonl import cannot_be_read, iterate_lines
from pytest_rageval.values.errors import (
    ConfigError,
    Fault,
    StorageError,
    faults_error,
)

LABELS: Final = "labels"
ADJUDICATED: Final = "adjudicated"
"""Name of the file of adjudicated decisions; not a valid annotator name."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# Device names of Windows, with any suffix.
_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """All labels of one case file."""

    entries: tuple[LabelEntry, ...]
    """Entries by annotator, in the order of their files."""
    decided: Mapping[str, str]
    """Case id and time of the last adjudication."""
    notes: tuple[str, ...] = ()
    """Notes about entries that were left out."""


def check_annotator(name: str) -> str:
    """Return a name that is a valid file name.

    Raises:
        ConfigError: it is not.
    """
    if not _NAME.fullmatch(name) or _DEVICE.fullmatch(name) or name.endswith("."):
        raise ConfigError(
            f"--annotator: {name!r:.80}, expected a name of letters, digits, '.', '_' and '-'"
        )
    if name.lower() == ADJUDICATED:
        raise ConfigError(f"--annotator: {name!r} is the file of decisions, expected another name")
    return name


def labels_path(case_file: Path, name: str) -> Path:
    """Return the file of an annotator, beside the case file."""
    return case_file.parent / LABELS / f"{name}.jsonl"


def read_labels(case_file: Path) -> Labels:
    """Read the labels of all annotators of a case file.

    Raises:
        DatasetError: with every fault of the files, or one cannot be read.
    """
    folder = case_file.parent / LABELS
    entries: list[LabelEntry] = []
    decided: dict[str, str] = {}
    notes: list[str] = []
    faults: list[Fault] = []
    for path in sorted(folder.glob("*.jsonl")) if folder.is_dir() else ():
        found = _read_file(path, faults, notes)
        ours = [entry for entry in found if entry.file in {"", case_file.name}]
        if path.stem == ADJUDICATED:
            decided |= {entry.case_id: entry.at for entry in ours}
        else:
            entries += ours
    if faults:
        raise faults_error(faults)
    return Labels(entries=tuple(entries), decided=decided, notes=tuple(notes))


def _read_file(path: Path, faults: list[Fault], notes: list[str]) -> list[LabelEntry]:
    shown = path.as_posix()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise cannot_be_read(shown, error) from error
    torn = data[data.rfind(b"\n") + 1 :]
    if torn and not _is_json(torn):
        # Its writer was killed; the lines before are complete.
        data = data[: len(data) - len(torn)]
        notes.append(f"{shown}: the last line is cut short and left out")
    entries = []
    for line in iterate_lines(data.splitlines(keepends=True), shown, faults):
        try:
            entries.append(parse_entry(json.loads(line.text), annotator=path.stem))
        except RecursionError:
            faults.append(Fault(file=shown, line=line.number, message="nested too deeply"))
        except ValueError as error:
            faults.append(Fault(file=shown, line=line.number, message=str(error)))
    return entries


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def append_entry(path: Path, document: Mapping[str, Any]) -> None:
    """Append one line to the file of an annotator; existing lines are never changed.

    Raises:
        StorageError: it cannot be written.
    """
    # In ASCII: a lone surrogate in a chunk's heading has no other form.
    text = json.dumps(document, allow_nan=False)
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("ab") as file:
            # An incomplete last line must not absorb this one.
            lead = b"" if file.tell() == 0 or _ends_in_newline(path) else b"\n"
            file.write(lead + text.encode("ascii") + b"\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from error


def _ends_in_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
