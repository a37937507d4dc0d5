"""Responses that were recorded earlier, scored as if the target had just given them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pytest_rageval.adapters import answered
from pytest_rageval.aggregate import headings_reported
from pytest_rageval.contract import parse_ask_response
from pytest_rageval.dataset import LoadedSet
from pytest_rageval.engine import not_attempted, record_of, settle_headings
from pytest_rageval.errors import DatasetError, EndpointError, Fault
from pytest_rageval.jsonl import read_lines
from pytest_rageval.models import AskResult, CaseRecord, ErrorInfo, Settings

_EXPECTED: Final = 'expected {"id": case id, "response": an ask response}'
NO_RESPONSE: Final = "no response is recorded for this case"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedResponses:
    """The replies of one file, not yet read as responses."""

    payloads: Mapping[str, object]
    """By case id."""
    unknown: tuple[str, ...]
    """Ids that are no case's, in the order of the file."""


def load_responses(
    path: Path, case_ids: Collection[str], *, display: str | None = None
) -> RecordedResponses:
    """Read a JSONL file whose lines are ``{"id": case id, "response": an ask response}``.

    Whether a response is one that the contract allows is not asked here: a bad one is the
    target's failure and becomes a record.

    Raises:
        DatasetError: with every line that is no such object, and every id that stands twice.
    """
    display = path.as_posix() if display is None else display
    lines, faults = read_lines(path, display)
    payloads: dict[str, object] = {}
    first_line: dict[str, int] = {}
    for lineno, text in lines:
        try:
            case_id, payload = _read_line(text)
            if first_line.setdefault(case_id, lineno) != lineno:
                first = first_line[case_id]
                raise ValueError(f"id: {case_id!r} already has its response on line {first}")
        except json.JSONDecodeError as error:
            message = f"{error.msg}, {_EXPECTED}"
            faults.append(Fault(file=display, line=lineno, col=error.colno, message=message))
        except (ValueError, RecursionError) as error:
            faults.append(Fault(file=display, line=lineno, message=str(error)))
        else:
            payloads[case_id] = payload
    if faults:
        faults.sort(key=lambda fault: fault.line)
        raise DatasetError("\n".join(map(str, faults)), faults=tuple(faults))
    unknown = tuple(case_id for case_id in payloads if case_id not in case_ids)
    return RecordedResponses(payloads=payloads, unknown=unknown)


def _read_line(text: str) -> tuple[str, object]:
    line: Any = json.loads(text)
    if not isinstance(line, dict):
        raise ValueError(f"got no JSON object, {_EXPECTED}")
    missing = [name for name in ("id", "response") if name not in line]
    if missing:
        raise ValueError(f"{' and '.join(missing)} missing, {_EXPECTED}")
    if not isinstance(line["id"], str):
        raise ValueError(f"id: {line['id']!r:.60}, expected a string")
    return line["id"], line["response"]


def score_recorded(
    loaded: LoadedSet, payloads: Mapping[str, object], settings: Settings
) -> list[CaseRecord]:
    """Score every case of a set; one without a response is an error of kind ``not_attempted``."""
    records = [
        record_of(located, loaded.display, _result(payloads[located.case.id]), settings)
        if located.case.id in payloads
        else not_attempted(located, loaded.display, settings, NO_RESPONSE)
        for located in loaded.cases
    ]
    return _settled(loaded, records, settings)


def _result(payload: object) -> AskResult:
    try:
        asked = answered(parse_ask_response(payload), total_ms=0.0)
        return replace(asked, total_ms=None)  # nothing was timed here
    except EndpointError as error:
        info = ErrorInfo(kind=error.kind, message=error.message, attempts=1)
        return AskResult(response=None, error=info, total_ms=None)


def _settled(
    loaded: LoadedSet, records: Iterable[CaseRecord], settings: Settings
) -> list[CaseRecord]:
    """Score again where only the whole set tells whether the target reports headings."""
    whole = list(records)
    reported = headings_reported(whole)
    return [
        settle_headings(record, located, settings, headings_reported=reported)
        for record, located in zip(whole, loaded.cases, strict=True)
    ]
