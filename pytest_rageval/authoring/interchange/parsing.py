"""Strict, bounded parsing of JSON, JSON Lines, YAML and tables from other tools.

All results can be written as a line of a case file: no NaN, no lone surrogates, and only string
keys. The names of fields that mark a file as one tool's are here too: readers take many names for
a question, so another tool's file would become cases that hold its questions and nothing else.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from pytest_rageval.authoring.interchange.values import Ledger, SourceFile, fault, tidy, unfit
from pytest_rageval.authoring.interchange.yaml_text import parse_yaml
from pytest_rageval.project.case_fields import ALIASES, MEANT
from pytest_rageval.support.json_text import UnfitJsonError, json_fault, survey, unique
from pytest_rageval.support.text import first_repeated, shown, whole_text
from pytest_rageval.values.errors import DatasetError, Fault, faults_error
from pytest_rageval.values.lenient import items, part, texts

_MARKS: Final[Mapping[str, frozenset[str]]] = {
    "promptfoo": frozenset({"__expected", "__description"}),
    "ragas": frozenset(
        {"user_input", "retrieved_contexts", "reference_contexts", "ground_truth", "ground_truths",
         "evolution_type", "synthesizer_name", "contexts"}
    ),
    "deepeval": frozenset(
        {"actual_output", "expected_output", "retrieval_context", "expected_tools"}
    ),
    "squad": frozenset({"qas", "answer_start"}),
    "beir": frozenset({"_id", "title", "text"}),
    "csv": frozenset(
        {"answerable", "expected_key_facts", "gold", "golds", "gold_supports", "heading_path",
         "irrelevant_supports", "key_facts", "rel_path", "required_support_groups"}
    ),
}  # fmt: skip
"""By importer: fields of its files. One of them is enough, of a corpus of BEIR all are needed."""
_HEADERS: Final = frozenset(MEANT).union(*_MARKS.values())


def refuse_others(
    file: SourceFile, names: Collection[str], others: Iterable[str], *, place: str = ""
) -> None:
    """Refuse a row or header of another tool.

    Args:
        file: for the message.
        names: of the fields of the row.
        others: importers whose files are refused.
        place: of the row, with a colon; empty for a header.

    Raises:
        DatasetError: it has fields of one of them.
    """
    first = part(next(iter(items(names, "paragraphs")), None))
    for tool in others:
        # SQuAD marks what is inside a row.
        found = sorted(_MARKS[tool].intersection([*names, *first, *part(names, "answers")]))
        if len(found) < (len(_MARKS[tool]) if tool == "beir" else 1):
            continue
        what = "a document of a BEIR corpus" if tool == "beir" else "not a row of this format"
        ours = tool == "csv" and not file.name.lower().endswith((".csv", ".tsv"))
        command = "yaml or json" if ours else tool
        fields = ", ".join(found)
        raise fault(
            file.name, "other_format", place=place, what=what, fields=fields, command=command
        )


def is_header(cells: Iterable[str]) -> bool:
    """Whether a row of a table holds nothing but names of fields, a question's among them."""
    words = (cell.strip().lower().replace(" ", "_") for cell in cells if cell.strip())
    names = {word.rstrip("0123456789") for word in words}
    return names <= _HEADERS and not names.isdisjoint(ALIASES["question"])


MAX_FIELD_CHARS: Final = 16_000_000
_DELIMITERS: Final = ",;\t|"
_SNIFFED_CHARS: Final = 2_000
_NAMED: Final = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
"""First line of a table that names its delimiter to Excel."""


# --- JSON ------------------------------------------------------------------------------------


def parse_json(file: SourceFile, ledger: Ledger | None = None) -> Any:
    """Read a file that is one JSON value; the ledger counts what no case file holds.

    Raises:
        DatasetError: it is not JSON, holds a key twice, or is nested too deeply.
    """
    return _json(file.text, file.name, ledger)


def _json(text: str, name: str, ledger: Ledger | None, line: int = 0) -> Any:
    try:
        with suppress(UnfitJsonError):
            return tidy(json.loads(text, object_pairs_hook=unique), ledger)
        found = survey(text)[1]
    except json.JSONDecodeError as error:
        raise faults_error(
            [json_fault(error, "JSON", file=name, line=line or error.lineno)]
        ) from None
    except RecursionError:
        raise fault(name, "deep", line=line, expected="JSON") from None
    except ValueError:
        raise fault(name, "long_number", line=line, expected="JSON") from None
    raise faults_error(
        replace(one, file=name, line=line) for one in found if one.code == "duplicate_key"
    )


def parse_json_lines(
    file: SourceFile, ledger: Ledger | None = None
) -> list[tuple[int, dict[str, Any]]]:
    """Read a file of one JSON object per line; blank lines are ignored.

    Returns:
        The number of each line, from 1, and its object.

    Raises:
        DatasetError: with every line that is not one.
    """
    found: list[tuple[int, dict[str, Any]]] = []
    faults: list[Fault] = []
    for number, text in enumerate(file.text.split("\n"), 1):
        if not text.strip():
            continue
        try:
            value = _json(text, file.name, ledger, number)
        except DatasetError as error:
            faults += error.faults
            continue
        if isinstance(value, dict):
            found.append((number, value))
        else:
            faults += unfit(file, value, "a JSON object", line=number).faults
    if faults:
        raise faults_error(faults)
    return found


# --- documents -------------------------------------------------------------------------------


def parse_document(file: SourceFile, ledger: Ledger | None = None) -> Any:
    """Read JSON, JSON Lines as a list, or YAML, by the name of the file.

    Raises:
        DatasetError: it cannot be read so.
    """
    name = file.name.lower()
    if name.endswith((".yaml", ".yml")):
        return parse_yaml(file, ledger)
    if not name.endswith((".jsonl", ".ndjson")):
        try:
            return _rows_of_page(parse_json(file, ledger), ledger or Ledger())
        except DatasetError as error:
            # JSON Lines under another name, as libraries for data frames write them.
            extra = error.faults[0].code == "more_json"
            if not extra or not _is_json(file.text.lstrip().partition("\n")[0]):
                raise
    return [value for _, value in parse_json_lines(file, ledger)]


def _rows_of_page(value: Any, ledger: Ledger) -> Any:
    """Return the rows of a page of the Hugging Face datasets server; another value as it is."""
    wrapped = items(value, "rows")
    if not wrapped or not all(part(one, "row") for one in wrapped):
        return value
    rows = []
    for one in wrapped:
        cut = texts(one, "truncated_cells")
        rows.append({name: cell for name, cell in one["row"].items() if name not in cut})
        for name in cut:
            ledger.leave(name, "cut short by the datasets server")
    total = value.get("num_rows_total")
    if isinstance(total, int) and total > len(rows):
        ledger.note(
            f"a page with {len(rows)} of the {total} rows of the dataset; import every page, or "
            "the file that Dataset.to_json writes"
        )
    return rows


# --- tables ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """One row of a table."""

    line: int
    """First line of the row in the file, from 1."""
    cells: Mapping[str, str]
    """Cells by header, without blank ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignTable:
    """A table with its header."""

    headers: tuple[str, ...]
    rows: tuple[TableRow, ...]


def is_table(file: SourceFile) -> bool:
    """Whether a file is a table, by its name."""
    return file.name.lower().endswith((".csv", ".tsv"))


def parse_table(file: SourceFile, *, delimiter: str | None = None) -> ForeignTable:
    """Read a table with a header; cells are separated by commas, semicolons, tabs or bars.

    Raises:
        DatasetError: a missing or duplicate header, a header again, or a row with more cells than
            headers or none of its delimiters.
    """
    previous = csv.field_size_limit(MAX_FIELD_CHARS)  # process-wide, and 131,072 by default
    try:
        header = next((line for line in file.text.splitlines() if line.strip()), "")
        return _table(file, delimiter or found_delimiter(header))
    finally:
        csv.field_size_limit(previous)


def found_delimiter(header: str) -> str:
    """Return the delimiter of a table by its first line, which may name it, such as ``sep=;``."""
    if named := names_delimiter(header):
        return named[1]
    try:
        # Its patterns take time by the square of the length.
        return csv.Sniffer().sniff(header[:_SNIFFED_CHARS], delimiters=_DELIMITERS).delimiter
    except csv.Error:
        # It also fails for headers of different length, such as "id;question".
        return max(_DELIMITERS, key=header.count)


def names_delimiter(line: str) -> re.Match[str] | None:
    """Return the match of a first line that names the delimiter of a table; None: it is a row."""
    return _NAMED.fullmatch(line.rstrip("\r\n"))


def _table(file: SourceFile, delimiter: str) -> ForeignTable:
    lines = io.StringIO(file.text, newline="").readlines()
    headers: list[str] | None = None
    faults: list[Fault] = []
    rows: list[TableRow] = []
    for line, cells in _numbered(file.name, lines, delimiter):
        if not any(cell.strip() for cell in cells):
            continue
        if headers is None:
            if not names_delimiter(lines[line - 1]):
                headers = _headers(file.name, line, cells)
            continue
        joined = _is_json(lines[line - 1])
        if joined or is_header(cells):
            what = "JSON" if joined else "a header again"
            one = fault(file.name, "repeated_header", line=line, what=what)
            if not joined and not is_header(headers):  # other faults would follow from this one
                raise fault(file.name, "late_header", line=line)
        elif len(cells) > len(headers) or len(cells) == 1 < len(headers):
            one = fault(
                file.name,
                "many_cells" if cells[1:] else "one_cell",
                line=line,
                n_cells=len(cells),
                n_headers=len(headers),
                delimiter=repr(delimiter),
            )
        else:
            pairs = zip(headers, cells, strict=False)
            kept = {header: whole_text(cell) for header, cell in pairs if cell.strip()}
            rows.append(TableRow(line=line, cells=kept))
            continue
        faults += one.faults
    if headers is None:
        raise fault(file.name, "empty", expected="a table with a header")
    if faults:
        raise faults_error(faults)
    return ForeignTable(headers=tuple(headers), rows=tuple(rows))


def _numbered(name: str, lines: list[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row with its first line."""
    reader, start = csv.reader(lines, delimiter=delimiter, strict=True), 1
    try:
        for cells in reader:
            yield start, cells
            start = reader.line_num + 1
    except csv.Error as error:
        raise fault(name, "not_table", line=start, reason=str(error)) from None


def _is_json(line: str) -> bool:
    """Return whether a line is an object of a file of JSON lines."""
    try:
        return line.lstrip().startswith("{") and isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _headers(name: str, line: int, cells: list[str]) -> list[str]:
    headers = [cell.strip() or f"column {number}" for number, cell in enumerate(cells, 1)]
    if (twice := first_repeated(headers)) is not None:
        raise fault(name, "listed_twice", line=line, found=f"the header {shown(twice)}")
    return headers


# --- rows of any format ----------------------------------------------------------------------


def rows_of_columns(value: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Transpose one list, or one object by row number, per field to one object per row."""
    columns: dict[str, list[Any]] = {}
    for name, column in value.items():
        if isinstance(column, dict):
            column = list(column.values())
        if not isinstance(column, list):
            return None
        columns[name] = column
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1:
        return None
    return [{name: column[i] for name, column in columns.items()} for i in range(lengths.pop())]
