"""Marks in a text: where key facts, quotes of golds and citations stand in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from operator import itemgetter
from typing import Final, Literal
from unicodedata import category

from pytest_rageval.metrics.citation_numbers import BRACKETED
from pytest_rageval.metrics.quotes import UNSPACED, Separators
from pytest_rageval.report.html.markup import Element, harmless

Kind = Literal["fact", "gold", "cite"]

_SEPARATORS: Final = Separators({ord("_"): "_"})
_UNSPACED_RUN: Final = re.compile(f"{UNSPACED.pattern}+")
_LETTER, _GAP = (rf"[^\{kind}{UNSPACED.pattern[1:-1]}]" for kind in "Ww")
"""A letter or digit of a script with blanks between words, and a character between words."""
_CITED: Final = re.compile(rf"\[{BRACKETED}\]")
_NUMBER: Final = re.compile("[0-9]+")
_MOST_WORDS: Final = 100
"""Longest phrase that is looked for."""
_MOST_MARKS: Final = 3
"""Of one phrase in one text: more say nothing new, and hide the rest."""


Mark = tuple[int, int, Kind, str, str]
"""One part of a text: its start and end, its kind, the label behind it, and an address within the
page; either of the last two may be empty. A plain tuple, as a page has thousands."""


def phrase_marks(text: str, phrases: Sequence[tuple[str, str]], kind: Kind) -> list[Mark]:
    """Mark the first places where the words of a phrase stand one after the other.

    Case, blanks and punctuation between words do not matter; a part of a word is no match, except
    in scripts without blanks.

    Args:
        text: to look in.
        phrases: phrase and label.
        kind: of the marks.
    """
    if not phrases:
        return []
    # Of ASCII, lower case decides as case that is ignored, and lets ``re`` jump to the first word
    # and look up each character in a table.
    lower = text.isascii()
    searched = text.lower() if lower else text
    return [
        (found.start(), found.end(), kind, label, "")
        for phrase, label in phrases
        if (pattern := _pattern(phrase, lower)) is not None
        for found in islice(_whole(pattern.finditer(searched), phrase, searched), _MOST_MARKS)
    ]


def _whole(found: Iterator[re.Match[str]], phrase: str, text: str) -> Iterator[re.Match[str]]:
    """Leave out words that go on by a vowel sign or accent, which to ``re`` is not a letter."""
    if text.isascii():
        return found
    signs = _count_signs(phrase)
    return (m for m in found if _count_signs(text[m.start() : m.end() + 1]) == signs)


def _count_signs(text: str) -> int:
    # A selector, which makes an emoji of a character, is not one.
    return sum(category(c)[0] == "M" and c != "\ufe0f" for c in text)


@lru_cache(maxsize=256)
def _pattern(phrase: str, lower: bool) -> re.Pattern[str] | None:
    """Return what finds a phrase in lower case, or in any; None: it has no words, or too many."""
    spaced = _UNSPACED_RUN.sub(r" \g<0> ", phrase.translate(_SEPARATORS))
    words = [re.escape(word) for word in (spaced.lower() if lower else spaced).split()]
    if not 0 < len(words) <= _MOST_WORDS:
        return None
    letter, gap, flags = (r"\w", r"\W", re.A) if lower else (_LETTER, _GAP, re.I)
    ends = [word if UNSPACED.match(word[-1]) else rf"{word}(?!{letter})" for word in words]
    if not UNSPACED.match(words[0]):
        ends[0] += rf"(?<!{letter}{words[0]})"
    return re.compile(f"{gap}*+".join(ends), flags)


def citation_marks(text: str, ranks: Collection[int], number: int) -> Iterator[Mark]:
    """Mark every number of ``[1]``, ``[1, 3]`` or ``[1-3]`` that names a cited chunk, with a link.

    The links lead to the chunks of the case with this number on the page.
    """
    for found in _CITED.finditer(text):
        for one in _NUMBER.finditer(text, found.start(), found.end()):
            if int(one[0]) in ranks:
                # The brackets of a lone number belong to its link.
                alone = one.end() - one.start() == found.end() - found.start() - 2
                place = found if alone else one
                yield *place.span(), "cite", "", chunk_link(int(one[0]), number)


def chunk_link(rank: int | str, number: int) -> str:
    """Return the address of a chunk of the case with a number."""
    return f"#{chunk_place(number, rank)}"


def chunk_place(number: int, rank: int | str) -> str:
    """Return the id of a chunk's element: short, as a page has thousands."""
    return f"c{number}.{rank}"


def marked_text(text: str, marks: Sequence[Mark]) -> Element:
    """Return a text with its marks; marks may overlap, and lie within the text."""
    if not marks:
        return Element(harmless(text))
    marks = sorted(marks, key=itemgetter(0))
    parts = _one_by_one(text, marks)
    if parts is not None:
        return Element("".join(parts))
    edges = sorted({0, len(text), *(edge for mark in marks for edge in mark[:2])})
    return Element("".join(part for one in pairwise(edges) for part in _part(text, *one, marks)))


def _one_by_one(text: str, marks: Sequence[Mark]) -> list[str] | None:
    """Return the parts of a text between and in its ordered marks; None: some overlap."""
    parts: list[str] = []
    done = 0
    for start, end, kind, label, link in marks:
        if start < done:
            return None
        before, after = _around(kind, label, link)
        parts += (text[done:start], before, text[start:end], after)
        done = end
    parts.append(text[done:])
    # Every second one is text; where the whole of it needs no escaping, none does.
    if harmless(text) != text:
        parts[::2] = map(harmless, parts[::2])
    return parts


@lru_cache(maxsize=256)
def _around(kind: Kind, label: str, link: str) -> tuple[str, str]:
    """Return the markup before and after a part of a text with one mark."""
    before, after = _marked("" if kind == "cite" else f"m-{kind}", link)
    return before, after + _label(label, kind) if label else after


def _part(text: str, start: int, end: int, marks: Sequence[Mark]) -> Iterator[str]:
    """Yield one part of a text that every mark covers wholly or not at all."""
    around = [mark for mark in marks if mark[0] <= start and end <= mark[1]]
    link = next((link for *_, link in around if link), "")
    kinds = sorted({f"m-{kind}" for _, _, kind, *_ in around if kind != "cite"})
    yield harmless(text[start:end]).join(_marked(" ".join(kinds), link))
    ending = {label: kind for _, last, kind, label, _ in around if last == end and label}
    for label, kind in ending.items():
        yield _label(label, kind)


def _marked(classes: str, link: str) -> tuple[str, str]:
    """Return the markup around a text with a link and its colours; either may be empty."""
    before, after = (f'<a href="{harmless(link)}">', "</a>") if link else ("", "")
    return (f'<mark class="{classes}">{before}', f"{after}</mark>") if classes else (before, after)


def _label(label: str, kind: Kind) -> str:
    return f'<sup class="m-{kind}">{harmless(label)}</sup>'
