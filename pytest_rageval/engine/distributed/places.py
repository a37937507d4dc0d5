"""Index of both files by the hash of the case id: where the lines of each part begin.

The index of a range of a file is an array of 64-bit integers: lines of the range, whether its cases
may name pages, the first entry of each part and the end, then the entries by part: number of the
line within the range, offset, hash of the id.
"""

from __future__ import annotations

from array import array
from contextlib import closing
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Final, Literal

from pytest_rageval.engine.distributed.job import Job, ranges
from pytest_rageval.engine.recorded import RecordedResponses, line_id, may_name_pages
from pytest_rageval.metrics.deciding import ReportedParts
from pytest_rageval.metrics.scoring import score_settings
from pytest_rageval.support.files import named_errors
from pytest_rageval.support.jsonl import Place
from pytest_rageval.values.errors import StorageError

File = Literal["cases", "responses"]
FILES: Final[tuple[File, ...]] = ("cases", "responses")
_HEAD: Final = 2
_WIDTH: Final = 8
_ENTRY: Final = 3


def count_ranges(job: Job, file: File) -> int:
    """Return the number of ranges of one of the two files."""
    return len(ranges(_path(job, file).stat().st_size))


def _path(job: Job, file: File) -> Path:
    return job.cases if file == "cases" else job.responses


def _hash(case_id: str) -> int:
    digest = blake2b(case_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def index_range(job: Job, task: tuple[File, int]) -> None:
    """Write the index of one range of a file, unless it is there."""
    job.check_versions()
    file, number = task
    name = f"{file}-{number}.index"
    if job.path(name).is_file():
        return
    start, end = ranges(_path(job, file).stat().st_size)[number]
    parts: list[array[int]] = [array("q") for _ in range(job.n_parts)]
    n, paged = 0, False
    with named_errors(_path(job, file), StorageError, "read"), _path(job, file).open("rb") as lines:
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
                paged = paged or (file == "cases" and may_name_pages(raw))
            offset += len(raw)
    head = array("q", [n, paged, 0])
    for part in parts:
        head.append(head[-1] + len(part) // _ENTRY)
    job.write(name, [head.tobytes(), *(part.tobytes() for part in parts)])


def _read(path: Path, first: int, n: int) -> array[int]:
    found = array("q")
    with named_errors(path, StorageError, "read"), path.open("rb") as file:
        file.seek(first * _WIDTH)
        content = file.read(n * _WIDTH)
    if len(content) < n * _WIDTH:
        raise StorageError(f"{path}: is cut off; remove the folder and score again")
    found.frombytes(content)
    return found


def _entries(job: Job, file: File, number: int, part: int | None) -> array[int]:
    """Return the entries of a range, of one part or of all."""
    path = job.path(f"{file}-{number}.index")
    starts = _read(path, _HEAD, job.n_parts + 1)
    first, end = (0, starts[-1]) if part is None else starts[part : part + 2]
    return _read(path, _HEAD + len(starts) + first * _ENTRY, (end - first) * _ENTRY)


def _first_lines(job: Job, file: File) -> list[int]:
    """Return the number of lines before each range."""
    found = [0]
    for number in range(count_ranges(job, file)):
        found.append(found[-1] + _read(job.path(f"{file}-{number}.index"), 0, 1)[0])
    return found


def _places(entries: array[int], before: int) -> list[Place]:
    numbers, offsets = entries[::_ENTRY], entries[1::_ENTRY]
    return sorted((before + number, at) for number, at in zip(numbers, offsets, strict=True))


def places_of(job: Job, file: File, part: int) -> list[Place]:
    """Return the places of the lines of a part, in the order of the file."""
    before = _first_lines(job, file)
    return [
        place
        for number in range(count_ranges(job, file))
        for place in _places(_entries(job, file, number, part), before[number])
    ]


class _CaseIds:
    """The ids of all cases, of which a few parts are in memory."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._part = lru_cache(maxsize=4)(self._hashes)

    def _hashes(self, part: int) -> frozenset[int]:
        n = count_ranges(self._job, "cases")
        found = (_entries(self._job, "cases", number, part)[2::_ENTRY] for number in range(n))
        return frozenset(key for keys in found for key in keys)

    def __contains__(self, case_id: object) -> bool:
        key = _hash(str(case_id))
        return key in self._part(key % self._job.n_parts)


def reported_in(job: Job, number: int) -> ReportedParts:
    """Return the parts of replies that the responses of one range report."""
    name = f"reported-{number}"
    known: ReportedParts | None = job.read_value(name, ReportedParts)
    if known is not None:
        return known
    entries = _entries(job, "responses", number, None)
    places = _places(entries, _first_lines(job, "responses")[number])
    indexes = (job.path(f"cases-{n}.index") for n in range(count_ranges(job, "cases")))
    recorded = RecordedResponses(job.responses, display=job.shown[1], places=places)
    with closing(recorded) as responses:
        found = responses.reported(
            _CaseIds(job),
            score_settings(job.settings),
            in_text=job.settings.judge != "none",
            paged=any(_read(index, 1, 1)[0] for index in indexes),
        )
    job.write_value(name, found)
    return found
