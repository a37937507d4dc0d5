"""Marks in a text: where key facts, quotes of golds and citations stand in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from operator import itemgetter
from typing import Final, Literal, NamedTuple

from pytest_rageval.metrics.citation_numbers import BRACKETED
from pytest_rageval.report.html.markup import Element, harmless

Kind = Literal["fact", "gold", "cite"]

_WORD: Final = re.compile(r"\w+")
_CITED: Final = re.compile(rf"\[{BRACKETED}\]")
_NUMBER: Final = re.compile("[0-9]+")
_MOST_WORDS: Final = 100
"""Longest phrase that is looked for."""
_MOST_MARKS: Final = 3
"""Of one phrase in one text: more say nothing new, and hide the rest."""


class Mark(NamedTuple):
    """One part of a text, from ``start`` up to ``end``."""

    start: int
    end: int
    kind: Kind
    label: str = ""
    """Shown behind the part; empty: nothing is."""
    link: str = ""
    """Address within the page; empty: none."""


def phrase_marks(text: str, phrases: Sequence[tuple[str, str]], kind: Kind) -> list[Mark]:
    """Mark the first places where the words of a phrase stand one after the other.

    Case, blanks and punctuation between words do not matter; a part of a word is no match.

    Args:
        text: to look in.
        phrases: phrase and label.
        kind: of the marks.
    """
    if not phrases:
        return []
    # Of ASCII, lower case decides as case that is ignored, and lets ``re`` jump to the first word.
    searched, flags = (text.lower(), re.NOFLAG) if text.isascii() else (text, re.IGNORECASE)
    return [
        Mark._make((*found.span(), kind, label, ""))  # a third of the cost of a call
        for phrase, label in phrases
        if (pattern := _pattern(phrase if flags else phrase.lower(), flags)) is not None
        for found in islice(pattern.finditer(searched), _MOST_MARKS)
    ]


@lru_cache(maxsize=256)
def _pattern(phrase: str, flags: re.RegexFlag) -> re.Pattern[str] | None:
    words = [re.escape(word) for word in _WORD.findall(phrase)]
    if not 0 < len(words) <= _MOST_WORDS:
        return None
    words[0] += rf"(?<!\w{words[0]})"
    return re.compile(r"\W+".join(words) + r"(?!\w)", flags)


def citation_marks(text: str, ranks: Collection[int], number: int) -> Iterator[Mark]:
    """Mark every number of ``[1]``, ``[1, 3]`` or ``[1-3]`` that names a cited chunk, with a link.

    Args:
        text: of the answer.
        ranks: of the chunks that the answer cites.
        number: of the case on the page.
    """
    for found in _CITED.finditer(text):
        for one in _NUMBER.finditer(text, found.start(), found.end()):
            if int(one[0]) in ranks:
                # The brackets of a lone number belong to its link.
                alone = one.end() - one.start() == found.end() - found.start() - 2
                place = found if alone else one
                link = chunk_link(int(one[0]), number)
                yield Mark(*place.span(), "cite", link=link)


def chunk_link(rank: int, number: int) -> str:
    """Return the address of a chunk of the case with a number."""
    return f"#{chunk_place(number, rank)}"


def chunk_place(number: int, rank: int) -> str:
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
    edges = sorted({0, len(text), *(m.start for m in marks), *(m.end for m in marks)})
    return Element("".join(part for one in pairwise(edges) for part in _part(text, *one, marks)))


def _one_by_one(text: str, marks: Sequence[Mark]) -> list[str] | None:
    """Return the parts of a text between and in its ordered marks; None: some overlap."""
    parts: list[str] = []
    done = 0
    for start, end, kind, label, link in marks:
        if start < done:
            return None
        inner = harmless(text[start:end])
        marked = _marked(inner, "" if kind == "cite" else f"m-{kind}", link)
        parts += (harmless(text[done:start]), marked, _label(label, kind) if label else "")
        done = end
    parts.append(harmless(text[done:]))
    return parts


def _part(text: str, start: int, end: int, marks: Sequence[Mark]) -> Iterator[str]:
    """Yield one part of a text that every mark covers wholly or not at all."""
    around = [mark for mark in marks if mark.start <= start and end <= mark.end]
    link = next((mark.link for mark in around if mark.link), "")
    kinds = sorted({f"m-{mark.kind}" for mark in around if mark.kind != "cite"})
    yield _marked(harmless(text[start:end]), " ".join(kinds), link)
    ending = {mark.label: mark for mark in around if mark.end == end and mark.label}
    for label, mark in ending.items():
        yield _label(label, mark.kind)


def _marked(inner: str, classes: str, link: str) -> str:
    """Return harmless text with a link and the colours of its kinds; either may be empty."""
    if link:
        inner = f'<a href="{harmless(link)}">{inner}</a>'
    return f'<mark class="{classes}">{inner}</mark>' if classes else inner


def _label(label: str, kind: Kind) -> str:
    return f'<sup class="m-{kind}">{harmless(label)}</sup>'
