r"""Cost of a regular expression of Python, read from its text.

Python's engine may take exponential time and cannot be interrupted, so that a pattern which can
match one text in many ways has to be refused before it is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

MOST_WAYS: Final = 100_000
"""Ways in which a pattern may match one text: two repeats without a limit."""
_NARROW: Final = 20
"""Times that something which matches in several ways may be repeated."""
_TOKEN: Final = re.compile(
    r"(?P<flags>\(\?[aiLmsu]+\))|(?P<look>\(\?<?[=!])|(?P<open>\((?!\?)|\(\?(?:P<\w+>|[:>]|[aimsu-]+:))"
    r"|(?P<close>\))|(?P<or>\|)"
    r"|(?P<repeat>[*+?]|\{(?=[\d,])(?P<low>\d*)(?P<to>,?)(?P<high>\d*)\})[?+]?"
    r"|(?P<zero>\\[AbBZ]|[\^$])|(?P<char>\\[^\w\s]|[^\\.\[()])"
    r"|(?P<set>\[(?:\\[^\w\s]|[^]\\^-])(?:\\[^\w\s]|[^]\\-])*\])"
    r"|(?P<any>\.|\[\^?\]?(?:\\.|[^]\\])*\]|\\[^1-9])",
    re.DOTALL,
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def pattern_cost(pattern: str, window: int) -> tuple[int, str]:
    """Return in how many ways a pattern that compiles may match one text, and how it begins.

    Args:
        pattern: its text.
        window: characters of a text that it is matched with.

    Returns:
        At most the number of ways; any number above ``MOST_WAYS`` for more, and for a pattern with
        a reference to a group or another form that is not read. The characters that a match begins
        with; empty: they are not fixed.
    """
    tokens = list(_TOKEN.finditer(pattern))
    if sum(len(token[0]) for token in tokens) != len(pattern):
        return MOST_WAYS + 1, ""
    ways, starts = _read(iter(tokens), window)
    return ways, "".join(sorted(starts or ""))


def _read(tokens: Iterator[re.Match[str]], window: int) -> tuple[int, set[str] | None]:
    """Read the alternatives of a group to its end: their ways, and what they begin with."""
    total, ways, last = 0, 1, 1
    ends: list[set[str] | None] = []
    starts: set[str] | None = set()  # nothing consumed yet; None: it can be anything
    at_start = False
    for token in tokens:
        kind = token.lastgroup if token["repeat"] is None else "repeat"
        if kind == "close":
            break
        if kind == "or":
            ends.append(starts)
            total, ways, last, starts = total + ways * last, 1, 1, set()
        elif kind == "repeat":
            low, high = _counts(token, window)
            last = _repeated(last, low, high)
            starts = None if at_start and not low else starts
        else:
            ways *= last
            last, found = (
                _read(tokens, window) if kind in {"open", "look"} else (1, _first(token, kind))
            )
            found = set() if kind == "look" else found
            at_start = starts == set() and found != set()
            starts = found if starts == set() else starts
        ways = min(ways, MOST_WAYS + 1)
    ends.append(starts)
    known = set().union(*(one or () for one in ends)) if all(ends) else None
    return min(total + ways * last, MOST_WAYS + 1), known


def _first(token: re.Match[str], kind: str | None) -> set[str] | None:
    """Return the characters that an item stands for; none: it consumes nothing; None: any."""
    if kind not in {"char", "set"}:
        return None if kind == "any" else set()
    text = _ESCAPED.sub(r"\1", token[0] if kind == "char" else token[0][1:-1])
    return {*text, *text.lower(), *text.upper()}


def _counts(token: re.Match[str], window: int) -> tuple[int, int]:
    if (sign := token["repeat"]) in {"*", "+", "?"}:
        return int(sign == "+"), 1 if sign == "?" else window
    low = int(token["low"] or 0)
    high = int(token["high"] or window) if token["to"] else low
    return min(low, window), min(high, window)


def _repeated(ways: int, low: int, high: int) -> int:
    if ways > 1 and high > _NARROW:
        return MOST_WAYS + 1
    total: int = sum(ways**n for n in range(low, high + 1))
    return min(total, MOST_WAYS + 1)
