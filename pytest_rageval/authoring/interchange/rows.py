"""Rows of any source as cases: suites in JSON or YAML, tables, and the rows of other tools.

A suite is a list of objects, an object that holds one under a name of ``_LISTS``, or one list for
each field, as data frames write it. Fields have our names or common alternatives
(``field_names.ALIASES``). An expected reference is ``{"vault", "rel_path", "heading_path"}``, or a
text such as ``notes/setup.md#Setup > Install``.

A header of a table names a field in the same way; ``--column FIELD=HEADER`` maps any other. Golds
are ``path#Heading > Sub``, separated by ``|`` or a line break; or one gold in the columns
``rel_path``, ``heading_path`` and ``snippet``.

Rows of another tool have their own names, which a ``RowMap`` declares.
"""

from __future__ import annotations

import shlex
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

from pytest_rageval.authoring.interchange.cells import (
    out_of_use,
    parse_list,
    parse_names,
    parse_object,
    parse_texts,
    snake,
    text_of,
)
from pytest_rageval.authoring.interchange.fields import (
    BadFieldError,
    FieldMap,
    lifted,
    read_fields,
)
from pytest_rageval.authoring.interchange.ids import UniqueIds
from pytest_rageval.authoring.interchange.parsing import (
    is_table,
    parse_document,
    parse_table,
    refuse_others,
    rows_of_columns,
)
from pytest_rageval.authoring.interchange.talks import take_conversation, with_turns
from pytest_rageval.authoring.interchange.values import (
    NOT_BLANK,
    Imported,
    Ledger,
    ReadOptions,
    Source,
    SourceFile,
    fault,
    keep_in_metadata,
    unfit,
)
from pytest_rageval.project.case_fields import ALIASES, ANCHOR_COLUMNS
from pytest_rageval.support.reading import Unfit
from pytest_rageval.support.text import nearest, shown
from pytest_rageval.values.case import turn_id
from pytest_rageval.values.errors import Fault, faults_error
from pytest_rageval.values.lenient import part

_LISTS: Final = ("cases", "test_cases", "tests", "questions", "items", "examples",
                 "samples", "goldens", "data")  # fmt: skip
_DEFAULTS: Final = ("vaults", "folders", "k", "category", "tags", "language")
"""Fields of a suite that are defaults for its cases."""
_OTHERS: Final = ("promptfoo", "beir", "squad")
"""Importers whose rows have no plain questions, or expectations without a field of ours."""
_INSIDE: Final = {
    "question": (*ALIASES["question"], "messages"),
    "expected_answer": (*ALIASES["expected_answer"], "expected_response", "output", "response",
                        "message", "messages"),
}  # fmt: skip
"""Names that a field often has inside an object, such as the inputs and outputs of LangSmith."""
_EXPECTED: Final = {*ALIASES["expected_answer"], "answers", "output", "outputs", "target"}
"""Names of objects that hold what is expected, whose text is not the question."""
_TALKS: Final = ("messages", "conversation", "conversations")
"""Fields of a row that may be a conversation, if it has no question."""
Rows = Iterator[tuple[int, str, Any]]
"""Line (0: unknown), place and values of each case of a file."""
ReadFile = Callable[[SourceFile, Source, Ledger], Rows]
Converted = tuple[dict[str, Any], list[dict[str, Any] | None]]
"""Case line of a row, and the recorded response, if any; of a conversation those of its turns."""
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


def _read(source: Source, room: str, rows: ReadFile) -> Imported:
    columns, known = source.options.columns, [*ALIASES, *ANCHOR_COLUMNS]
    for field in columns:
        if field not in known:
            raise fault(
                "--column",
                "unknown",
                what=f"field {shown(field)}",
                nearest=nearest(field, known) or "",
                advice=f", expected one of {', '.join(known)}",
            )
    form = FieldMap(room=room, columns=columns)
    originals: list[dict[str, str]] = []

    def case(given: Any, ids: UniqueIds, ledger: Ledger) -> Converted:
        if not isinstance(given, Mapping):
            raise BadFieldError({"": Unfit("an object", shown(given))})
        rest = dict(given)
        names = () if "question" in columns or _asks(rest) else _TALKS
        talk = take_conversation(rest, names, ledger, recorded=False)
        line = read_fields(rest, ledger, form)
        line = with_id(line if talk is None else with_turns(line, talk), ids, room=room)
        originals.append(ids.by_original)
        return line, []

    found = read_cases(source, rows, case)
    of_files = {id(one): one for one in originals}.values()  # the rows of a file share one
    for line, of_file in zip(found.cases, originals, strict=True):
        if original := line.get("translation_of"):
            line["translation_of"] = ChainMap(of_file, *of_files).get(original, original)
    return found


def _suite_rows(file: SourceFile, source: Source, ledger: Ledger) -> Rows:
    found = list(_listed_rows(file, ledger, "case", _OTHERS, defaults=_DEFAULTS))
    rows = [row for _, _, row in found if isinstance(row, dict)]
    _check_names(file, chain.from_iterable(rows), rows, source)
    yield from found


def _listed_rows(
    file: SourceFile,
    ledger: Ledger,
    word: str,
    others: Sequence[str],
    *,
    defaults: Sequence[str] = (),
) -> Rows:
    """Yield the rows of a list, of an object with one, or of one list for each field.

    Args:
        file: JSON, JSON Lines or YAML.
        ledger: counts the other fields of the object.
        word: name of a row in messages.
        others: importers whose rows are refused.
        defaults: fields of the object that each of its rows has as well.
    """
    value = parse_document(file, ledger)
    shared: dict[str, Any] = {}
    if isinstance(value, dict):
        given = {**part(value, "defaults"), **value}
        # A list that begins with a text is a column of a data frame.
        lists = (one for one in _LISTS if isinstance(value.get(one), list))
        name = next((one for one in lists if not isinstance([*value[one], 0][0], str)), None)
        value = rows_of_columns(value) if name is None else value[name]
        if value is None:
            expected = f"a list of cases under one of {', '.join(_LISTS)}"
            raise unfit(file, given, expected)
        if name is not None:
            shared = {key: given.pop(key) for key in defaults if key in given}
            for key in [one for one in given if one not in {name, "defaults"}]:
                ledger.leave(key, "belongs to the suite, and no case holds it")
    elif not isinstance(value, list):
        raise unfit(file, value, "a list of cases")
    for number, row in enumerate(value, 1):
        place = f"{word} {number}: "
        if isinstance(row, dict):
            refuse_others(file, row, others, place=place)
        yield 0, place, {**shared, **row} if isinstance(row, dict) else row


def _table_rows(file: SourceFile, source: Source, ledger: Ledger) -> Rows:
    table = parse_table(file, delimiter=source.options.delimiter)
    refuse_others(file, table.headers, _OTHERS)
    _check_names(file, table.headers, [row.cells for row in table.rows], source)
    yield from ((row.line, "", row.cells) for row in table.rows)


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
            option, there = f"{field}={name}", ", ".join(paths)
            raise fault(file.name, "no_header", option=option, names=there)
    folded = map(snake, names)
    if not names or "question" in columns or not {*ALIASES["question"], *_TALKS}.isdisjoint(folded):
        return
    named, others = [], _EXPECTED
    for field, words in _INSIDE.items():
        fitting = (one for one in inside if one[1].casefold() in words and one[0] not in others)
        if (path := next(fitting, None)) is None:
            break
        named.append(f"--column {shlex.quote(f'{field}=' + '.'.join(path))}")
        others = {path[0]}
    kind = "column" if is_table(file) else "field"
    raise fault(
        file.name,
        "no_questions",
        kind=kind,
        names=", ".join(map(shown, paths[:20])),
        option=" ".join(named) or "--column question=HEADER",
    )


def _asks(row: Mapping[str, Any]) -> bool:
    return not set(ALIASES["question"]).isdisjoint(map(snake, row))


def with_id(line: dict[str, Any], ids: UniqueIds, *, room: str) -> dict[str, Any]:
    """Return a line with a valid id; the original is kept in metadata if it differs.

    Raises:
        BadFieldError: the line has no question.
    """
    question = line.get("question") or part(next(iter(line.get("turns", ())), {})).get("question")
    if not isinstance(question, str) or not question.strip():
        raise BadFieldError({"question": Unfit(NOT_BLANK, code="missing")})
    given = line.pop("id", None)
    case_id = ids.take(given, question)
    if given and case_id != given:
        keep_in_metadata(line, room, "id", given)
    return {"id": case_id, **line}


def read_cases(source: Source, rows: ReadFile, convert: Convert) -> Imported:
    """Convert the rows of all files.

    Args:
        source: the files and options.
        rows: reads a file.
        convert: converts a row to a case; raises ``BadFieldError`` if it cannot.

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
                for name, wrong in error.faults.items():
                    field = f"{place}{name}".removesuffix(": ")
                    faults.append(wrong.fault(file=file.name, line=number, field=field))
            else:
                found += [] if one is None else [one]
    if faults:
        raise faults_error(faults)
    responses = tuple(
        {"id": turn_id(line["id"], n) if "turns" in line else line["id"], "response": response}
        for line, given in found
        for n, response in enumerate(given, 1)
        if response
    )
    return ledger.close(cases=tuple(line for line, _ in found), responses=responses)


# --- rows of other tools ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMap(FieldMap):
    """Declares how the rows of a tool become cases and responses."""

    row: str = "row"
    """Name of a row in messages."""
    others: tuple[str, ...] = ()
    """Importers whose rows are refused."""
    conversation: tuple[str, ...] = ()
    """Fields that make a row without a question a conversation."""
    passages: tuple[str, ...] = ()
    """Texts of the relevant documents, kept in metadata; the first one present is used."""
    answer: tuple[str, ...] = ()
    """Answer of a system."""
    retrieved: tuple[str, ...] = ()
    """Texts that the system retrieved; the first one with a text is used."""
    retrieved_ids: str = ""
    """Their documents."""


Prepare = Callable[[dict[str, Any]], tuple[dict[str, Any], RowMap]]
"""Returns a row as the map that fits it expects it."""


def read_rows(source: Source, form: RowMap, prepare: Prepare) -> Imported:
    """Read the rows of all files.

    Raises:
        DatasetError: a file has no rows, or with every field that cannot be converted.
    """

    def rows(file: SourceFile, source: Source, ledger: Ledger) -> Rows:
        if not is_table(file):
            return _listed_rows(file, ledger, form.row, form.others)
        table = parse_table(file, delimiter=source.options.delimiter)
        refuse_others(file, table.headers, form.others)
        return ((row.line, "", dict(row.cells)) for row in table.rows)

    def case(row: Any, ids: UniqueIds, ledger: Ledger) -> Converted | None:
        if not isinstance(row, dict):
            raise BadFieldError({"": Unfit("an object", shown(row))})
        return _case(*prepare(row), ids, ledger, source.options)

    found = read_cases(source, rows, case)
    golds = (gold["rel_path"] for line in found.cases for gold in line.get("gold_supports", ()))
    if (first := next(golds, None)) is None:
        return found
    note = (
        f"golds are documents such as {shown(first)}: their paths must be those that the target "
        "reports"
    )
    return replace(found, notes=(*found.notes, note))


def _case(
    row: dict[str, Any], form: RowMap, ids: UniqueIds, ledger: Ledger, options: ReadOptions
) -> Converted | None:
    given = ledger.full(row)
    asked = [name for name in form.names["question"] if name in given]
    turns = [name for name in asked[:1] if isinstance(parse_object(given[name]), list)]
    if not asked:
        turns = [name for name in form.conversation if name in given]
    talk = take_conversation(given, turns, ledger, recorded=True)
    if turns and talk is None:
        ledger.leave(turns[0], "a conversation without a question")
        return None
    reply = {
        name: given.pop(name)
        for name in (*form.answer, *form.retrieved, form.retrieved_ids)
        if name in given
    }
    passages = next((name for name in form.passages if name in given), None)
    if passages is not None:
        given[passages] = parse_texts(given[passages])
    line = read_fields(given, ledger, form)
    if talk is not None:
        return with_id(with_turns(line, talk), ids, room=form.room), talk.responses
    if passages is not None and not line.get("gold_supports"):
        ledger.note(
            "reference contexts do not say which document they are of; label the cases to "
            "score retrieval"
        )
    response = _response(reply, line, form, ledger, options)
    return with_id(line, ids, room=form.room), [response]


def _response(
    reply: dict[str, Any],
    line: dict[str, Any],
    form: RowMap,
    ledger: Ledger,
    options: ReadOptions,
) -> dict[str, Any] | None:
    """Return the response of a row, if it has one.

    A judge reads retrieved texts that come without their documents. They get made-up paths, by
    which no gold is found, so a case of which the response is written has none.
    """
    answer = next((name for name in form.answer if name in reply), None)
    name = next((one for one in form.retrieved if parse_list(reply.get(one))), "")
    texts = parse_texts(reply.get(name))
    paths = [str(one) for one in parse_names(reply.get(form.retrieved_ids))]
    if answer is None and not paths:
        if texts:
            ledger.leave(name, "no answer goes with it, and no document is named for it")
        return None
    for used in (answer, texts and name, paths and form.retrieved_ids):
        if used:
            ledger.carry(used)
    if texts and not paths:
        paths = [f"retrieved/{rank}" for rank in range(1, len(texts) + 1)]
        ledger.note(
            f"{name} do not say which document they are of: they are retrieved/1, retrieved/2, "
            "... for a judge of the recorded answers"
        )
        if options.with_responses and "gold_supports" in line:
            keep_in_metadata(line, "recorded", "gold_supports", line.pop("gold_supports"))
            ledger.note(
                "golds of cases with such answers are in metadata, since their retrieval cannot "
                "be scored; import again without --responses for a target that reports documents"
            )
    texts += [""] * len(paths)
    chunks = [
        {"rel_path": path, "rank": rank, **({"text": text} if text else {})}
        for rank, (path, text) in enumerate(zip(paths, texts, strict=False), 1)
    ]
    said = "" if answer is None else text_of(reply[answer])
    return {"answer": said, **({"debug": {"retrieved_chunks": chunks}} if chunks else {})}
