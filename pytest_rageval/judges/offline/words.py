"""Text to words: tokens, stems, numbers in one form.

A word's key is its stem (Snowball English, after a table of irregular forms), a number's key its
value however it is written: ``1,000`` and ``1000``, ``two`` and ``2``, ``II`` and ``2``; ``3rd``
and ``third`` are ``#3``. Scripts without spaces are taken character by character.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from pytest_rageval.judges.offline.lexicon import (
    ABSOLUTES,
    CORE_WORDS,
    EXCLUSIVE,
    IRREGULAR,
    LIGHT_WORDS,
    NEGATIONS,
    NUMBER_WORDS,
    ROMAN,
    SCALES,
    SELF_TALK,
    SOFT_WORDS,
)

CORE: Final = 0
SOFT: Final = 1
LIGHT: Final = 2
FULL: Final = 3

_NUMBER: Final = r"\d+(?:[,'’\u00a0\u202f]\d{3})*(?:\.\d+)?(?:(?:st|nd|rd|th|s)(?![^\W\d_]))?"
_ASCII: Final = re.compile(rf"[A-Za-z][A-Za-z']*|{_NUMBER}|%")
_SPACED: Final = re.compile(rf"[^\W\d_](?:[^\W\d_]|['’])*|{_NUMBER}|%")
_BLOCKS: Final = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff"
_SPACELESS: Final = re.compile(f"[{_BLOCKS}]")
_MIXED: Final = re.compile(
    rf"[{_BLOCKS}]|[^\W\d_{_BLOCKS}]+(?:['’][^\W\d_{_BLOCKS}]+)*|{_NUMBER}|%"
)
_ISO_DATE: Final = re.compile(
    r"\b(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])(?!\d)"
)
_MONTHS: Final = (
    "January February March April May June July August September October November December"
).split()
_LONGEST: Final = 64


class Word(NamedTuple):
    """Meaning of a token, independent of context."""

    form: str
    """Lower case, without accents."""
    key: str
    """Comparison key: stem, or value of a number."""
    tier: int
    """``CORE``, ``SOFT``, ``LIGHT`` or ``FULL``: weight of a match."""
    number: bool = False
    negates: bool = False
    absolute: bool = False
    """Claims without exception: only, always, never."""
    self_talk: bool = False
    """The answer speaks of itself: I, my."""
    capital: bool = False


def read_words(text: str) -> list[Word]:
    """Return the words of a text in order; a number and its scale (``3 million``) are one."""
    if "-" in text:
        text = _ISO_DATE.sub(_spell_date, text)
    if text.isascii():
        pattern = _ASCII
    else:
        pattern = _MIXED if _SPACELESS.search(text) else _SPACED
    words = list(map(read_word, pattern.findall(text)))
    # Three searches of the text are faster than a check of every word.
    scaled = "illion" in text or "undred" in text or "housand" in text
    return list(_join_scales(words)) if scaled else words


def _spell_date(match: re.Match[str]) -> str:
    return f"{match['day']} {_MONTHS[int(match['month']) - 1]} {match['year']}"


def _join_scales(words: Iterable[Word]) -> Iterator[Word]:
    held: Word | None = None
    for word in words:
        factor = SCALES.get(word.key)
        if held is not None and factor is not None and len(held.key) <= 12:
            if not held.key.startswith("#"):
                key = f"{float(held.key) * factor:.0f}"
                held = Word(key, key, FULL, number=True)
                continue
        if held is not None:
            yield held
        held = word if word.number else None
        if not word.number:
            yield word
    if held is not None:
        yield held


@lru_cache(maxsize=1 << 16)
def read_word(token: str) -> Word:
    """Return the meaning of one token as written."""
    if len(token) == 1 and unicodedata.category(token) == "No":
        # Decomposed, a half would be the digits 1 and 2.
        return _number(f"{unicodedata.numeric(token):g}")
    form = _plain(token[:_LONGEST])
    if form[:1].isdigit():
        return _number(form)
    if token in ROMAN:  # in capitals only: "vi" is an editor
        return Word(form, ROMAN[token], FULL, number=True)
    base = form.removesuffix("'s")
    if base in NUMBER_WORDS:
        return Word(form, NUMBER_WORDS[base], FULL, number=True)
    stem = _stem(base)
    contracted = form.endswith("n't")
    return Word(
        form,
        "percent" if form == "%" else stem,
        _tier(base, stem, contracted=contracted),
        negates=contracted or form in NEGATIONS or stem in _negations(),
        absolute=form in ABSOLUTES,
        self_talk=form in SELF_TALK,
        capital=token[0].isupper(),
    )


def _plain(token: str) -> str:
    text = token.casefold().replace("’", "'").rstrip("'")
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def _number(form: str) -> Word:
    ordinal = form.endswith(("st", "nd", "rd", "th"))
    value = re.sub(r"[^\d.]", "", form)
    if not value.isascii():
        value = "".join(c if c == "." else str(int(c)) for c in value)
    if "." in value:
        value = value.rstrip("0").rstrip(".")
    value = value.lstrip("0") or "0"
    value = "0" + value if value.startswith(".") else value
    if ordinal and value in {"1", "2"}:
        return Word(form, "first" if value == "1" else "second", LIGHT)
    return Word(form, f"#{value}" if ordinal else value, FULL, number=True)


def _tier(base: str, stem: str, *, contracted: bool) -> int:
    if base in CORE_WORDS or contracted or ("'" in base and base.split("'")[0] in CORE_WORDS):
        return CORE
    if base in SOFT_WORDS:
        return SOFT
    return LIGHT if stem in _light() else FULL


class _Stemmers(threading.local):
    """One stemmer per thread, because a stemmer is stateful."""

    def __init__(self) -> None:
        import snowballstemmer

        self.english: Any = snowballstemmer.stemmer("english")


@cache
def _stemmers() -> _Stemmers:
    return _Stemmers()


def _stem(word: str) -> str:
    word = IRREGULAR.get(word, word)
    return str(_stemmers().english.stemWord(word)) if word.isascii() else word


@cache
def _light() -> frozenset[str]:
    return frozenset(_stem(word) for word in LIGHT_WORDS)


@cache
def _negations() -> frozenset[str]:
    return frozenset(_stem(word) for word in NEGATIONS)


@cache
def rivals() -> dict[str, frozenset[str]]:
    """Return, for each key of an exclusive group, the keys that contradict it."""
    found: dict[str, set[str]] = {}
    for line in EXCLUSIVE:
        keys = {read_word(word).key for word in line.split()}
        for key in keys:
            found.setdefault(key, set()).update(keys - {key})
    return {key: frozenset(others) for key, others in found.items()}
