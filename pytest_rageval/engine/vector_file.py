"""Vectors that were made elsewhere, read from a JSONL file. No network.

This module exists for numpy and is imported only where such a file is named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pytest_rageval.analysis.embeddings.run import VectorTable
from pytest_rageval.support.jsonl import cannot_be_read, iterate_lines, open_lines
from pytest_rageval.support.strict_json import UnfitJsonError, parse
from pytest_rageval.values.errors import DatasetError, Fault

_Array = npt.NDArray[np.float64]
_NAMES: Final = ("text", "chunk_id")
_EXPECTED: Final = 'expected {"text" or "chunk_id": a string, "embedding": a list of numbers}'


def load_vectors(path: Path, *, display: str | None = None) -> VectorTable:
    """Read a file whose lines are ``{"text" or "chunk_id": ..., "embedding": [...]}``.

    A line may name both, which stand for one vector; other fields are ignored. What stands twice
    must have the same vector.

    Raises:
        DatasetError: with every line that is no such object, that has no vector of finite
            numbers, or whose vector is not as long as the first; or the file holds none.
    """
    display = path.as_posix() if display is None else display
    faults: list[Fault] = []
    table = _Table()
    try:
        with open_lines(path, display) as file:
            for line in iterate_lines(file, display, faults):
                if fault := table.add(line.text):
                    faults.append(replace(fault, file=display, line=line.number))
    except OSError as error:
        raise cannot_be_read(display, error) from error
    if not table.length and not faults:
        faults.append(Fault(file=display, message=f"holds no line, {_EXPECTED}"))
    if faults:
        faults.sort(key=lambda fault: fault.line)
        raise DatasetError("\n".join(map(str, faults)), faults=tuple(faults))
    return VectorTable(by_text=table.vectors["text"], by_chunk_id=table.vectors["chunk_id"])


class _Table:
    """What the lines read so far hold."""

    def __init__(self) -> None:
        self.vectors: dict[str, dict[str, _Array]] = {name: {} for name in _NAMES}
        self.length = 0
        """Of every vector; 0 before the first."""

    def add(self, text: str) -> Fault | None:
        """Take one line, or return what is wrong with it."""
        try:
            entry = _entry(text)
            vector = read_vector(entry.get("embedding"))
            if self.length not in {0, len(vector)}:
                raise VectorError(
                    "embedding", f"{len(vector)} numbers, expected {self.length} as above"
                )
            self.length = len(vector)
            self._store(entry, vector)
        except json.JSONDecodeError as error:
            return Fault(col=error.colno, message=f"{error.msg}, {_EXPECTED}")
        except VectorError as error:
            return Fault(field=error.field, message=str(error))
        except (ValueError, RecursionError) as error:
            return Fault(message=str(error))
        return None

    def _store(self, entry: Mapping[str, Any], vector: _Array) -> None:
        for name in _NAMES:
            key = entry.get(name)
            if key is not None:
                known = self.vectors[name].setdefault(key, vector)
                if not np.array_equal(known, vector):
                    raise VectorError(name, f"{key!r:.60} stands above with another vector")


class VectorError(ValueError):
    """A value that is no vector, or does not go with the others.

    Args:
        field: where it stands, such as ``embedding[3]``.
        message: what came and what was expected.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def read_vector(value: object) -> _Array:
    """Read a JSON value as a vector.

    Raises:
        VectorError: it is no list of finite numbers; its field begins with ``embedding``.
    """
    if not isinstance(value, list) or not value:
        raise VectorError("embedding", f"{_shown(value)}, expected a list of numbers")
    for index, number in enumerate(value):
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise VectorError(f"embedding[{index}]", f"{number!r:.40}, expected a number")
    try:
        vector: _Array = np.asarray(value, dtype=np.float64)
    except OverflowError as error:
        raise VectorError("embedding", "an integer too large, expected finite numbers") from error
    if not np.isfinite(vector).all():
        index = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise VectorError(f"embedding[{index}]", f"{value[index]}, expected a finite number")
    return vector


def _shown(value: object) -> str:
    return "missing" if value is None else f"{value!r:.40}"


def _entry(text: str) -> Mapping[str, Any]:
    try:
        entry = parse(text)
    except UnfitJsonError as error:
        raise ValueError(
            "a key twice, a number that is not finite or half a surrogate pair, expected none"
        ) from error
    if not isinstance(entry, dict):
        raise ValueError(f"got no JSON object, {_EXPECTED}")
    given = [name for name in _NAMES if entry.get(name) is not None]
    if not given:
        raise ValueError(f"text and chunk_id missing, {_EXPECTED}")
    for name in given:
        if not isinstance(entry[name], str) or not entry[name]:
            raise VectorError(name, f"{_shown(entry[name])}, expected a non-empty string")
    return entry
