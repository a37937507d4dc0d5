"""Tables: one case per row, with a header that names the fields.

A header is the name of a case field or a common alternative (``fields.ALIASES``); ``--column
FIELD=HEADER`` maps any other. Golds are ``path#Heading > Sub``, separated by ``|`` or a line
break; or one gold in the columns ``rel_path``, ``heading_path`` and ``snippet``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pytest_rageval.authoring.interchange.fields import (
    ALIASES,
    ANCHOR_COLUMNS,
    BadFieldError,
    read_fields,
)
from pytest_rageval.authoring.interchange.ids import UniqueIds
from pytest_rageval.authoring.interchange.parsing import parse_table
from pytest_rageval.authoring.interchange.suite import with_id
from pytest_rageval.authoring.interchange.values import (
    Imported,
    Ledger,
    Source,
    SourceFile,
    fault,
)
from pytest_rageval.support.text import did_you_mean, shown
from pytest_rageval.values.errors import Fault, faults_error

_ROOM: Final = "csv"


def read(source: Source) -> Imported:
    """Read tables.

    Raises:
        DatasetError: with every row that cannot be read, or a missing column.
    """
    columns = source.options.columns
    known = [*ALIASES, *ANCHOR_COLUMNS]
    for field in columns:
        if field not in known:
            hint = did_you_mean(field, known) or f", expected one of {', '.join(known)}"
            raise fault("--column", f"no field {shown(field)}{hint}")
    ledger, ids = Ledger(), UniqueIds()
    faults: list[Fault] = []
    lines: list[dict[str, Any]] = []
    for file in source.files:
        table = parse_table(file, delimiter=source.options.delimiter)
        _check_headers(file, table.headers, source)
        for row in table.rows:
            try:
                line = read_fields(row.cells, ledger, room=_ROOM, columns=columns)
                lines.append(with_id(line, ids, room=_ROOM))
            except BadFieldError as error:
                faults.append(
                    Fault(file=file.name, line=row.line, field=error.name, message=str(error))
                )
    if faults:
        raise faults_error(faults)
    return ledger.close(cases=tuple(lines))


def _check_headers(file: SourceFile, headers: Sequence[str], source: Source) -> None:
    for field, header in source.options.columns.items():
        if header not in headers:
            message = f"--column {field}={header}: no such header; there are {', '.join(headers)}"
            raise fault(file.name, message)
    if "question" in source.options.columns:
        return
    folded = {header.casefold().replace(" ", "_").replace("-", "_") for header in headers}
    if folded.isdisjoint(ALIASES["question"]):
        message = (
            f"no column of questions among {', '.join(map(shown, headers[:20]))}; name it with "
            "--column question=HEADER"
        )
        raise fault(file.name, message)
