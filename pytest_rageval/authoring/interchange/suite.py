"""Suites in JSON or YAML, and tables: one case per object or row.

A suite is a list of objects, an object that holds one under a name of ``_LISTS``, or one list for
each field, as data frames write it. Fields have our names or common alternatives
(``field_names.ALIASES``). An expected reference is ``{"vault", "rel_path", "heading_path"}``, or a
text such as ``notes/setup.md#Setup > Install``.

A header of a table names a field in the same way; ``--column FIELD=HEADER`` maps any other. Golds
are ``path#Heading > Sub``, separated by ``|`` or a line break; or one gold in the columns
``rel_path``, ``heading_path`` and ``snippet``.
"""

from __future__ import annotations

import shlex
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from pytest_rageval.authoring.interchange.cells import (
    out_of_use,
    parse_object,
    snake,
    text_of,
)
from pytest_rageval.authoring.interchange.fields import BadFieldError, lifted, read_fields
from pytest_rageval.authoring.interchange.ids import UniqueIds
from pytest_rageval.authoring.interchange.marks import refuse_others
from pytest_rageval.authoring.interchange.parsing import (
    is_table,
    parse_document,
    parse_records,
    parse_table,
    rows_of_columns,
)
from pytest_rageval.authoring.interchange.values import (
    Imported,
    Ledger,
    Source,
    SourceFile,
    fault,
    keep_in_metadata,
)
from pytest_rageval.project.field_names import ALIASES, ANCHOR_COLUMNS
from pytest_rageval.support.text import did_you_mean, shown
from pytest_rageval.values.errors import Fault, faults_error
from pytest_rageval.values.json_documents import part

_LISTS: Final = ("cases", "test_cases", "tests", "questions", "items", "examples",
                 "samples", "data")  # fmt: skip
_DEFAULTS: Final = ("vaults", "folders", "k", "category", "tags", "language")
"""Fields of a suite that are defaults for its cases."""
_OTHERS: Final = ("promptfoo", "beir", "squad")
"""Importers whose rows have questions that are none, or expectations that no field of ours is."""
_INSIDE: Final = {
    "question": (*ALIASES["question"], "messages"),
    "expected_answer": (*ALIASES["expected_answer"], "expected_response", "output", "response",
                        "message", "messages"),
}  # fmt: skip
"""Names that a field often has inside an object, such as the inputs and outputs of LangSmith."""
_EXPECTED: Final = {*ALIASES["expected_answer"], "answers", "output", "outputs", "target"}
"""Names of objects that hold what is expected, whose text is not the question."""
Rows = Iterator[tuple[int, str, Any]]
"""Line (0: unknown), place and values of each case of a file."""
_ReadFile = Callable[[SourceFile, Source, Ledger], Rows]
Converted = tuple[dict[str, Any], dict[str, Any] | None]
"""Case line of a row, and the recorded response, if any."""
Convert = Callable[[Any, UniqueIds, Ledger], Converted | None]
"""Converts a row; None: it is not a case."""


def read(source: Source) -> Imported:
    """Read suites.

    Raises:
        DatasetError: with every case that cannot be read.
    """
    return _read(source, "suite", _suite_rows)


def read_tables(source: Source) -> Imported:
    """Read tables.

    Raises:
        DatasetError: with every row that cannot be read, or a missing column.
    """
    return _read(source, "csv", _table_rows)


def _read(source: Source, room: str, rows: _ReadFile) -> Imported:
    columns, known = source.options.columns, [*ALIASES, *ANCHOR_COLUMNS]
    for field in columns:
        if field not in known:
            hint = did_you_mean(field, known) or f", expected one of {', '.join(known)}"
            raise fault("--column", f"no field {shown(field)}{hint}")
    originals: list[dict[str, str]] = []

    def case(given: Any, ids: UniqueIds, ledger: Ledger) -> Converted:
        if not isinstance(given, Mapping):
            raise BadFieldError("", f"{shown(given)}, expected an object")
        line = with_id(read_fields(given, ledger, room=room, columns=columns), ids, room=room)
        originals.append(ids.by_original)
        return line, None

    found = read_cases(source, rows, case)
    of_files = {id(one): one for one in originals}.values()  # the rows of a file share one
    for line, of_file in zip(found.cases, originals, strict=True):
        if original := line.get("translation_of"):
            line["translation_of"] = ChainMap(of_file, *of_files).get(original, original)
    return found


def _suite_rows(file: SourceFile, source: Source, ledger: Ledger) -> Rows:
    cases, defaults = _cases(file, ledger)
    rows = {number: case for number, case in enumerate(cases, 1) if isinstance(case, dict)}
    for number, row in rows.items():
        refuse_others(file, row, _OTHERS, place=f"case {number}: ")
    _check_names(file, chain.from_iterable(rows.values()), list(rows.values()), source)
    for number, case in enumerate(cases, 1):
        yield 0, f"case {number}: ", {**defaults, **case} if isinstance(case, dict) else case


def _cases(file: SourceFile, ledger: Ledger) -> tuple[list[Any], dict[str, Any]]:
    value = parse_document(file, ledger)
    if isinstance(value, list):
        return value, {}
    if not isinstance(value, dict):
        raise fault(file.name, f"{shown(value)}, expected a list of cases")
    # A list that begins with a text is a column of a data frame.
    lists = (one for one in _LISTS if isinstance(value.get(one), list))
    name = next((one for one in lists if not isinstance([*value[one], 0][0], str)), None)
    if name is None:
        rows = rows_of_columns(value)
        if rows is None:
            raise fault(file.name, f"expected a list of cases under one of {', '.join(_LISTS)}")
        return rows, {}
    shared = {**part(value, "defaults"), **value}
    for key in shared.keys() - {*_DEFAULTS, name, "defaults"}:
        ledger.leave(key, "belongs to the suite, and no case holds it")
    return value[name], {key: shared[key] for key in _DEFAULTS if key in shared}


def _table_rows(file: SourceFile, source: Source, ledger: Ledger) -> Rows:
    table = parse_table(file, delimiter=source.options.delimiter)
    refuse_others(file, table.headers, _OTHERS)
    _check_names(file, table.headers, [row.cells for row in table.rows], source)
    for row in table.rows:
        yield row.line, "", row.cells


def _check_names(
    file: SourceFile, given: Iterable[str], rows: Sequence[Mapping[str, Any]], source: Source
) -> None:
    """Refuse a file without a column that is named, or without questions."""
    names, columns = list(dict.fromkeys(given)), source.options.columns
    first = {name: parse_object(value) for name, value in (rows[0] if rows else {}).items()}
    inside = [(name, key) for name, found in first.items() for key in part(found)]
    paths = [*names, *map(".".join, inside)]
    for field, name in columns.items():
        if name not in names and not any(name in lifted(row, [name]) for row in rows):
            message = f"--column {field}={name}: no such header; there are {', '.join(paths)}"
            raise fault(file.name, message)
    folded = map(snake, names)
    if not names or "question" in columns or not set(ALIASES["question"]).isdisjoint(folded):
        return
    named, others = [], _EXPECTED
    for field, words in _INSIDE.items():
        fitting = (one for one in inside if one[1].casefold() in words and one[0] not in others)
        if (path := next(fitting, None)) is None:
            break
        named.append(f"--column {shlex.quote(f'{field}=' + '.'.join(path))}")
        others = {path[0]}
    kind = "column" if is_table(file) else "field"
    message = f"no {kind} of questions among {', '.join(map(shown, paths[:20]))}; name it with"
    raise fault(file.name, f"{message} {' '.join(named) or '--column question=HEADER'}")


def with_id(line: dict[str, Any], ids: UniqueIds, *, room: str) -> dict[str, Any]:
    """Return a line with a valid id; the original is kept in metadata if it differs.

    Raises:
        BadFieldError: the line has no question.
    """
    question = line.get("question")
    if not isinstance(question, str) or not question.strip():
        raise BadFieldError("question", "missing, expected a text that is not blank")
    given = line.pop("id", None)
    case_id = ids.take(given, question)
    if given and case_id != given:
        keep_in_metadata(line, room, "id", given)
    return {"id": case_id, **line}


def recorded(
    line: dict[str, Any],
    answer: Any,
    texts: Sequence[str],
    name: str,
    source: Source,
    ledger: Ledger,
) -> dict[str, Any] | None:
    """Return the response of a row whose retrieved texts come without their documents.

    A judge reads them. They get made-up paths, by which no gold is found, so a case of which the
    response is written has none.

    Args:
        line: the case; its golds go to metadata if responses are wanted.
        answer: of the system; None: there is none, so no response.
        texts: that were retrieved.
        name: of their field.
        source: its options say whether responses are wanted.
        ledger: counts the field.
    """
    if answer is None:
        if texts:
            ledger.leave(name, "no answer goes with it, and no document is named for it")
        return None
    response: dict[str, Any] = {"answer": text_of(answer)}
    if not texts:
        return response
    ledger.carry(name)
    ledger.note(
        f"{name} do not say which document they are of: they are retrieved/1, retrieved/2, ... for "
        "a judge of the recorded answers"
    )
    if source.options.with_responses and "gold_supports" in line:
        keep_in_metadata(line, "recorded", "gold_supports", line.pop("gold_supports"))
        ledger.note(
            "golds of cases with such answers are in metadata, since their retrieval cannot be "
            "scored; import again without --responses for a target that reports documents"
        )
    chunks = [
        {"rel_path": f"retrieved/{rank}", "rank": rank, "text": text}
        for rank, text in enumerate(texts, 1)
    ]
    return response | {"debug": {"retrieved_chunks": chunks}}


# --- rows of other tools ---------------------------------------------------------------------


def read_rows(
    source: Source, row_word: str, convert: Convert, *, others: Sequence[str] = ()
) -> Imported:
    """Read the rows of all files.

    Args:
        source: the files and options.
        row_word: name of a row in messages.
        convert: converts a row to a case; raises ``BadFieldError`` if it cannot.
        others: importers whose rows are refused.

    Raises:
        DatasetError: a file has no rows, or with every field that cannot be converted.
    """

    def rows(file: SourceFile, source: Source, ledger: Ledger) -> Rows:
        given = parse_records(file, ledger, delimiter=source.options.delimiter)
        for number, row in enumerate(given, 1):
            refuse_others(file, row, others, place=f"{row_word} {number}: ")
            yield 0, f"{row_word} {number}: ", row

    return read_cases(source, rows, convert)


def read_cases(source: Source, rows: _ReadFile, convert: Convert) -> Imported:
    """Convert what a function reads of each file, as in ``read_rows``.

    Raises:
        DatasetError: with every field that cannot be converted, or of the function.
    """
    ledger, ids = Ledger(), UniqueIds()
    found: list[Converted] = []
    faults: list[Fault] = []
    for file in source.files:
        ids.by_original = {}
        for number, place, row in rows(file, source, ledger):
            if isinstance(row, Mapping) and (why := out_of_use(row)) is not None:
                ledger.leave(f"rows with {why}", "out of use in their tool")
                continue
            try:
                one = convert(row, ids, ledger)
            except BadFieldError as error:
                for each in error.all:
                    field, message = f"{place}{each.name}".removesuffix(": "), str(each)
                    faults.append(Fault(file=file.name, line=number, field=field, message=message))
            else:
                found += [] if one is None else [one]
    if faults:
        raise faults_error(faults)
    responses = ({"id": line["id"], "response": response} for line, response in found if response)
    return ledger.close(cases=tuple(line for line, _ in found), responses=tuple(responses))
