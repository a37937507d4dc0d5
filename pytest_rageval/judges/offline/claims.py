"""Claims of an answer: sentences and list items, without markup and citations.

Text is split where sentences end, not at abbreviations, initials or decimal points. Citations
(``[1]``, ``[File: a.md, Section: B]``) leave the claim and stay with it as its sources; a sentence
that holds nothing but citations gives them to the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from pytest_rageval.metrics.non_claims import may_be_answered_by_yes, yes_or_no
from pytest_rageval.metrics.prepared import (
    CITATION,
    EVERYTHING,
    STATED,
    PreparedAnswer,
    cited_numbers,
)
from pytest_rageval.support.text import QUESTION_MARKS, sentences

LIMIT: Final = 20_000
"""Characters of an answer that are read; longer ones are judged by their beginning."""
_KEPT_CHARS: Final = 50_000
"""Longest answer that is kept with its parts."""

_WORD: Final = re.compile(r"\w")
_HEADING: Final = re.compile(r"[ \t]*#{1,6}[ \t]")
_LATE: Final = re.compile(rf"(?:(?:{CITATION.pattern.replace('?P<numbers>', '?:')})\s*)+", re.I)
_WRAPPED: Final = re.compile(
    r"^(?![ \t]*[#|])(.{20,}[^\s.!?:;|。！？])[ \t]*\n"
    r"(?=[ \t]*[a-zß-öø-ÿа-яα-ω]|(?<=[^\n]{50}\n)(?![ \t]*\d{1,3}[.)]\s)[ \t]*[^\W_])",
    re.MULTILINE,
)
"""Line of prose that was broken for its width: the next one goes on with a small letter, or with a
word after a long line."""
_CODE: Final = re.compile(r"```[^\n]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_MARKUP: Final = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+|[-*+•][ \t]+|\d{1,3}[.)][ \t]+|>[ \t]?|\|)+", re.MULTILINE
)
_RULE: Final = re.compile(r"^[ \t:|+=-]{3,}+$", re.MULTILINE)
_LOOSE_STOP: Final = re.compile(r" ([.,;:!?])(?=\s|$)")
_TABLE_HEAD: Final = re.compile(
    r"^[ \t]*\|[^\n]*\n(?=[ \t]*\|[ \t:|-]{3,}\|?[ \t]*$)", re.MULTILINE
)
_LINK: Final = re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\s]{1,500}\)")
_EMPHASIS: Final = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")
_POINTING: Final = frozenset(
    """
    see also cf compare refer consult check read please for more further additional details
    information reference references source sources document documents passage passages section
    sections page pages and or to in at the from as well
    siehe vgl auch und oder quelle quellen dokument abschnitt seite mehr dazu unter in
    voir aussi et ou dans le la les source plus de détails
    """.split()
)
"""Words of a sentence that only says where to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawClaim:
    """One statement as written."""

    text: str
    """Without markup and citations, blanks joined."""
    cited: bool = False
    numbers: tuple[int, ...] = ()
    """Of ``[n]`` citations."""
    written: str = ""
    """As written, with its citations, of which those after its full stop are part."""


_FOOTNOTE: Final = re.compile(r"^[ ]{0,3}\[\^[^\]\s]{1,60}\]:.*$", re.MULTILINE)
"""Definition of a footnote, which names a source."""


def split_claims(answer: str, question: str = "") -> list[RawClaim]:
    """Return the statements of an answer in order, without headings and courtesies.

    Courtesies count where there is nothing else. A bare yes or no that answers a question for one
    of them states what was asked. Citations of a closing list of sources belong to the last claim
    of an answer that has no others.
    """
    prepared = _prepared(answer)
    claims = _claims(prepared.text(STATED))
    if not claims:
        claims = [_asked(claim, question) for claim in _claims(prepared.text(EVERYTHING))]
    if claims and not prepared.cites_in_prose:
        claims[-1] = _with_citations(claims[-1], prepared.text({"sources"}))
    return claims


def stated_text(answer: str) -> str:
    """Return an answer without thoughts, courtesies and a closing list of sources."""
    return _prepared(answer).text(STATED)


def answer_text(answer: str) -> str:
    """Return what an answer says, as of ``plain_text``: no thoughts, greetings, list of sources."""
    return plain_text(_prepared(answer).text(EVERYTHING - {"thought", "greeting", "sources"}))


def _prepared(answer: str) -> PreparedAnswer:
    return _prepared_once(answer) if len(answer) <= _KEPT_CHARS else PreparedAnswer(answer)


_prepared_once = lru_cache(maxsize=64)(PreparedAnswer)  # several readers read each answer


def _with_citations(claim: RawClaim, listed: str) -> RawClaim:
    found = list(CITATION.finditer(listed))
    if not found:
        return claim
    numbers = tuple(n for m in found for n in cited_numbers(m["numbers"] or ""))
    written = " ".join([claim.written, *(m[0] for m in found)])
    return replace(claim, cited=True, numbers=claim.numbers + numbers, written=written)


def _asked(claim: RawClaim, question: str) -> RawClaim:
    """Return a bare yes or no as the statement that it makes."""
    says = yes_or_no(claim.text) if may_be_answered_by_yes(question) else None
    asked = " ".join(question.split()).rstrip("?？؟ ")
    return claim if says is None else replace(claim, text=f"{'not ' * (says == 'no')}{asked}")


def _claims(text: str) -> list[RawClaim]:
    text = unix_lines(text[:LIMIT])
    text = _TABLE_HEAD.sub("", _CODE.sub(r"\n\1\n", text))
    text = _LINK.sub(r"\1", _RULE.sub("", _FOOTNOTE.sub("", text)))
    claims: list[RawClaim] = []
    for sentence, heading, late in _lines(unwrapped(text)):
        found = list(CITATION.finditer(sentence)) if _may_cite(sentence) else []
        cited = bool(found)
        plain = CITATION.sub(" ", sentence) if cited else sentence
        plain = _LOOSE_STOP.sub(r"\1", " ".join(_EMPHASIS.sub("", plain).split()).strip(" |"))
        if not _WORD.search(plain) or _names_sources(plain, cited=cited):
            if claims:
                claims[-1] = _with_citations(claims[-1], sentence)
            continue
        if late and claims:
            claims[-1] = replace(claims[-1], written=f"{claims[-1].written} {late}")
        if not heading:
            numbers = tuple(n for m in found for n in cited_numbers(m["numbers"] or ""))
            claims.append(
                RawClaim(text=plain, cited=cited, numbers=numbers, written=sentence[len(late) :])
            )
    return claims


def _may_cite(text: str) -> bool:
    """Whether a text holds a character that every citation has; much faster than the pattern."""
    return "[" in text or "(" in text or ":" in text


def _names_sources(plain: str, *, cited: bool) -> bool:
    """Whether a sentence without its citations states nothing but where to read: ``See [1].``."""
    words = re.findall(r"\w+", plain.lower()) if len(plain) <= 80 else []
    return set(words) in ({"source"}, {"sources"}, {"reference"}, {"references"}) or (
        cited and bool(words) and _POINTING.issuperset(words)
    )


def is_aside(text: str) -> bool:
    """Whether a sentence is a question."""
    return text.endswith(QUESTION_MARKS)


def _lines(text: str) -> Iterator[tuple[str, bool, str]]:
    """Yield each sentence, whether it is a heading, and its first citations if they come late.

    In ``One. [1] Two. [2]`` they belong to the sentence before, in ``[1] One. [2] Two.`` they do
    not.
    """
    for line in text.split("\n"):
        heading = "#" in line and bool(_HEADING.match(line))
        plain = _MARKUP.sub("", line)
        leading = not _may_cite(plain) or CITATION.match(plain.lstrip()) is not None
        for at, sentence in enumerate(sentences(plain)):
            first = None if leading or not at else _LATE.match(sentence)
            yield sentence, heading, first[0] if first else ""


def unix_lines(text: str) -> str:
    """Return a text with the line ends of Windows as those that the patterns know."""
    return text.replace("\r\n", "\n")


def unwrapped(text: str) -> str:
    """Join lines of prose that were broken for their width."""
    return _WRAPPED.sub(r"\1 ", text)


def plain_text(text: str, limit: int = LIMIT) -> str:
    """Return the beginning of a text without citations and markup; line breaks are kept."""
    text = _RULE.sub("", _CODE.sub(r"\n\1\n", unix_lines(text[:limit])))
    return _EMPHASIS.sub("", _MARKUP.sub("", CITATION.sub(" ", _LINK.sub(r"\1", text))))
