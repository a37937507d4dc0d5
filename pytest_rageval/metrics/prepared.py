"""A delivered answer, prepared once for all that read it, and the numbers that it cites by.

Citations, claims, abstention, rules and key facts read the parts that concern them
(docs/matching.md#parts-of-an-answer); what was delivered stays in the record. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Final, Literal, NamedTuple, get_args

from pytest_rageval.metrics.non_claims import Known, closing_sources, courtesy, opening, yes_or_no
from pytest_rageval.support.text import sentence_ranges
from pytest_rageval.support.thoughts import thought_spans

_DASH: Final = r"[-\u2010-\u2014]"
_STEP: Final = rf"\s?(?:[,;]\s?(?:and|or|&)|[,;&]|and|or|{_DASH})\s?"
_NUMBER: Final = re.compile(rf"(?:({_DASH})[^\d,;&]*)?([0-9]+)")
BRACKETED: Final = rf"\s*[0-9]{{1,3}}(?:\s*(?:[,;]|{_DASH})\s*[0-9]{{1,3}})*\s*"
"""Pattern of the numbers within ``[1]``, ``[1, 3]`` or ``[1-3]``, which are always read."""


def numbers_pattern(name: str) -> str:
    """Return the pattern of at most ten numbers as the group ``n``.

    Args:
        name: pattern of what stands before the first number and may stand before any other.
    """
    return rf"(?P<n>{name}\d{{1,3}}(?:{_STEP}(?:{name})?\d{{1,3}}){{0,9}})"


def cited_numbers(written: str, first: int = 1) -> tuple[int, ...]:
    """Return the numbers of a list in order, those within a range too.

    Args:
        written: the list.
        first: number of the first passage.

    Returns:
        Empty unless every range is one of passages: it rises from a passage, by at most 20.

    >>> cited_numbers("1, 3-5")
    (1, 3, 4, 5)
    >>> cited_numbers("0-9"), cited_numbers("9-1"), cited_numbers("100-150")
    ((), (), ())
    """
    found: list[int] = []
    for dash, digits in _NUMBER.findall(written):
        number = int(digits)
        if not dash:
            found.append(number)
        elif found and first <= found[-1] < number <= found[-1] + 20:
            found += range(found[-1] + 1, number + 1)
        else:
            return ()
    return tuple(found)


Kind = Literal["thought", "greeting", "lead_in", "farewell", "sources", "marker", "prose"]
EVERYTHING: Final[frozenset[Kind]] = frozenset(get_args(Kind))
STATED: Final[frozenset[Kind]] = frozenset({"prose", "marker"})
"""Rest of an answer without thoughts, courtesies and a closing list of sources."""
CITATION: Final = re.compile(
    rf"\[(?P<numbers>{BRACKETED})\]"
    r"|\[\s*File\s*:[^\[\]\n]{1,600}\]|\(\s*File\s*:[^()\n]{1,600}\)"
    r"|\[[^\[\]\n]{1,300}?,\s*Section\s*:[^\[\]\n]{1,600}\]"
    r"|\((?:Source|Sources|Reference)s?\s*:[^()\n]{1,300}\)"
    r"|(?<!\w)File[ \t]*:[^\n,;:()\[\]]{0,200}[./]\w[^\n,;:()\[\]]{0,20},[ \t]*Section[ \t]*:"
    r"[^\n,;.()\[\]]{1,200}",
    re.IGNORECASE,
)
"""A citation in the package's own form, as it leaves a claim."""
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)


class Span(NamedTuple):
    """One part of an answer."""

    kind: Kind
    start: int
    end: int
    read: str | None = None
    """Text that is read in its place: a citation in the package's own form; None: as delivered."""


class PreparedAnswer:
    """An answer with its parts.

    Args:
        answer: as delivered.
        markers: citations in forms of other systems, in order and apart from each other, with
            ``read``.
        known: chunks and references of the response, which a closing list of sources may name.
    """

    def __init__(self, answer: str, markers: Iterable[Span] = (), *, known: Known = ()) -> None:
        self.delivered: Final = answer
        self._known: Final = known
        self._thoughts: Sequence[Span] = [Span("thought", *one) for one in thought_spans(answer)]
        self._cuts = merged(self._thoughts, markers)

    def with_markers(self, markers: Iterable[Span]) -> PreparedAnswer:
        """Return the same answer with other markers, its thoughts not searched again."""
        found = copy(self)
        kept = ("delivered", "_known", "_thoughts")
        found.__dict__ = {name: self.__dict__[name] for name in kept}
        found._cuts = merged(self._thoughts, markers)
        return found

    @cached_property
    def visible(self) -> str:
        """The answer as a user reads it: without thoughts."""
        return _joined(self.delivered, self._thoughts)

    @cached_property
    def read(self) -> str:
        """The same with every citation in the package's own form."""
        return _joined(self.delivered, self._cuts)

    @cached_property
    def sources(self) -> tuple[int, int] | None:
        """The range of the closing list of sources in the answer as delivered; None: no list."""
        return closing_sources(self._blanked, self._known)

    @cached_property
    def _blanked(self) -> str:
        """The answer with line ends in place of thoughts, each other character in its place."""
        blank = [one._replace(read="\n" * (one.end - one.start)) for one in self._thoughts]
        return _joined(self.delivered, blank)

    @cached_property
    def cites_in_prose(self) -> bool:
        """Whether a citation stands anywhere but in the closing list of sources."""
        start, end = self.sources or (len(self.delivered),) * 2
        places = [one.start for one in self._cuts if one.kind == "marker"]
        places += [one.start() for one in _citations(without_code(self._blanked))]
        return any(not start <= at < end for at in places)

    @cached_property
    def cited(self) -> str:
        """Text in which citations are looked for.

        The entries of a closing list of sources count only where nothing else cites: with citations
        in the text, one that no sentence names adds none.
        """
        if self.sources is None or not self.cites_in_prose:
            return self.read
        return self.text(EVERYTHING - {"sources"})

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """All parts in order; together they are the delivered answer, each character once."""
        cuts = list(self._cuts)
        if self.sources is not None:
            start, end = self.sources
            inside = [
                one._replace(start=one.start - start, end=one.end - start)
                for one in cuts
                if start <= one.start and one.end <= end
            ]
            listed = Span("sources", start, end, _joined(self.delivered[start:end], inside))
            cuts = [*(one for one in cuts if one.end <= start), listed]
            cuts += [one for one in self._cuts if one.start >= end]
        cuts = merged(cuts, self._courtesies())
        own = (Span("marker", *one.span()) for one in _citations(self._blanked))
        cuts = merged(cuts, own)
        return tuple(_filled(cuts, len(self.delivered)))

    def text(self, kinds: Collection[Kind]) -> str:
        """Return the parts of some kinds as they are read; the others leave white space."""
        found = [
            one if one.kind in kinds else one._replace(read=self._space(one)) for one in self.spans
        ]
        return _joined(self.delivered, found)

    def _space(self, one: Span) -> str:
        if one.kind == "thought":
            return ""
        return "\n" if "\n" in self.delivered[one.start : one.end] else " "

    def _courtesies(self) -> Iterator[Span]:
        text, begins = self._blanked, True
        for start, end in sentence_ranges(text):
            sentence = text[start:end]
            if not sentence.strip():
                continue
            kind = courtesy(sentence)
            # "- Yes" within a list is an answer, and so may be "Hello!".
            if kind is not None and (begins or (kind != "greeting" and not yes_or_no(sentence))):
                yield Span(kind, start, end)
                continue
            if begins and (length := opening(sentence)):
                yield Span("lead_in", start, start + length)
            begins = False


def without_code(text: str) -> str:
    """Return a text with blanks in place of code, each other character in its place."""
    return _CODE.sub(lambda code: " " * len(code[0]), text) if "`" in text else text


def _citations(text: str) -> Iterator[re.Match[str]]:
    """Return the citations of a text in the package's own form."""
    # Every citation has one of these characters, which are found much faster.
    may_cite = "[" in text or "(" in text or ":" in text
    return CITATION.finditer(text) if may_cite else iter(())


def merged(first: Sequence[Span], others: Iterable[Span]) -> list[Span]:
    """Return spans in order with those of others that overlap none of them."""
    kept: list[Span] = []
    at = 0
    for one in others:
        while at < len(first) and first[at].end <= one.start:
            kept.append(first[at])
            at += 1
        if at == len(first) or one.end <= first[at].start:
            kept.append(one)
    return [*kept, *first[at:]]


def _filled(cuts: Iterable[Span], length: int) -> Iterator[Span]:
    done = 0
    for one in cuts:
        if done < one.start:
            yield Span("prose", done, one.start)
        yield one
        done = one.end
    if done < length:
        yield Span("prose", done, length)


def _joined(text: str, cuts: Iterable[Span]) -> str:
    """Return a text with spans as they are read; thoughts leave nothing."""
    pieces, done = [], 0
    for one in cuts:
        own = one.read
        if own is None:
            own = "" if one.kind == "thought" else text[one.start : one.end]
        pieces += [text[done : one.start], own]
        done = one.end
    return "".join([*pieces, text[done:]])
