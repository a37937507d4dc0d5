r"""Regular expressions of case files and imports, searched in linear time.

Python's own engine may take exponential time and cannot be interrupted. The engine behind pydantic
(the Rust crate ``regex``) is linear in the text and limits the size of a pattern. It cannot be
interrupted either, and the slowest pattern takes 1 ms a character, so that a longer text is tried
by its beginning first. It knows neither look-around nor back-references.

Others were tried: ``google-re2`` takes ``\b`` and ``\w`` for ASCII, so that ``\bÖl\b`` finds
nothing. ``regex`` with its timeout takes gigabytes, or ends the process, at patterns such as
``(?:(?:((?:\b(?(1)a|b)){2,9})){60000})+``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from pytest_rageval.values.errors import RagEvalError

MAX_PATTERN: Final = 500
"""Characters of a pattern."""
MAX_TEXT: Final = 20_000
"""Characters of a text that are searched."""
_MAX_S: Final = 1.0
"""Processor time that the beginning of a text may take."""
_BEGINNING: Final = 500
"""Characters of the first beginning; the next ones have twice as many."""


class PatternError(RagEvalError):
    """A pattern that is not searched."""


@lru_cache(maxsize=512)
def compile_pattern(pattern: str, *, ignore_case: bool = False) -> Callable[[str], bool]:
    """Return a function that says whether a pattern occurs in a text.

    It raises PatternError where that would take more than about two seconds.

    Raises:
        PatternError: it is too long, or is not in the syntax of the engine.
    """
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    if len(pattern) > MAX_PATTERN:
        raise PatternError.of("", "pattern_long", n=len(pattern), least=MAX_PATTERN)
    try:
        engine = SchemaValidator(
            core_schema.str_schema(pattern=f"(?i){pattern}" if ignore_case else pattern)
        )
    except SchemaError as error:
        # The last line of the engine's message names the fault, those before show the place.
        last = str(error).strip().splitlines()[-1].strip().removeprefix("error: ")
        reason = last.removeprefix("SchemaError: ")
        raise PatternError.of("", "pattern", reason=reason) from None

    def search(text: str) -> bool:
        text, n, started = text[:MAX_TEXT], _BEGINNING, time.thread_time()
        while n < len(text):
            engine.isinstance_python(text[:n])
            if time.thread_time() - started > _MAX_S:
                raise PatternError.of("", "pattern_slow", limit=f"{_MAX_S:g}", n=n)
            n *= 2
        return engine.isinstance_python(text)

    return search
