"""Conversion of values to those that a case file can hold, with a count of losses."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_rageval.authoring.interchange.values import Ledger


def tidy(value: Any) -> Any:
    """Return a value for JSON: dates become text, NaN and infinities null."""
    if isinstance(value, str):
        return value if value.isascii() else whole(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {whole(_key(key)): tidy(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [tidy(item) for item in value]
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    return whole(str(value))


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    return json.dumps(key) if key is None or isinstance(key, bool | int | float) else str(key)


def whole(text: str) -> str:
    """Return a text with U+FFFD for each lone surrogate."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def tidy_counted(value: Any, ledger: Ledger | None) -> Any:
    """Tidy a value and count the losses."""
    found = tidy(value)
    if ledger is not None and found != value:
        for path, is_number in _losses(value, ""):
            if is_number:
                ledger.leave(path or "value", "NaN or infinite, read as null")
            else:
                ledger.note(
                    f"{path or 'value'}: half of a surrogate pair, written as U+FFFD instead"
                )
    return found


def _losses(value: Any, path: str) -> Iterator[tuple[str, bool]]:
    """Yield the path of each number (true) and text (false) that ``tidy`` cannot keep."""
    if isinstance(value, str):
        if whole(value) != value:
            yield path, False
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield path, True
    elif isinstance(value, Mapping):
        for key, item in value.items():
            name = whole(_key(key))
            inner = f"{path}.{name}" if path else name
            if name != _key(key):
                yield inner, False
            yield from _losses(item, inner)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _losses(item, f"{path}[]")
