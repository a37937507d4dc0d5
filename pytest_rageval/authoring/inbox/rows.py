"""Rows of log files, one in memory at a time: JSON Lines, JSON documents and tables."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final, cast

from pytest_rageval.authoring.interchange.parsing import (
    MAX_FIELD_CHARS,
    found_delimiter,
    names_delimiter,
)
from pytest_rageval.authoring.interchange.values import fault
from pytest_rageval.support.json_text import json_fault
from pytest_rageval.support.jsonl import cannot_be_read, iterate_lines, open_lines
from pytest_rageval.support.reading import not_utf8
from pytest_rageval.values.errors import ConfigError, Fault, faults_error

WHOLE_BYTES: Final = 64 << 20
"""Largest JSON document, or line, that is read at once."""
_MOST_FAULTS: Final = 20


def iterate_rows(path: Path, lists: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a log file with the numbers of their lines, or of the objects.

    Args:
        path: JSON Lines, one JSON document, or a table named ``.csv`` or ``.tsv``; with ``.gz``
            after its name compressed.
        lists: keys below which a document that is an object has its rows, from the outside in;
            the deepest that are found in a large document are yielded.

    Raises:
        DatasetError: the file cannot be read, or with the first faults of its lines.
        ConfigError: a library that a large document needs is missing.
    """
    name, is_packed = path.as_posix(), path.suffix.casefold() == ".gz"
    suffix = Path(path.stem if is_packed else path).suffix.casefold()
    with open_lines(path, name) as given:
        # A file that gzip reads has what the readers ask of a binary one.
        file: IO[bytes] = cast("IO[bytes]", gzip.GzipFile(fileobj=given)) if is_packed else given
        try:
            if suffix in {".csv", ".tsv"}:
                yield from _table(file, name)
            elif _is_document(file, suffix):
                yield from _document(file, name, lists)
            else:
                yield from _lines(file, name)
        except (OSError, EOFError, zlib.error) as error:
            raise cannot_be_read(name, OSError(str(error))) from error


def _is_document(file: IO[bytes], suffix: str) -> bool:
    """Whether a file is one JSON value, and not one on each line whatever its name says."""
    if suffix in {".jsonl", ".ndjson"}:
        return False
    first, more = file.readline(WHOLE_BYTES), file.read(1)
    file.seek(0)
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return True
    return not more


def _lines(file: IO[bytes], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    faults: list[Fault] = []
    for line in iterate_lines(file, name, faults):
        try:
            value = json.loads(line.text)
        except json.JSONDecodeError as error:
            faults.append(json_fault(error, "a JSON object", file=name, line=line.number))
        except (ValueError, RecursionError):
            faults += fault(name, "deep", line=line.number, expected="a JSON object").faults
        else:
            if isinstance(value, dict):
                yield line.number, value
                continue
            found, wanted = type(value).__name__, "a JSON object"
            faults += fault(name, "type", line=line.number, found=found, expected=wanted).faults
        if len(faults) >= _MOST_FAULTS:
            break
    if faults:
        raise faults_error(faults)


def _document(
    file: IO[bytes], name: str, lists: Sequence[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    data = file.read(WHOLE_BYTES)
    if file.read(1):
        file.seek(0)
        yield from _large_document(file, name, lists)
        return
    try:
        value = json.loads(data)
    except UnicodeDecodeError as error:
        raise faults_error([not_utf8(error, file=name)]) from None
    except json.JSONDecodeError as error:
        raise faults_error([json_fault(error, "JSON", file=name, line=error.lineno)]) from None
    except (ValueError, RecursionError):
        raise fault(name, "deep", expected="JSON") from None
    for number, row in enumerate(_rows(value, lists), 1):
        if not isinstance(row, dict):
            found = type(row).__name__
            raise fault(name, "type", field=f"[{number - 1}]", found=found, expected="an object")
        yield number, row


def _rows(value: Any, lists: Sequence[str]) -> list[Any]:
    if isinstance(value, list):
        return value
    inner = value.get(lists[0]) if lists and isinstance(value, dict) else None
    # An object of another key, such as one trace, is a row itself.
    return inner if isinstance(inner, list) and len(lists) == 1 else [value]


def _large_document(
    file: IO[bytes], name: str, lists: Sequence[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        import ijson
    except ImportError as error:
        raise ConfigError.of(name, "needs_extra", extra="logs", reason=error) from error
    first = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    file.seek(0)
    prefix = "item" if first == b"[" else ".".join(f"{key}.item" for key in lists)
    try:
        for number, row in enumerate(ijson.items(file, prefix, use_float=True), 1):
            if isinstance(row, dict):
                yield number, row
    except (ijson.JSONError, UnicodeDecodeError) as error:
        raise fault(name, "not_json", reason=str(error).split("\n")[0], expected="JSON") from None


def _table(file: IO[bytes], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    header = file.readline(MAX_FIELD_CHARS).decode("utf-8-sig", "replace")
    delimiter = found_delimiter(header.rstrip("\r\n"))
    before = 1 if names_delimiter(header) else 0
    if not before:
        file.seek(0)
    previous = csv.field_size_limit(MAX_FIELD_CHARS)
    lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    try:
        reader = csv.DictReader(lines, delimiter=delimiter, strict=True)
        for row in reader:
            if None in row or None in row.values():
                raise fault(
                    name,
                    "many_cells",
                    line=reader.line_num + before,
                    n_cells=len(row),
                    n_headers=len(reader.fieldnames or ()),
                    delimiter=repr(delimiter),
                )
            yield reader.line_num + before, row
    except UnicodeDecodeError as error:
        raise faults_error([not_utf8(error, file=name)]) from None
    except csv.Error as error:
        raise fault(name, "not_table", line=reader.line_num + before, reason=str(error)) from None
    finally:
        csv.field_size_limit(previous)
        lines.detach()
