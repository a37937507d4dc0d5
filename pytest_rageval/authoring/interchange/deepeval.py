"""Goldens of deepeval, in JSON, JSON Lines or CSV.

As ``EvaluationDataset.save_as`` writes them (read in the sources of 2.x and 3.x), with names in
snake_case or, as its API writes them, in camelCase.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pytest_rageval.authoring.interchange.ids import UniqueIds
from pytest_rageval.authoring.interchange.parsing import parse_list
from pytest_rageval.authoring.interchange.suite import Converted, read_rows, unnamed_chunks, with_id
from pytest_rageval.authoring.interchange.values import Imported, Ledger, Source

_ROOM: Final = "deepeval"
_LEFT: Final[Mapping[str, str]] = {
    "tools_called": "no tools are called here",
    "expected_tools": "no tools are called here",
}
_CONVERSATION: Final = frozenset({"scenario", "turns", "expected_outcome", "user_description"})
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def read(source: Source) -> Imported:
    """Read goldens.

    Raises:
        DatasetError: a file holds no goldens, or a golden has no input.
    """
    return read_rows(source, "golden", _golden)


def _golden(row: dict[str, Any], ids: UniqueIds, ledger: Ledger) -> Converted | None:
    snake = {_CAMEL.sub("_", name).lower(): value for name, value in row.items()}
    given = ledger.full(snake, (None, "", [], {}))
    if "input" not in given and not _CONVERSATION.isdisjoint(given):
        ledger.leave("turns", "a conversation, and a case is one question")
        return None
    line: dict[str, Any] = {}
    for name, field in (
        ("name", "id"), ("input", "question"), ("expected_output", "expected_answer"),
        ("comments", "notes"),
    ):  # fmt: skip
        if name in given:
            value = given.pop(name)
            line[field] = value if field == "question" else str(value)
            ledger.carry(name)
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
    texts = _texts(given.pop("retrieval_context", None))
    response: dict[str, Any] | None = None
    if answer is not None:
        ledger.carry("actual_output")
        response = {"answer": str(answer)}
    if texts and response and "gold_supports" not in line:
        response["debug"] = unnamed_chunks(texts, "retrieval_context", ledger)
    elif texts:
        ledger.leave("retrieval_context", "no document is named for it")
    ledger.keep_values(line, _ROOM, given)
    return with_id(line, ids, room=_ROOM), response


def _texts(value: Any) -> list[str]:
    found = parse_list(value)
    if isinstance(value, str) and found == [value]:  # no list, whose one text may hold a table
        found = value.split("|")
    return [str(text) for text in found]
