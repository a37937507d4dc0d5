"""Lines of recorded responses: ``{"id": case id, "response": an ask response}``, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pytest_rageval.project.case_fields import ALIASES
from pytest_rageval.support.json_text import read_json
from pytest_rageval.support.jsonl import open_lines
from pytest_rageval.support.reading import Unfit
from pytest_rageval.support.text import clean, first_few
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.diagnoses.table import TargetErrorKind
from pytest_rageval.values.errors import TARGET_ERROR_KINDS, DatasetError, EndpointError
from pytest_rageval.values.reply import AskResponse, ErrorInfo

EXPECTED: Final = '{"id": case id, "response": an ask response}'
_OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("test_case_id", *ALIASES["id"][1:]),
    "response.answer": (
        "answer", "output", "actual_output", "actual_answer", "generated_answer", "prediction",
    ),
    "response.references": ("references", "citations"),
    "response.debug.retrieved_chunks": (
        "retrieved_chunks", "chunks", "retrieved_contexts", "retrieval_context", "contexts",
    ),
}  # fmt: skip
"""Keys that other tools write into a line of results, by the place of their values in ours."""


def parse_line(raw: bytes) -> tuple[str, int, object]:
    """Return case id, repeat, and the response, unread, or the error of a line.

    Raises:
        Unfit: the line is wrong.
        ValueError: it is not UTF-8, or a number is too long; ``json.JSONDecodeError``: no JSON.
        RecursionError: it is nested too deeply.
    """
    line = read_json(raw.decode("utf-8").removesuffix("\n"))
    if not isinstance(line, dict):
        raise Unfit(EXPECTED, "no JSON object")
    failed = line.get("error") is not None
    missing = [name for name in ("id", "response") if name not in line]
    if missing and not (failed and missing == ["response"]):
        raise Unfit(f"{EXPECTED}; {_found_keys(line)}", f"no {' and no '.join(missing)}")
    if not isinstance(line["id"], str):
        raise _unfit(("id",), line["id"], "a string")
    repeat = line.get("repeat", 0)
    if type(repeat) is not int or repeat < 0:
        raise _unfit(("repeat",), repeat, "an integer of at least 0")
    if failed and line.get("response") is None:
        return line["id"], repeat, _recorded_error(line["error"])
    return line["id"], repeat, line["response"]


def _unfit(place: tuple[str, ...], value: object, expected: str) -> Unfit:
    return Unfit(expected, f"{value!r:.60}", at=place)


def _found_keys(line: dict[str, Any]) -> str:
    """Name the keys of a line, and those of another tool with their place in a line of ours."""
    if not line:
        return "found no keys"
    names = first_few([clean(name, 40) for name in line], 12)
    found = f"found the keys {names}"
    places = {
        place: next((name for name in others if name in line), None)
        for place, others in _OTHER_NAMES.items()
        if place.split(".")[0] not in line
    }
    moves = [f"{name} as {place}" for place, name in places.items() if name is not None]
    return f"{found}: write {', '.join(moves)}" if moves else found


def _recorded_error(error: Any) -> ErrorInfo:
    """Read the failure of asking that was recorded in place of a response."""
    if not isinstance(error, dict):
        raise _unfit(("error",), error, '{"kind": ..., "message": ...}')
    kinds: dict[Any, TargetErrorKind] = {kind: kind for kind in TARGET_ERROR_KINDS}
    kind, message = error.get("kind"), error.get("message", "")
    if not isinstance(kind, str) or kind not in kinds:
        raise _unfit(("error", "kind"), kind, f"one of {', '.join(kinds)}")
    if not isinstance(message, str):
        raise _unfit(("error", "message"), message, "a string")
    return ErrorInfo(kind=kinds[kind], message=message or "recorded as failed", attempts=1)


def response_of(raw: bytes) -> tuple[str, AskResponse | None]:
    """Return case id and response of a line, which may be wrong; None: it has no response."""
    try:
        case_id, _, payload = parse_line(raw)
        if isinstance(payload, ErrorInfo):
            return case_id, None
        # The answer may not have been recorded.
        payload = {"answer": "", **payload} if isinstance(payload, dict) else payload
        return case_id, parse_ask_response(payload)
    except (ValueError, RecursionError, EndpointError):
        return "", None


def line_id(text: str) -> str | None:
    """Return the ``id`` of a line; None: it has none, which is a fault of the line."""
    try:
        found = read_json(text)["id"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return None
    return found if isinstance(found, str) else None


_BLOCK: Final = 1 << 20


def may_name(field: bytes, raw: bytes) -> bool:
    r"""Return whether JSON may name a field, given with its quotes.

    The characters of a key, though not its quotes, may be escapes: those of ``_`` and small letters
    begin with ``\u005`` to ``\u007``.
    """
    return field in raw or b"\\u005" in raw or b"\\u006" in raw or b"\\u007" in raw


def file_may_name(field: bytes, path: Path) -> bool:
    """Return ``may_name`` of a file; what cannot be read is reported by its reader."""
    try:
        with open_lines(path, path.as_posix()) as file:
            end = b""
            while block := file.read(_BLOCK):
                if may_name(field, end + block):
                    return True
                end = block[-len(field) :]  # the field may begin in one block and end in the next
    except (DatasetError, OSError):
        return True
    return False
