"""Marks in a text: where key facts, quotes of golds and citations stand in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import Final, Literal

from pytest_rageval.metrics.prepared import BRACKETED
from pytest_rageval.metrics.quotes import UNSPACED, Separators
from pytest_rageval.report.html.markup import Element, harmless
from pytest_rageval.report.view.asked import Piece

Kind = Literal["fact", "gold", "cite", "ins"]

# A selector, which makes an emoji of a character, is not a part of a word.
_SEPARATORS: Final = Separators({ord("_"): "_", 0xFE0F: " "})
_WORD: Final = re.compile(rf"{UNSPACED.pattern}|[^\s{UNSPACED.pattern[1:-1]}]+")
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
    marks: list[Mark] = []
    folded = text.casefold() if phrases else ""
    for phrase, label in phrases:
        wanted, longest_first, many = _wanted(phrase)
        # Most texts lack a word of the phrase: to see that takes a tenth of the time of cutting
        # them into words.
        if not 0 < many <= _MOST_WORDS or not all(word in folded for word in longest_first):
            continue
        (words, places), at = _words(text), 0
        for _ in range(_MOST_MARKS):
            at = words.find(wanted, at)
            if at < 0:
                break
            first = words.count(" ", 0, at)
            marks.append((places[first][0], places[first + many - 1][1], kind, label, ""))
            at += len(wanted) - 1
    return marks


@lru_cache(maxsize=256)
def _wanted(phrase: str) -> tuple[str, list[str], int]:
    """Return the words of a phrase, in its order and each once by its length, and their number."""
    words, places = _words(phrase)
    return words, sorted(set(words.split()), key=len, reverse=True), len(places)


@lru_cache(maxsize=256)
def _words(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the words of a text, folded, with a blank around each, and their places in it."""
    apart = text.translate(_SEPARATORS)
    places = [found.span() for found in _WORD.finditer(apart)]
    return f" {' '.join([apart[start:end] for start, end in places])} ".casefold(), places


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


def changed_marks(pieces: Sequence[Piece]) -> Iterator[Mark]:
    """Mark the parts of a text that changed."""
    at = 0
    for changed, text in pieces:
        if changed:
            yield at, at + len(text), "ins", "", ""
        at += len(text)


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
    if kind == "ins":
        return "<ins>", "</ins>"
    before, after = _marked("" if kind == "cite" else f"m-{kind}", link)
    return before, after + _label(label, kind) if label else after


def _part(text: str, start: int, end: int, marks: Sequence[Mark]) -> Iterator[str]:
    """Yield one part of a text that every mark covers wholly or not at all."""
    around = [mark for mark in marks if mark[0] <= start and end <= mark[1]]
    link = next((link for *_, link in around if link), "")
    kinds = {kind for _, _, kind, *_ in around}
    classes = " ".join(f"m-{kind}" for kind in sorted(kinds) if kind in {"fact", "gold"})
    before, after = _marked(classes, link)
    if "ins" in kinds:
        before, after = f"<ins>{before}", f"{after}</ins>"
    yield harmless(text[start:end]).join((before, after))
    ending = {label: kind for _, last, kind, label, _ in around if last == end and label}
    for label, kind in ending.items():
        yield _label(label, kind)


def _marked(classes: str, link: str) -> tuple[str, str]:
    """Return the markup around a text with a link and its colours; either may be empty."""
    before, after = (f'<a href="{harmless(link)}">', "</a>") if link else ("", "")
    return (f'<mark class="{classes}">{before}', f"{after}</mark>") if classes else (before, after)


def _label(label: str, kind: Kind) -> str:
    return f'<sup class="m-{kind}">{harmless(label)}</sup>'
