"""Every reader over damaged content: what it reads, or one error of ours."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest

from pytest_rageval.values.errors import RagEvalError
from tests.build.mutations import mutated, type_swaps
from tests.hostile import attack
from tests.hostile.readers import READERS, Read, imports, logs, streams

ALL = [
    *((name, data, read) for name, (data, read) in READERS.items()),
    *(one for kind in (streams, logs, imports) for one in kind()),
]
OF_JSON = [one for one in ALL if one[0].endswith(".json")]
FEW, MANY, SWAPS = 12, 24, 100


def faults(folder: Path, name: str, contents: Iterable[tuple[int, bytes]], read: Read) -> list[str]:
    """Give damaged contents to a reader and return its faults."""
    found = []
    for number, content in contents:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / name).write_bytes(content)
        if fault := attack.read(partial(read, folder / name)):
            found.append(f"{number}: {fault}")
    return found


def ids(samples: Iterable[tuple[str, bytes, Read]]) -> list[str]:
    return [name for name, _, _ in samples]


@pytest.mark.parametrize(("name", "data", "read"), ALL, ids=ids(ALL))
def test_every_sample_is_read(tmp_path: Path, name: str, data: bytes, read: Read) -> None:
    """Damage of a sample that is refused as it is would show nothing."""
    (tmp_path / name).write_bytes(data)
    refused = None
    try:
        read(tmp_path / name)
    except Exception as error:
        refused = error
    assert refused is None


@pytest.mark.parametrize(("name", "data", "read"), ALL, ids=ids(ALL))
def test_no_reader_raises_another_error_than_ours(
    tmp_path: Path, name: str, data: bytes, read: Read
) -> None:
    contents = [(seed, mutated(data, seed)) for seed in range(FEW)]
    assert faults(tmp_path / "x", name, [*contents, (-1, b"")], read) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "data", "read"), ALL, ids=ids(ALL))
def test_no_reader_raises_another_error_than_ours_in_many_tries(
    tmp_path: Path, name: str, data: bytes, read: Read
) -> None:
    contents = ((seed, mutated(data, seed)) for seed in range(1000, 1000 + MANY))
    assert faults(tmp_path / "x", name, contents, read) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "data", "read"), OF_JSON, ids=ids(OF_JSON))
def test_no_value_of_another_type_is_an_error_but_ours(
    tmp_path: Path, name: str, data: bytes, read: Read
) -> None:
    assert faults(tmp_path / "x", name, enumerate(type_swaps(data, SWAPS)), read) == []


FILES = (
    "cases.jsonl", "thresholds.toml", "sweep.toml", "settings.toml", "tone.json", "entries.jsonl",
    "vectors.jsonl", "documents.jsonl", "calibration.json", "labels.jsonl", "scores.jsonl",
)  # fmt: skip
"""Samples that their readers open themselves."""


@pytest.mark.posix
@pytest.mark.parametrize("name", FILES)
def test_no_reader_waits_for_a_pipe_in_the_place_of_its_file(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with attack.limited(), pytest.raises(RagEvalError, match="not a plain file"):
        READERS[name][1](tmp_path / name)
