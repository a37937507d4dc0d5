"""Goldens of deepeval, in JSON, JSON Lines or CSV.

As ``EvaluationDataset.save_as`` writes them (read in the sources of 2.x and 3.x), with names in
snake_case or, as its API writes them, in camelCase.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from pytest_rageval.authoring.interchange.cells import parse_texts, snake
from pytest_rageval.authoring.interchange.chats import take_history
from pytest_rageval.authoring.interchange.fields import take_answers
from pytest_rageval.authoring.interchange.ids import UniqueIds
from pytest_rageval.authoring.interchange.suite import Converted, read_rows, recorded, with_id
from pytest_rageval.authoring.interchange.values import Imported, Ledger, Source

_ROOM: Final = "deepeval"
_LEFT: Final[Mapping[str, str]] = {
    "tools_called": "no tools are called here",
    "expected_tools": "no tools are called here",
}
_CONVERSATION: Final = frozenset({"scenario", "turns", "expected_outcome", "user_description"})


def read(source: Source) -> Imported:
    """Read goldens.

    Raises:
        DatasetError: a file holds no goldens, or a golden has no input.
    """
    return read_rows(source, "golden", partial(_golden, source))


def _golden(
    source: Source, row: dict[str, Any], ids: UniqueIds, ledger: Ledger
) -> Converted | None:
    given = ledger.full({snake(name): value for name, value in row.items()})
    if "input" not in given and not _CONVERSATION.isdisjoint(given):
        ledger.leave("turns", "a conversation, and a case is one question")
        return None
    line: dict[str, Any] = {}
    for name, field in (("name", "id"), ("input", "question"), ("comments", "notes")):
        if name in given:
            value = given.pop(name)
            line[field] = value if field == "question" else str(value)
            ledger.carry(name)
    if "expected_output" in given:
        line |= take_answers(given.pop("expected_output"), ledger)
        ledger.carry("expected_output")
    if isinstance(source_file := given.get("source_file"), str):
        line["gold_supports"] = [{"rel_path": given.pop("source_file")}]
        ledger.carry("source_file")
        ledger.note(
            f"golds are whole source files such as {source_file!r}: their paths must be those "
            "that the target reports"
        )
    if (context := given.pop("context", None)) is not None:
        ledger.keep_values(line, _ROOM, {"context": _texts(context)})
    ledger.leave_values(given, _LEFT)
    answer = given.pop("actual_output", None)
    ledger.carry("actual_output", answer is not None)
    texts = _texts(given.pop("retrieval_context", None))
    response = recorded(line, answer, texts, "retrieval_context", source, ledger)
    take_history(given, line, ledger)
    ledger.keep_values(line, _ROOM, given)
    return with_id(line, ids, room=_ROOM), response


def _texts(value: Any) -> list[str]:
    found = parse_texts(value)
    if isinstance(value, str) and found == [value]:  # no list, whose one text may hold a table
        return value.split("|")
    return found
