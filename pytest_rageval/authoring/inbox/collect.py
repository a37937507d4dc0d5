"""A log in, the lines of an inbox file out: cases with the responses that were given.

Rows are in memory one at a time. Personal data and keys are masked in every text that is written:
telephone numbers are found by phonenumbers, Google's library; the others by their forms, and IBANs
and numbers of cards by their check digits too.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, cast

from pytest_rageval.authoring.inbox.messages import Piece, Sampled, Stratum, Tally, without_courtesy
from pytest_rageval.authoring.inbox.readers import READERS, Columns
from pytest_rageval.authoring.inbox.traces import Traces
from pytest_rageval.authoring.interchange.ids import UniqueIds
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


_KEY: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abeprs]-[\w-]{10,}|\bAIza[\w-]{30,}|\bhf_[A-Za-z0-9]{20,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|\bdapi[0-9a-f]{32}|\bya29\.[\w-]{20,}"
    r"|\bnpm_[A-Za-z0-9]{20,}|\bSG\.[\w-]{10,}\.[\w-]{10,}|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"
    r"|(?i:(?:(?<=\bbearer )|(?<=\bbasic ))[\w.~+/-]{12,}=*)"
)
_NAMED: Final = re.compile(
    r"((?:(?:api|access|account|private|auth|encryption|secret)[-_ ]?key|secret|token"
    r"|passw(?:or[dt])?|kennwort|pwd|passphrase|mot de passe|contraseña|senha|wachtwoord)[\"']?"
    r"(?:\s*[:=]\s*[\"']?|\s+(?:is|ist|est|es|è)\s+[\"']?(?=\S*\d)))[^\s\"'&,;\[]{4,}",
    re.IGNORECASE,
)
"""A value after a name that says that it is secret."""
_EMAIL: Final = re.compile(
    r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}(?:@|%40|\s?[\[(]at[\])]\s?)[\w-]+(?:\.[\w-]+)+"
)
_IBAN: Final = re.compile(
    r"\b[A-Za-z]{2}\d{2}(?:[\s-]?[A-Za-z0-9]{4}){2,7}(?:[\s-]?[A-Za-z0-9]{1,4})?\b"
)
_CARD: Final = re.compile(r"(?<![\d.,-])\d(?:[\s.-]?\d){12,18}(?![\d.,-]?\d)")
_GAP: Final = re.compile(r"[\s.-]")
_NUMBER_BEFORE: Final = re.compile(r"(?<!\d)(?<!\d )(\d{1,4}) (?=[0+(])")
_REGIONS: Final = ("US", "GB", "DE", "FR", "ES", "IT", "NL", "CH", "AT", "IN", "BR")
"""Regions that a number without a country code may be from."""


def _is_iban(text: str) -> bool:
    """Return whether the check digits are right (ISO 7064, mod 97-10)."""
    plain = _GAP.sub("", text).upper()
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(one, 36)) for one in plain[4:] + plain[:4])) % 97 == 1


def _is_card(text: str) -> bool:
    """Return whether the check digit is right (Luhn)."""
    digits = [int(one) for one in text if one.isdecimal()][::-1]
    doubled = (sum(divmod(2 * one, 10)) for one in digits[1::2])
    valid = (sum(digits[::2]) + sum(doubled)) % 10 == 0
    return valid and len(digits) >= 13 and len(set(digits)) > 1


_FORMS: Final[tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...]] = (
    ("key", _KEY, bool),
    ("email", _EMAIL, bool),
    ("iban", _IBAN, _is_iban),
    ("card", _CARD, _is_card),
)


class Masker:
    """Masks texts and counts what it masked by kind.

    Raises:
        ConfigError: the library that finds telephone numbers is missing.
    """

    def __init__(self) -> None:
        try:
            import phonenumbers
        except ImportError as error:
            raise ConfigError.of("--mask", "needs_extra", extra="logs", reason=error) from error
        self._phones = phonenumbers
        self.counts: Counter[str] = Counter()
        """Number of replacements: ``key``, ``email``, ``iban``, ``card``, ``phone``."""

    def text(self, text: str) -> str:
        """Return a text with ``[email]`` and so on in place of what is personal."""
        text, n = _NAMED.subn(r"\1[key]", text)
        self.counts["key"] += n
        for kind, pattern, fits in _FORMS:
            text = pattern.sub(partial(self._mask, kind=kind, fits=fits), text)
        return self._without_phones(text)

    def value(self, value: Any) -> Any:
        """Return a JSON value with every text in it masked, those of keys excepted."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self.value(one) for key, one in value.items()}
        return [self.value(one) for one in value] if isinstance(value, list | tuple) else value

    def _mask(self, found: re.Match[str], *, kind: str, fits: Callable[[str], bool]) -> str:
        """Replace the longest part that fits: words and numbers may stand before and after it."""
        text = found[0]
        edges = [0, *(one.end() for one in _GAP.finditer(text))]
        ends = [n for n in range(len(text), 0, -1) if text[n - 1].isalnum()]
        if fits is bool:
            edges, ends = [0], [len(text)]
        parts = ((start, end) for start in edges for end in ends if fits(text[start:end]))
        start, end = next(parts, (0, 0))
        if not end:
            return text
        self.counts[kind] += 1
        return f"{text[:start]}[{kind}]{text[end:]}"

    def _without_phones(self, text: str) -> str:
        if sum(map(str.isdecimal, text)) < 7:
            return text
        for region in (None, *_REGIONS):
            # Another number before it would be read as its beginning.
            for seen in (text, _NUMBER_BEFORE.sub(r"\1;", text)):
                matcher = self._phones.PhoneNumberMatcher(seen, region)
                found = [(one.start, one.end) for one in matcher]
                for start, end in reversed(found):
                    text = f"{text[:start]}[phone]{text[end:]}"
                self.counts["phone"] += len(found)
                if found:
                    break
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """Lines of an inbox file."""

    lines: tuple[dict[str, Any], ...]
    """Lines of a case file with ``response``, and so of recorded responses."""
    tally: Tally
    masked: Mapping[str, int] | None
    """Number of masked texts by kind; None: nothing was to be masked."""


def collect(
    files: Sequence[Path],
    log: str,
    *,
    sample: int | None = None,
    by: Sequence[Stratum] = ("random",),
    mask: bool = False,
    columns: Columns | None = None,
) -> Collected:
    """Read logs, fold near-equal questions into families, and sample these.

    Args:
        files: of one system.
        log: a key of `READERS`.
        sample: families to take; None: all.
        by: groups to sample from.
        mask: whether to mask personal data and keys in everything that is returned.
        columns: of plain rows, by field.

    Raises:
        DatasetError: a file cannot be read, or has no request with a question.
        ConfigError: a library that is needed is missing.
    """
    masker = Masker() if mask else None
    traces = Traces()
    try:
        traces.add(_pieces(files, log, columns or {}, traces.tally))
        ids = UniqueIds()
        lines = tuple(_line(one, ids, masker) for one in traces.sample(sample, by))
    finally:
        traces.close()
    if not traces.tally.requests:
        raise fault(files[0].as_posix(), "no_requests", n_rows=traces.tally.rows, log=log)
    masked = None if masker is None else dict(+masker.counts)
    return Collected(lines=lines, tally=traces.tally, masked=masked)


def _pieces(files: Sequence[Path], log: str, columns: Columns, tally: Tally) -> Iterator[Piece]:
    form = READERS[log]
    for path in files:
        for number, row in iterate_rows(path, form.lists):
            tally.rows += 1
            try:
                pieces = [*form.read(row, columns)]
            except RecursionError:
                raise fault(path.as_posix(), "deep", line=number, expected="a row") from None
            own = f"{path.name}:{number}"
            yield from (one if one.trace or one.span else replace(one, trace=own) for one in pieces)


def _line(one: Sampled, ids: UniqueIds, masker: Masker | None) -> dict[str, Any]:
    """Return a family as a line of a case file, with what was answered under ``response``."""
    request = one.request
    metadata: dict[str, Any] = {
        "trace": request.trace,
        "at": request.at,
        "weight": round(one.weight, 6),
        "family": {"size": one.size, "share": round(one.share, 6)},
        "by": one.stratum,
        "feedback": request.feedback,
        "history": [dict(message) for message in request.history],
    }
    response: dict[str, Any] = {"answer": request.answer}
    if request.abstained is not None:
        response["abstained"] = request.abstained
    if request.references:
        response["references"] = list(request.references)
    if request.chunks is not None:
        response["debug"] = {"retrieved_chunks": list(request.chunks)}
    question, history = request.question, metadata["history"]
    if masker is not None:
        question, response = masker.text(question), masker.value(response)
        metadata["history"] = masker.value(history)
        metadata["trace"], metadata["at"] = map(masker.text, (request.trace, request.at))
    return {
        "id": ids.take(None, without_courtesy(question)),
        "question": question,
        "tags": ["inbox"],
        "metadata": {
            name: value for name, value in metadata.items() if value not in (None, "", [])
        },
        "response": response,
    }
