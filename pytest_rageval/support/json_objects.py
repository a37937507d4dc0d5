"""JSON objects that stand within other text, such as a reply of a model. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

_MAX_BRACES: Final = 1_000
_MAX_READ: Final = 10_000_000
"""Characters read in vain in search of an object."""
_DECODER: Final = json.JSONDecoder(strict=False)


def json_objects(
    text: str, decoder: json.JSONDecoder = _DECODER
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield start, end and value of the outermost JSON objects in a text, in order.

    The search ends after a thousand braces, or where very much was read in vain. Exceptions of
    the decoder other than ``ValueError`` and ``RecursionError`` pass through.

    >>> list(json_objects('either {"a": 1} or {b}'))
    [(7, 15, {'a': 1})]
    """
    end, left = 0, _MAX_READ
    for _ in range(_MAX_BRACES):
        at = text.find("{", end)
        if at < 0 or left < 0:
            return
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            # Braces that are not closed are read to the end of the text, each anew.
            left -= getattr(error, "pos", len(text)) - at
            end = at + 1
            continue
        yield at, end, found
