"""Values of a reply that may come in several forms, or not as they should."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final, LiteralString, TypeGuard

from pytest_rageval.support.text import whole_text
from pytest_rageval.values.numbers import plain
from pytest_rageval.values.reply import MOST_AMOUNT, USAGE, Search

SANE: Final = 10**15
"""Larger numbers are read by the functions here alone."""
_MOST_PHASES: Final = 100
"""Each becomes a column of figures of the run."""
_MAX_INTEGER_BITS = 1024
"""Longer integers are errors, and fit neither floats nor Python's decimal printing."""
_PAGE_RANGE: Final = re.compile(r"(\d{1,7})(?:\s*[-\u2013]\s*(\d{1,7}))?")
_ONE: Final = r"\d{1,7}(?:\s*[-\u2013]\s*\d{1,7})?"
# Possessive: what could be read anew is kept for each number, 150 bytes for one of a text.
_PAGES: Final = re.compile(rf"\s*{_ONE}(?:\s*,\s*{_ONE})*+\s*")
_MOST_PAGES: Final = 10_000
_MOST_PAGES_OF_A_REPLY: Final = 100_000
_DECIMAL = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*", re.ASCII)


def string_or_none(value: object) -> str | None:
    """Read a string; None for anything else."""
    return whole_text(value) if isinstance(value, str) else None


def number_or_none(value: object) -> float | None:
    """Read a number, or a decimal number in a string; None unless it is finite."""
    value = plain(value)
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, str) and len(value) < 64 and _DECIMAL.fullmatch(value):
        return finite_float(value)
    return finite_float(value) if is_integer(value) else None


def integer_or_none(value: object) -> int | None:
    """Read an integer, also as a float or in a string; None for anything else."""
    value = plain(value)
    if is_integer(value):
        return value
    number = number_or_none(value)
    return int(number) if number is not None and number.is_integer() else None


def vector_or_none(value: object) -> tuple[float, ...] | None:
    """Read a vector; None unless all of its items are finite numbers."""
    if not isinstance(value, list | tuple) or not value:
        return None
    numbers = tuple(number_or_none(entry) for entry in value)
    return None if None in numbers else tuple(float(n) for n in numbers if n is not None)


def read_rank(value: object) -> int | None:
    """Read a rank; None: it is not finite.

    Raises:
        ValueError: it is not an integer.
    """
    if isinstance(value, float) and not isfinite(value):
        return None
    rank = integer_or_none(value)
    if rank is None:
        raise ValueError("expected an integer")
    return rank


def read_identifier(value: object) -> str:
    """Read an integer as an id.

    Raises:
        ValueError: it is something else.
    """
    # Vector stores number their chunks; duplicates are found by id, so 7 and "7" are the same.
    if not is_integer(value := plain(value)):
        raise ValueError("expected a string")
    return str(value)


class PageReader:
    """Reader of the pages of one reply, whose chunks have a bounded number of them together."""

    def __init__(self) -> None:
        self._left = _MOST_PAGES_OF_A_REPLY

    def read(self, value: object, first: int = 1) -> tuple[int, ...] | None:
        """Read pages: a number, numbers in a text such as ``12-14, 20``, or a list of both.

        Args:
            value: as it came; a text of another form, such as ``iv``, counts as absent, and so do
                more pages than a chunk can have, repeated ones included.
            first: number of the first page of a document.

        Returns:
            Distinct page numbers from 1, ascending; None: there are none.

        Raises:
            ValueError: it is something else, or more than all chunks of a reply can have.
        """
        if self._left >= 0:
            found = _page_numbers(value)
            self._left -= len(found)
        if self._left < 0:
            raise _page_fault(f"at most {_MOST_PAGES_OF_A_REPLY} pages in all chunks")
        if any(number < first for number in found):
            hint = "" if first == 0 else "; one that counts from 0 belongs into page_index"
            raise _page_fault(f"page numbers from {first}{hint}")
        return tuple([number + 1 - first for number in sorted(found)]) or None


def _page_numbers(value: object) -> set[int]:
    values: Sequence[object] = value if isinstance(value, list | tuple) else [value]
    found: set[int] = set()
    listed: list[range] = []
    left = _MOST_PAGES  # counts repeated pages, too, or a short text would take minutes
    for one in values:
        if isinstance(one, str):
            ranges = _PAGE_RANGE.finditer(one) if _PAGES.fullmatch(one) else iter(())
            for match in ranges:
                pages = range(int(match[1]), int(match[2] or match[1]) + 1)
                left -= len(pages) or 1
                if left < 0:
                    return set()
                listed.append(pages)
        elif (number := integer_or_none(one)) is not None:
            found.add(number)
        elif one is not None:
            raise _page_fault("a page number")
    return found.union(*listed)


def _page_fault(message: LiteralString) -> ValueError:
    from pydantic_core import PydanticCustomError

    return PydanticCustomError("page", message)


def _is_ascii(value: object) -> bool:
    return type(value) is str and value.isascii()


def read_latency(value: object) -> dict[str, float]:
    """Read durations in ms by phase; more phases than a target can have count as absent."""
    if not isinstance(value, Mapping) or len(value) > _MOST_PHASES:
        return {}
    for phase, ms in value.items():  # nearly always as they should be, so that no copy is made
        if type(ms) is not float or not 0 <= ms <= MOST_AMOUNT or not _is_ascii(phase):
            break
    else:
        return {**value}
    times = {whole_text(str(phase)): number_or_none(ms) for phase, ms in value.items()}
    return {phase: ms for phase, ms in times.items() if ms is not None and 0 <= ms <= MOST_AMOUNT}


def read_coverage(value: object) -> dict[str, Any] | None:
    """Read the indexing coverage."""
    return _plain(value) if isinstance(value, Mapping) else None


def read_models(value: object) -> dict[str, str]:
    """Read the names of models by role."""
    if not isinstance(value, Mapping):
        return {}
    for role, name in value.items():
        if not _is_ascii(role) or not _is_ascii(name):
            break
    else:
        return {**value}
    # A version is often written as a number: `prompt_version: 3`.
    return {
        whole_text(str(role)): whole_text(str(name))
        for role, name in value.items()
        if isinstance(name, str) or is_integer(name) or number_or_none(name) is not None
    }


def read_usage(value: object) -> dict[str, float]:
    """Read the amounts that one answer used."""
    if not isinstance(value, Mapping):
        return {}
    numbers = {name: number_or_none(value.get(name)) for name in USAGE}
    return {n: x for n, x in numbers.items() if x is not None and 0 <= x <= MOST_AMOUNT}


def read_session(value: object) -> str | None:
    """Read the name of a session; None: there is none."""
    return str(value) if is_integer(value) else string_or_none(value)


def read_searches(value: object) -> list[Search] | None:
    """Read the searches of an answer; None: they are not reported."""
    if not isinstance(value, list | tuple):
        return None
    return [
        Search(
            query=string_or_none(one.get("query")),
            tool=string_or_none(one.get("tool")),
            chunks=_found(one.get("chunks")),
        )
        for one in value
        if isinstance(one, Mapping)
    ]


def _found(chunks: object) -> tuple[str, ...] | None:
    """Read the chunks of a search: ids, or chunks with an id or a path."""
    if not isinstance(chunks, list | tuple):
        return None
    names = []
    for chunk in chunks:
        known = isinstance(chunk, Mapping)
        ids = [chunk.get("chunk_id"), chunk.get("rel_path")] if known else [chunk]
        names += [name for one in ids if (name := read_session(one)) is not None][:1]
    return tuple(names)


def _plain(value: object) -> Any:
    """Copy any JSON value with its faults repaired: no NaN, no lone surrogate, string keys."""
    if isinstance(value, Mapping):
        return {whole_text(str(key)): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, bool) or is_integer(value):
        return value
    return number_or_none(value)


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is an integer within the limit and not a boolean."""
    return (
        isinstance(value, int)
        and not isinstance(value, bool)
        and value.bit_length() <= _MAX_INTEGER_BITS
    )


def finite_float(literal: str | int) -> float | None:
    """Return a number as a float; None: it is beyond their range."""
    try:
        number = float(literal)
    except OverflowError:
        return None
    return number if isfinite(number) else None
