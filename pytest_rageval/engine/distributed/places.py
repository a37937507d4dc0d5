"""Index of both files by the hash of the case id: where the lines of each part begin.

The index of a range of a file is an array of 64-bit integers: the first entry of each part and the
end, then the entries by part: number of the line within the range, offset, hash of the id.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate, chain
from typing import Final

from pytest_rageval.engine.distributed.job import FILES, File, Job
from pytest_rageval.engine.recorded_lines import line_id, may_name
from pytest_rageval.support.files import named_errors
from pytest_rageval.support.jsonl import Place
from pytest_rageval.values.errors import StorageError

Ranged = tuple[File, int, int, bool]
"""A range of a file: file and number, its lines, and whether any of its cases may name pages."""
_ENTRY: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Facts that the indexes of all ranges give together."""

    before: Mapping[File, Sequence[int]]
    """Number of lines before each range of a file."""
    paged: bool
    """Whether any case may name pages."""


def index_range(job: Job, task: tuple[File, int]) -> Ranged:
    """Write the index of one range of a file."""
    file, number = task
    path, (start, end) = job.files[file].path, job.files[file].ranges[number]
    parts: list[array[int]] = [array("q") for _ in range(job.n_parts)]
    n, paged = 0, False
    with named_errors(path, StorageError, "read"), path.open("rb") as lines:
        offset = start
        if start:  # a line belongs to the range in which it begins
            lines.seek(start - 1)
            offset += len(lines.readline()) - 1
        while offset < end and (raw := lines.readline()):
            n += 1
            text = raw.decode("utf-8-sig" if offset == 0 else "utf-8", "replace")
            if not text.isspace():
                case_id = line_id(text)
                key = 0 if case_id is None else _hash(case_id)
                parts[key % job.n_parts].extend((n, offset, key))
                paged = paged or (file == "cases" and may_name(b'"pages"', raw))
            offset += len(raw)
    starts = array("q", accumulate((len(part) // _ENTRY for part in parts), initial=0))
    job.write(f"{file}-{number}.index", (one.tobytes() for one in (starts, *parts)))
    return file, number, n, paged


def _hash(case_id: str) -> int:
    digest = blake2b(case_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def whole_index(found: Iterable[Ranged]) -> Index:
    """Return what the indexes of all ranges give together."""
    ordered = sorted(found)
    return Index(
        before={
            file: [*accumulate((n for of, _, n, _ in ordered if of == file), initial=0)][:-1]
            for file in FILES
        },
        paged=any(paged for *_, paged in ordered),
    )


def _entries(job: Job, file: File, number: int, first: int, last: int) -> array[int]:
    """Return the entries of a range for the parts from the first to before the last."""
    name = f"{file}-{number}.index"
    starts = job.read_array(name, "q", first, last - first + 1)
    n = starts[-1] - starts[0]
    return job.read_array(name, "q", job.n_parts + 1 + starts[0] * _ENTRY, n * _ENTRY)


def places_of(
    job: Job, index: Index, file: File, *, part: int | None = None, of_range: int | None = None
) -> Iterator[Place]:
    """Yield the places of the lines of a part, of a range or of all, in the order of the file."""
    parts = (0, job.n_parts) if part is None else (part, part + 1)
    for number, before in enumerate(index.before[file]):
        if of_range in (None, number):
            found = _entries(job, file, number, *parts)
            numbers = [before + line for line in found[::_ENTRY]]
            yield from sorted(zip(numbers, found[1::_ENTRY], strict=True))


class CaseIds:
    """The ids of all cases, as hashes of which those of a part are read when first asked about."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._parts: dict[int, array[int]] = {}

    def __contains__(self, case_id: object) -> bool:
        key = _hash(str(case_id))
        part = key % self._job.n_parts
        if part not in self._parts:
            self._parts[part] = self._hashes(part)
        hashes = self._parts[part]
        place = bisect_left(hashes, key)
        return place < len(hashes) and hashes[place] == key

    def _hashes(self, part: int) -> array[int]:
        numbers = range(len(self._job.files["cases"].ranges))
        every = (_entries(self._job, "cases", n, part, part + 1)[2::_ENTRY] for n in numbers)
        # Sorted numbers of eight bytes, since a set would take ten times the memory.
        return array("q", sorted(chain.from_iterable(every)))
