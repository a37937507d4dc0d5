"""Regular expressions of other people, searched in linear time.

Python's own engine may take exponential time and cannot be interrupted. The engine behind pydantic
(the Rust crate ``regex``) is linear in the text; a bound on counted repetitions keeps the factor
small. It knows neither look-around nor back-references.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

MAX_PATTERN: Final = 500
"""Characters of a pattern."""
MAX_REPEATS: Final = 200
"""Product of the counts of a pattern: ``a{2,10}b{20}`` has 200."""
MAX_TEXT: Final = 20_000
"""Characters of a text that are searched; with the other limits that takes under two seconds."""
_COUNT: Final = re.compile(r"\{\s*(\d{1,9})\s*(?:,\s*(\d{0,9})\s*)?\}")


class PatternError(ValueError):
    """A pattern that is not searched; the message says why, in one line."""


@lru_cache(maxsize=512)
def compile_pattern(pattern: str, *, ignore_case: bool = False) -> Callable[[str], bool]:
    """Return a function that says whether a pattern occurs in a text.

    Raises:
        PatternError: it is too long, repeats too much, or is not in the syntax of the engine.
    """
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    if len(pattern) > MAX_PATTERN:
        raise PatternError(f"{len(pattern):,} characters, expected at most {MAX_PATTERN}")
    repeats = 1
    for low, high in _COUNT.findall(pattern):
        repeats *= max(int(high or low), 1)
    if repeats > MAX_REPEATS:
        raise PatternError(
            f"its counts multiply to {repeats:,}, expected at most {MAX_REPEATS}, so that a search "
            "takes no time"
        )
    try:
        engine = SchemaValidator(
            core_schema.str_schema(pattern=f"(?i){pattern}" if ignore_case else pattern)
        )
    except SchemaError as error:
        # The last line of the engine's message names the fault, those before show the place.
        reason = str(error).strip().splitlines()[-1].strip().removeprefix("error: ")
        raise PatternError(f"not a pattern: {reason}") from None
    return lambda text: engine.isinstance_python(text[:MAX_TEXT])
