"""Formats that are rows of fields, each of them one case. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_rageval.authoring.interchange.fields import BadFieldError
from pytest_rageval.authoring.interchange.ids import UniqueIds
from pytest_rageval.authoring.interchange.parsing import parse_records
from pytest_rageval.authoring.interchange.values import Imported, Ledger, Source, fault

Convert = Callable[
    [dict[str, Any], UniqueIds, Ledger], tuple[dict[str, Any], dict[str, Any] | None] | None
]
"""Makes of a row a case line and the response that was recorded, if any; None: it is no case."""


def read_rows(source: Source, row_word: str, convert: Convert) -> Imported:
    """Read the rows of all files.

    Args:
        source: the files, and what the user said of them.
        row_word: what a row is called in messages.
        convert: makes a case of a row; it raises ``BadFieldError`` where it cannot.

    Raises:
        DatasetError: a file holds no rows, or a row cannot be made a case of.
    """
    ledger, ids = Ledger(), UniqueIds()
    lines: list[dict[str, Any]] = []
    responses: list[dict[str, Any]] = []
    for file in source.files:
        rows = parse_records(file, ledger, delimiter=source.options.delimiter)
        for number, row in enumerate(rows, 1):
            try:
                found = convert(row, ids, ledger)
            except BadFieldError as error:
                message = f"{row_word} {number}: {error}"
                raise fault(file.name, message, field=error.name) from None
            if found is None:
                continue
            line, response = found
            lines.append(line)
            if response:
                responses.append({"id": line["id"], "response": response})
    return ledger.close(cases=tuple(lines), responses=tuple(responses))
