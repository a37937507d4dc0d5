"""Text for people: untrusted text made safe for a terminal, sentences, counts, names and numbers.

A model's answer, a document or a case file may hold sequences that move the cursor, rename the
window or reverse the reading order; none of them reaches a terminal through here. A figure below
a limit is never shown as reaching it.
"""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import chain, count, repeat
from typing import Final, Literal, TypeVar

from pytest_rageval.values.diagnoses.table import WORDS

_ABBREVIATED: Final = frozenset(
    """
    mr mrs ms dr prof st sr jr gen col lt sgt capt rev hon gov sen rep vs etc approx ca cf al
    inc ltd co corp no nos vol pp fig e.g i.e a.m p.m u.s u.k jan feb mar apr jun jul aug sep
    sept oct nov dec
    """.split()
)
"""Words, besides single letters, after which a full stop does not end a sentence."""
_STOP: Final = re.compile(r"[.!?\n。！？｡؟।]+[\"'”’)\]*_]*")


def sentence_ranges(text: str) -> Iterator[tuple[int, int]]:
    """Yield the half-open ranges of the sentences of a text, which are the whole of it in order."""
    start = 0
    for match in _STOP.finditer(text):
        end = match.end()
        if not _goes_on(text, match.start(), end, start):
            yield start, end
            start = end
    if start < len(text):
        yield start, len(text)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, trimmed, none of them blank."""
    for start, end in sentence_ranges(text):
        if piece := text[start:end].strip():
            yield piece


def _goes_on(text: str, stop: int, end: int, start: int) -> bool:
    """Whether a sentence continues after a full stop: in "3.5", "a.md", "e.g. this"."""
    if text[stop] not in ".!?":
        return False
    if end < len(text) and text[end - 1] != "\n" and not text[end].isspace():
        return True
    if text[stop] != "." or end != stop + 1:
        return False
    before = text[max(start, stop - 11) : stop].rsplit(None, 1)
    word = before[-1].strip("(\"'").lower() if before else ""
    return word in _ABBREVIATED or (len(word) == 1 and word.isalpha())


_T = TypeVar("_T")

QUESTION_MARKS: Final = ("?", "？", "؟")
"""Ends of questions in Latin, East Asian and Arabic scripts."""
ESCAPE_SEQUENCE: Final = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]")
"""CSI sequences such as colours, removed completely so that no ``[31m`` remains."""
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""General categories of invisible characters: controls, bidi marks and zero-width characters, lone
surrogates, private use, unassigned."""
_WORKFLOW_COMMAND: Final = re.compile(
    r"::(?=(?:error|warning|notice|debug|group|endgroup|echo|stop-commands|add-mask|add-path"
    r"|add-matcher|remove-matcher|set-env|set-output|save-state|internal-set-repo-path)"
    r"(?:\s.*?)?::)|##(?=(?:vso|teamcity)?\[)",
    re.IGNORECASE,
)
"""Commands of GitHub Actions, Azure Pipelines and TeamCity; wrapping may start a line with one."""


def clean(text: str, limit: int | None = None) -> str:
    r"""Return text on one line without control, bidi and zero-width characters.

    Commands to the runner of a CI job are broken up.

    Args:
        text: anything a model, a document or a user wrote.
        limit: longest result in characters; a longer text ends in ``...``.

    >>> clean("one\r\ntwo \x1b[31mred\x1b[0m \u202ereversed")
    'one two red reversed'
    >>> clean("a long answer", 8)
    'a lon...'
    """
    # An answer may have megabytes, and one line is shown: hidden characters are so rare that a
    # generous beginning suffices.
    head = text if limit is None else text[: 1024 + 16 * limit]
    spaced = " ".join(ESCAPE_SEQUENCE.sub("", head).split())  # first, as a newline is hidden too
    shown = "".join(c for c in spaced if unicodedata.category(c) not in _HIDDEN)
    visible = " ".join(shown.split())
    if "::" in visible or "##" in visible:
        visible = _WORKFLOW_COMMAND.sub(_broken_up, visible)
    if limit is None or (len(visible) <= limit and len(head) == len(text)):
        return visible
    return f"{visible[: max(limit - 3, 0)]}..."[:limit]


def clean_lines(text: str) -> str:
    r"""Return text as ``clean`` does, but with its line breaks and the blanks within its lines.

    >>> clean_lines("one:\n  | \x1b[31mred\x1b[0m\tx")
    'one:\n  | red x'
    """
    plain = ESCAPE_SEQUENCE.sub("", text).replace("\t", " ")
    shown = "".join(c for c in plain if c == "\n" or unicodedata.category(c) not in _HIDDEN)
    return _WORKFLOW_COMMAND.sub(_broken_up, shown)


def whole_text(text: str) -> str:
    r"""Replace lone surrogates, which JSON can spell (``\ud800``) and UTF-8 cannot hold."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _broken_up(found: re.Match[str]) -> str:
    return " ".join(found[0])


def counted(n: int, noun: str, verbs: tuple[str, str] | None = None) -> str:
    """Count a regular noun, with the verb for one or for several of it.

    >>> counted(1, "case"), counted(2, "case", ("is", "are"))
    ('1 case', '2 cases are')
    """
    text = f"{n} {noun}" if n == 1 else f"{n} {noun}s"
    if verbs is None:
        return text
    one, several = verbs
    return f"{text} {one if n == 1 else several}"


def plural(n: int, one: str, several: str) -> str:
    """Return the word for one, or for several or none."""
    return one if n == 1 else several


def part(text: str, value: object) -> str:
    """Return a part of a sentence with the value that it names; empty without one.

    >>> part("; {:error}", 2), part(" ({})", ["a", "b"]), part(" ({})", [])
    ('; 2 errors', ' (a, b)', '')
    """
    return WORDS.vformat(text, (value,), {}) if value else ""


def first_few(texts: Sequence[str], most: int, joint: str = ", ", last: str = " and ") -> str:
    """List the first texts, and the number of the others.

    >>> first_few("abcde", 2)
    'a, b and 3 more'
    """
    shown, more = joint.join(texts[:most]), len(texts) - most
    return f"{shown}{last}{more} more" if more > 0 else shown


def batches(
    items: Iterable[_T], most: int, most_chars: int, text_of: Callable[[_T], str] = str
) -> Iterator[list[_T]]:
    """Yield items in lists, as long as their number and texts allow; a longer text stands alone."""
    batch: list[_T] = []
    chars = 0
    for item in items:
        length = len(text_of(item))
        if batch and (len(batch) == most or chars + length > most_chars):
            yield batch
            batch, chars = [], 0
        batch.append(item)
        chars += length
    if batch:
        yield batch


def free_name(base: str, taken: Container[str], *, mark: str = "-") -> str:
    """Return a name that is not taken: the base, else with the first free number from 2.

    >>> free_name("a", {"a", "a-2"})
    'a-3'
    """
    numbered = (f"{base}{mark}{number}" for number in count(2))
    return next(name for name in chain([base], numbered) if name not in taken)


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that stands more than once; None if absent."""
    return next((name for name, n in Counter(names).items() if n > 1), None)


SHOWN_CHARS: Final = 60


def cut(text: str, limit: int = SHOWN_CHARS) -> str:
    """Return a text of at most ``limit`` characters; one that was longer ends in ``...``."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def shortened(text: str, limit: int) -> str:
    """Return a text cut to ``limit`` characters, with the number of those left out.

    >>> shortened("abcdef", 4)
    'abcd [2 more characters]'
    """
    left = len(text) - limit
    return text if left <= 0 else f"{text[:limit]} [{left:,} more characters]"


def shown(value: object) -> str:
    """Show an untrusted value in a message as its ``repr``: short and on one line."""
    return cut(repr(value))


def shown_json(value: object) -> str:
    """Write a value as in JSON, on one line, harmless to a terminal and not long."""
    text = json.dumps(value, ensure_ascii=False)
    return cut("".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text[:200]))


_COMPARED_CHARS: Final = 500
"""The search for a similar name is quadratic in its length."""


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the known name most similar to an unknown one; None: none is similar.

    Args:
        name: of any length; its beginning decides.
        known: the names to choose from.
        cutoff: minimum similarity, from 0 to 1.
    """
    return _nearest(name[:_COMPARED_CHARS], tuple(known), cutoff)


@lru_cache(maxsize=256)  # a file with one wrong name has it in every line
def _nearest(name: str, known: tuple[str, ...], cutoff: float) -> str | None:
    import difflib

    folded = {one.casefold(): one for one in known}
    near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=cutoff)
    return folded[near[0]] if near else None


def did_you_mean(
    name: object, known: Iterable[str], *, before: str = ", ", cutoff: float = 0.6
) -> str:
    """Ask whether the most similar known name was meant; empty if none is similar.

    >>> did_you_mean("recal", ["recall", "mrr"])
    ", did you mean 'recall'?"
    """
    near = nearest(name, known, cutoff=cutoff) if isinstance(name, str) else None
    return "" if near is None else f"{before}did you mean {near!r}?"


Unit = Literal["score", "ms", "usd", "count"]

TOLERANCE: Final = 1e-9
"""Differences of scores up to this are float noise."""

_MAX_DECIMALS: Final = 12


def _decimals(value: float, unit: Unit) -> int:
    if unit == "usd":
        return 4 if 0 < abs(value) < 1 else 2
    if unit == "ms":
        return 1 if 0 < abs(value) < 10 else 0
    if unit == "count":
        return 0
    return 3 if abs(value) < 1000 else 0


def _text(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def format_value(value: float | None, unit: Unit = "score") -> str:
    """Return a number for display, without its unit; ``-`` for no value.

    A score that is not whole never looks whole: 0.9996 is not shown as 1.000.

    >>> format_value(0.8333333), format_value(0.9996), format_value(2600.4, "ms")
    ('0.833', '0.9996', '2600')
    """
    if value is None:
        return "-"
    decimals = _decimals(value, unit)
    if unit == "score" and abs(value) < 1000 and abs(value - round(value)) > TOLERANCE:
        while float(_text(value, decimals)) == round(value) and decimals < _MAX_DECIMALS:
            decimals += 1
    return _text(value, decimals)


def _decimals_of(limit: float) -> int:
    exponent = Decimal(repr(float(limit))).normalize().as_tuple().exponent
    return min(max(0, -exponent), 9) if isinstance(exponent, int) else 0


def format_limit_pair(value: float, limit: float, unit: Unit = "score") -> tuple[str, str]:
    """Return a value and its limit with enough decimals to distinguish them.

    >>> format_limit_pair(0.7, 0.75), format_limit_pair(0.8496, 0.85)
    (('0.700', '0.750'), ('0.8496', '0.8500'))
    """
    decimals = max(_decimals(value, unit), _decimals(limit, unit), _decimals_of(limit))
    apart = abs(value - limit) > TOLERANCE
    while apart and _text(value, decimals) == _text(limit, decimals) and decimals < _MAX_DECIMALS:
        decimals += 1
    return _text(value, decimals), _text(limit, decimals)


def is_steerable(number: int) -> bool:
    """Return whether a file is a terminal that understands cursor movements."""
    return (
        os.isatty(number)
        and os.environ.get("TERM", "dumb") != "dumb"
        and os.environ.get("CI", "").lower() in {"", "0", "false"}
        and sys.platform != "win32"  # its consoles have to be switched to it, and back
    )


def log_pauses() -> Iterator[float]:
    """Yield the seconds before each line of a log: often at first, and then rarer."""
    yield from (10, 20, 30, 60, 120)
    # Services that run jobs take ten minutes of silence for a hung job.
    yield from repeat(240)
