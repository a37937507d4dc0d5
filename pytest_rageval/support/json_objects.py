"""JSON objects that stand within other text, such as a reply of a model. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

_MAX_READ: Final = 10_000_000
"""Characters read in vain in search of an object."""
_START: Final = re.compile(r"\{(?=[ \t\r\n]*[\"}])")
_DECODER: Final = json.JSONDecoder(strict=False)


def json_objects(
    text: str, decoder: json.JSONDecoder = _DECODER
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield start, end and value of the outermost JSON objects in a text, in order.

    The search ends where very much was read in vain. Exceptions of the decoder other than
    ``ValueError`` and ``RecursionError`` pass through.

    >>> list(json_objects('either {"a": 1} or {b}'))
    [(7, 15, {'a': 1})]
    """
    end, left = 0, _MAX_READ
    while (start := _START.search(text, end)) and left > 0:
        at = start.start()
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            # Braces that are not closed are read to the end of the text, each anew; the error
            # counts the lines up to its place, at about thirty times the speed.
            place = getattr(error, "pos", len(text))
            left -= place - at + place // 30 + 50
            end = at + 1
            continue
        yield at, end, found
