"""Responses that were recorded earlier, scored like answers of a target.

Both files are read line by line, so that memory does not grow with their texts.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Container, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Final

from pytest_rageval.engine.case import CaseRepeat, computes, records_of, unasked
from pytest_rageval.engine.recorded_lines import (
    EXPECTED,
    file_may_name,
    line_id,
    parse_line,
    response_of,
)
from pytest_rageval.judges.asking import Judges
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.deciding import ReportedParts
from pytest_rageval.metrics.registry import Registry
from pytest_rageval.metrics.scoring import score_settings
from pytest_rageval.metrics.view import located_citations, prepare
from pytest_rageval.project.case_reader import CaseReader, Concerned, LocatedCase, case_warnings
from pytest_rageval.project.case_variables import sent_fields
from pytest_rageval.support.files import shown_below
from pytest_rageval.support.in_flight import Slots, in_order
from pytest_rageval.support.json_text import json_fault
from pytest_rageval.support.jsonl import (
    Line,
    Place,
    cannot_be_read,
    iterate_lines,
    one_for_values,
    open_lines,
)
from pytest_rageval.support.reading import Unfit, field_text
from pytest_rageval.support.text import counted
from pytest_rageval.support.threads import at_once
from pytest_rageval.target.calling import answered
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.errors import EndpointError, Fault, faults_error
from pytest_rageval.values.record import CaseRecord, Reported, ScoreSettings
from pytest_rageval.values.reply import AskResult, ErrorInfo, error_info
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import Judge

_UNRECORDED: Final = "(the answer was not recorded)"
NO_RESPONSE: Final = "no response is recorded for this case"
_SHOWN_UNKNOWN: Final = 20
_IDS_AT_ONCE: Final = 100
_UNASKED: Final = unasked(ErrorInfo(kind="not_attempted", message=NO_RESPONSE, attempts=0))
_CASES_AT_ONCE: Final = 16
"""Cases that are read, then scored (`records_of`)."""

_Asked = list[tuple[CaseRepeat, AskResult]]
_Key = str | tuple[str, int]
"""Case id, with its repeat where that is not the first."""


class RecordedResponses:
    """A JSONL file whose lines are ``{"id": case id, "response": an ask response}``.

    ``"repeat": 1`` and so on mark further responses of a case that was asked several times;
    ``"error": {"kind": ..., "message": ...}`` replaces a response that never came. Responses are
    not checked against the contract here: a bad one is the target's failure and becomes a record.

    Args:
        path: the file, a pipe included.
        display: the path as shown in messages.
        places: of the lines to read, of a file that is no pipe; None: every line.

    Raises:
        DatasetError: the file cannot be read.
    """

    def __init__(self, path: Path, *, display: str, places: Sequence[Place] | None = None) -> None:
        self._display = display
        self._at = places
        self.faults: list[Fault] = []
        """Faults of the lines read so far."""
        self._file = _seekable(open_lines(path, self._display, pipes=True))
        self._ahead = self._file_lines()
        self._places: dict[_Key, Place] = {}
        self._repeats: dict[str, list[int]] = {}

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def reported(
        self,
        case_ids: Container[str],
        scoring: ScoreSettings,
        *,
        in_text: bool = False,
        paged: bool = False,
    ) -> ReportedParts:
        """Return the parts of replies that the responses of these cases report at all.

        Nearly always the first lines decide. Faults of lines are left to ``first``.

        Args:
            case_ids: cases of the set; responses of others do not count. They are asked for last,
                nearly always six times at most, since a look-up may read a file.
            scoring: with the forms of citations.
            in_text: whether it matters that any answer cites in its text.
            paged: whether any case may name pages; else only headings, or texts and pages in
                their place, are looked for.
        """
        parts = ReportedParts()
        for line in self._lines([]):
            case_id, response = response_of(line.raw)
            if response is not None:
                seen = replace(parts)
                chunks = response.retrieved_chunks
                seen.add(chunks or ())
                if not seen.citations or (in_text and not seen.citations_in_text):
                    answer = prepare(response, chunks, scoring).cited
                    written = any(located_citations(answer, chunks))
                    cited = written or response.references is not None
                    seen.citations = seen.citations or cited
                    seen.citations_in_text = in_text and (seen.citations_in_text or written)
                if seen != parts and case_id in case_ids:
                    parts = seen
            found = parts.headings and (not paged or (parts.texts and parts.pages))
            if found and parts.citations and (parts.citations_in_text or not in_text):
                break
        return parts

    def first(self, case_id: str) -> tuple[bool, object]:
        """Return whether a first response of a case is recorded, and the response."""
        if (place := self._places.get(case_id)) is not None:
            return True, self._payload_at(place)
        for key, payload in self._ahead:
            if key == case_id:
                return True, payload
        return False, None

    def repeats(self, case_id: str) -> Iterator[tuple[int, object]]:
        """Yield the further responses of a case; known once the file is read to its end."""
        for repeat in sorted(self._repeats.get(case_id, ())):
            yield repeat, self._payload_at(self._places[case_id, repeat])

    def read_rest(self) -> None:
        """Read to the end, so that ``faults``, ``repeats`` and ``unknown`` are complete."""
        for _ in self._ahead:
            pass
        if self.faults and self._at is None:
            self._file.seek(0)  # of a file that may fill a disk, the first 64 MB are searched
            self.faults = one_for_values(self._file.read(1 << 26), self.faults, cases=False)

    def has_repeats(self, case_id: str | None = None) -> bool:
        """Whether further responses, of one case or at all, were read so far."""
        return bool(self._repeats) if case_id is None else case_id in self._repeats

    def unknown(self, known: Container[str]) -> dict[str, int]:
        """Return ids that belong to no case, in the order of the file, with their first line."""
        found: dict[str, int] = {}
        for key, place in self._places.items():
            case_id = key if isinstance(key, str) else key[0]
            if case_id not in known:
                found.setdefault(case_id, place[0])
        return found

    # --- lines

    def _file_lines(self) -> Iterator[tuple[_Key, object]]:
        """Yield every valid line once; each read begins where the last one ended."""
        yield from filter(None, map(self._read, self._lines(self.faults)))

    def _lines(self, faults: list[Fault]) -> Iterator[Line]:
        if self._at is not None:
            return iterate_lines(self._file, self._display, faults, self._at)
        self._file.seek(0)
        return iterate_lines(iter(self._file.readline, b""), self._display, faults)

    def _read(self, line: Line) -> tuple[_Key, object] | None:
        try:
            case_id, repeat, payload = parse_line(line.raw)
        except json.JSONDecodeError as error:
            self.faults.append(json_fault(error, EXPECTED, file=self._display, line=line.number))
            return None
        except Unfit as error:
            self._complain(line, error)
            return None
        except (ValueError, RecursionError) as error:  # a number of too many digits
            code = "deep" if isinstance(error, RecursionError) else "long_number"
            self._complain(line, Unfit(EXPECTED, code=code))
            return None
        key: _Key = case_id if repeat == 0 else (case_id, repeat)
        if (place := self._places.get(key)) is not None:
            facts = {"found": repr(case_id), "owner": f"that of the response on line {place[0]}"}
            self.faults.append(
                Fault(
                    code="duplicate", facts=facts, file=self._display, line=line.number, field="id"
                )
            )
            return None
        self._places[key] = line.number, line.offset
        if repeat:
            self._repeats.setdefault(case_id, []).append(repeat)
        return key, payload

    def _complain(self, line: Line, wrong: Unfit) -> None:
        field = field_text(wrong.at)
        self.faults.append(wrong.fault(file=self._display, line=line.number, field=field))

    def _payload_at(self, place: Place) -> object:
        position = self._file.tell()
        self._file.seek(place[1])
        payload = parse_line(self._file.readline())[2]
        self._file.seek(position)
        return payload


def _seekable(file: IO[bytes]) -> IO[bytes]:
    if file.seekable():
        return file
    with file:
        copy = tempfile.TemporaryFile()
        shutil.copyfileobj(file, copy)
    copy.seek(0)
    return copy


# --- scoring -------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class RecordedFindings:
    """Knowledge of two files, or of parts of them, besides the records of their cases."""

    cases: str
    """The case file, as shown."""
    n: int = 0
    """Number of valid cases."""
    unanswered: int = 0
    """Cases without a response."""
    case_faults: list[Fault] = field(default_factory=list)
    response_faults: list[Fault] = field(default_factory=list)
    concerned: dict[str, Concerned] = field(default_factory=dict)
    """The cases that warnings are about, by kind of warning."""
    unknown: list[tuple[int, str]] = field(default_factory=list)
    """The first ids of responses that belong to no case, quoted, with their lines."""
    n_unknown: int = 0

    def extend(self, other: RecordedFindings) -> None:
        """Take what is known of another part of the files."""
        self.n += other.n
        self.unanswered += other.unanswered
        self.case_faults += other.case_faults
        self.response_faults += other.response_faults
        for kind, concerned in other.concerned.items():
            self.concerned.setdefault(kind, Concerned()).extend(concerned)
        self.unknown = sorted([*self.unknown, *other.unknown])[:_SHOWN_UNKNOWN]
        self.n_unknown += other.n_unknown

    def raise_faults(self) -> None:
        """Raise a `DatasetError` with every fault, by line, if there is one."""
        by_file = (self.case_faults, self.response_faults)
        faults = [one for found in by_file for one in sorted(found, key=lambda fault: fault.line)]
        if faults:
            raise faults_error(faults)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the cases and responses, one line each."""
        found = [*case_warnings(self.cases, self.concerned)]
        if not self.n:
            found.append("there is no case to score")
        elif self.unanswered:
            found.append(
                f"{self.unanswered} of {counted(self.n, 'case')} have no recorded response"
            )
        found += (f"no case has the id {case_id} of a response" for _, case_id in self.unknown)
        if more := self.n_unknown - len(self.unknown):
            found.append(f"nor do {more} more ids of responses belong to a case")
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesPart:
    """A part of a case file and of its responses: each case with all of its responses."""

    cases: Sequence[Place]
    """Places of the lines, in order."""
    responses: Sequence[Place]
    reported: Reported
    """Parts of replies that all responses, not those of the part alone, report."""
    shown: tuple[str, str]
    """Paths of cases and responses as shown in messages and records."""


class RecordedRun:
    """The cases of one file with their recorded responses, scored in turn.

    A case without a response is an error of kind ``not_attempted``.

    Args:
        cases: the case file.
        responses: the file of responses.
        settings: of the run.
        judge: of answers; None: they are not judged.
        slots: of the judge's requests; None: one at a time.
        registry: the metrics.
        stored: whether the records may be stored or handed on, so that they need the hash of their
            case.
        part: the lines to read; None: every line of both files.
    """

    def __init__(
        self,
        cases: Path,
        responses: Path,
        settings: Settings,
        *,
        judge: Judge | None = None,
        slots: Slots | None = None,
        registry: Registry = BUILT_IN,
        stored: bool = True,
        part: FilesPart | None = None,
    ) -> None:
        self._registry = registry
        self._stored = stored or registry.reads_records
        self._judge = judge
        self._slots = slots or Slots(1)
        self._cases = cases
        self._responses = responses
        self._settings = settings
        self._part = part
        # As every run of the project stores its case files.
        shown = tuple(shown_below(file, Path(settings.rootdir)) for file in (cases, responses))
        self._shown = part.shown if part else shown
        self.findings = RecordedFindings(cases=self._shown[0])
        """Complete after ``records``."""

    def records(self) -> Generator[CaseRecord, None, None]:
        """Yield the record of every case, in the order of the file, repeats last.

        Raises:
            DatasetError: with every fault of both files, once all is read: until then the records
                of valid lines are yielded. Of a part, faults are left in ``findings``.
            ConfigError: the judge cannot work with its settings.
        """
        places = None if self._part is None else self._part.responses
        display = self._shown[1]
        recorded = RecordedResponses(self._responses, display=display, places=places)
        with closing(recorded) as responses:
            try:
                yield from self._score(responses)
            except OSError as error:
                raise cannot_be_read(display, error) from error

    def _reader(self) -> CaseReader:
        return CaseReader(
            self._cases,
            display=self._shown[0],
            sent=sent_fields(self._settings.target),
            places=None if self._part is None else self._part.cases,
        )

    def reported(self) -> Reported:
        """Return the parts of replies that the responses report at all.

        Raises:
            DatasetError: the file of responses cannot be read.
        """
        recorded = RecordedResponses(self._responses, display=self._shown[1])
        with closing(recorded) as responses:
            return self._reported(responses)

    def _reported(self, responses: RecordedResponses) -> Reported:
        if self._part is not None:
            return self._part.reported
        paged = file_may_name(b'"pages"', self._cases)
        scoring, in_text = score_settings(self._settings), self._judge is not None
        with closing(_CaseIds(self._cases)) as known:
            return responses.reported(known, scoring, in_text=in_text, paged=paged).found()

    def _score(self, responses: RecordedResponses) -> Iterator[CaseRecord]:
        scoring = score_settings(self._settings, self._reported(responses))
        reader, found, known = self._reader(), self.findings, set[str]()
        yield from self._records(self._first(reader, responses, known), scoring)
        responses.read_rest()
        found.case_faults, found.response_faults = reader.faults, responses.faults
        if self._part is None:
            found.raise_faults()
        found.concerned = reader.concerned
        unknown = responses.unknown(known)
        found.n_unknown = len(unknown)
        found.unknown = [(line, repr(one)) for one, line in islice(unknown.items(), _SHOWN_UNKNOWN)]
        if responses.has_repeats():
            repeats = (
                [(self._trial(located, reader.display, repeat), self._result(payload))]
                for located in self._reader()
                for repeat, payload in responses.repeats(located.case.id)
            )
            yield from self._records(repeats, scoring)

    def _records(self, batches: Iterable[_Asked], scoring: ScoreSettings) -> Iterator[CaseRecord]:
        works = (partial(records_of, asked, scoring) for asked in batches)
        judge = self._judge
        if judge is None or computes(judge):
            found: Iterable[list[CaseRecord]] = (at_once(work()) for work in works)
        else:
            found = in_order(works, self._slots)
        for records in found:
            # The caller counts them together, too, as it comes back after the last one.
            yield from records

    def _first(
        self, reader: CaseReader, responses: RecordedResponses, known: set[str]
    ) -> Iterator[_Asked]:
        """Yield the first response of each case, and add the ids of the cases to ``known``."""
        found, cases = self.findings, iter(reader)
        # With a judge each case is a task of its own.
        at_once = 1 if self._judge is not None else _CASES_AT_ONCE
        while batch := list(islice(cases, at_once)):
            found.n += len(batch)
            known.update([located.case.id for located in batch])
            payloads = [responses.first(located.case.id) for located in batch]
            asked = []
            for located, (recorded, payload) in zip(batch, payloads, strict=True):
                if recorded or not responses.has_repeats(located.case.id):
                    found.unanswered += not recorded
                    result = self._result(payload) if recorded else _UNASKED
                    asked.append((self._trial(located, reader.display), result))
            yield asked

    def _trial(self, located: LocatedCase, file: str, repeat: int = 0) -> CaseRepeat:
        judges = None if self._judge is None else Judges(self._judge)
        return CaseRepeat(
            located,
            file,
            self._settings,
            repeat,
            judges,
            slots=self._slots,
            registry=self._registry,
            stored=self._stored,
        )

    def _result(self, payload: object) -> AskResult:
        if isinstance(payload, ErrorInfo):
            return AskResult(response=None, error=payload, total_ms=None)
        retrieval_only = self._settings.retrieval_only
        # Recordings of a retriever contain no answer, and metrics of answers are not requested.
        if retrieval_only and isinstance(payload, dict) and not payload.get("answer"):
            payload = {**payload, "answer": _UNRECORDED}
        try:
            response = parse_ask_response(payload)
            if retrieval_only and not response.answer:
                response = replace(response, answer=_UNRECORDED)
            return answered(response, total_ms=None)
        except EndpointError as error:
            return AskResult(response=None, error=error_info(error, attempts=1), total_ms=None)


class _CaseIds:
    """The ids of a case file, of which no more is read than what was asked about.

    Faults of the file are reported when its cases are read.
    """

    def __init__(self, path: Path) -> None:
        self._ahead = _every_id(path)
        self._found: set[str | None] = set()

    def __contains__(self, case_id: object) -> bool:
        while case_id not in self._found:
            read = list(islice(self._ahead, _IDS_AT_ONCE))
            if not read:
                return False
            self._found.update(read)
        return True

    def close(self) -> None:
        """Close the file."""
        self._ahead.close()


def _every_id(path: Path) -> Generator[str | None, None, None]:
    with open_lines(path, path.as_posix()) as file:
        for line in iterate_lines(file, path.as_posix(), []):
            yield line_id(line.text)
