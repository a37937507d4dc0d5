"""Claims of an answer: sentences and list items, without markup and citations.

Text is split where sentences end, not at abbreviations, initials or decimal points. Citations
(``[1]``, ``[File: a.md, Section: B]``) leave the claim and stay with it as its sources; a sentence
that holds nothing but citations gives them to the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pytest_rageval.metrics.citation_numbers import BRACKETED, cited_numbers
from pytest_rageval.support.text import QUESTION_MARKS
from pytest_rageval.values.dataclass import dataclass, replace

LIMIT: Final = 20_000
"""Characters of an answer that are read; longer ones are judged by their beginning."""

_CITATION: Final = re.compile(
    rf"\[(?P<numbers>{BRACKETED})\]"
    r"|\[\s*File\s*:[^\[\]\n]{1,600}\]|\(\s*File\s*:[^()\n]{1,600}\)"
    r"|\[[^\[\]\n]{1,300}?,\s*Section\s*:[^\[\]\n]{1,600}\]"
    r"|\((?:Source|Sources|Reference)s?\s*:[^()\n]{1,300}\)"
    r"|(?<!\w)File[ \t]*:[^\n,;:()\[\]]{0,200}[./]\w[^\n,;:()\[\]]{0,20},[ \t]*Section[ \t]*:"
    r"[^\n,;.()\[\]]{1,200}",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"\w")
_HEADING: Final = re.compile(r"[ \t]*#{1,6}[ \t]")
_LATE: Final = re.compile(rf"(?:(?:{_CITATION.pattern.replace('?P<numbers>', '?:')})\s*)+", re.I)
_ABBREVIATED: Final = frozenset(
    """
    mr mrs ms dr prof st sr jr gen col lt sgt capt rev hon gov sen rep vs etc approx ca cf al
    inc ltd co corp no nos vol pp fig e.g i.e a.m p.m u.s u.k jan feb mar apr jun jul aug sep
    sept oct nov dec
    """.split()
)
"""Words, besides single letters, after which a full stop does not end a sentence."""
_STOP: Final = re.compile(r"[.!?\n。！？｡؟।]+[\"'”’)\]*_]*")
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
_FILLER: Final = re.compile(
    r"\s*(?:(?:I )?hope (?:this|that) helps|let me know if|(?:please )?feel free to|if you have any"
    r" (?:other|more|further)?\s*questions|is there anything else|(?:would|do) you (?:like"
    r"|want) (?:me )?to|(?:you(?:'re| are) )welcome\b[^.]{0,40}$|I(?:'d| would|'ll| will| am"
    r"|'m) (?:be )?(?:happy|glad|here) to|here(?:'s| is| are) (?:what|the|a|an|some)\b[^.]{0,80}:$"
    r"|(?:sure|certainly|of course|great question|good question|absolutely|no problem)\b[^.]{0,40}$"
    r"|(?:in (?:summary|conclusion)|overall|to summari[sz]e),?$|you asked\b|thank(?:s| you)\b"
    r"|it is (?:important|worth|useful|helpful) to (?:note|remember|mention|keep in mind) that"
    r" (?:this|there|these|every|each|the)\b[^.]{0,60}(?:topic|question|subject|matter"
    r"|aspects|factors|information)\b)",
    re.IGNORECASE,
)


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


def split_claims(answer: str) -> list[RawClaim]:
    """Return the statements of an answer in order, without questions, headings and courtesies."""
    text = unix_lines(answer[:LIMIT])
    text = _TABLE_HEAD.sub("", _CODE.sub(r"\n\1\n", text))
    text = _LINK.sub(r"\1", _RULE.sub("", _FOOTNOTE.sub("", text)))
    claims: list[RawClaim] = []
    for sentence, heading, late in _lines(unwrapped(text)):
        found = list(_CITATION.finditer(sentence)) if _may_cite(sentence) else []
        numbers = tuple([n for m in found for n in cited_numbers(m["numbers"] or "")])
        cited = bool(found)
        plain = _CITATION.sub(" ", sentence) if cited else sentence
        plain = _LOOSE_STOP.sub(r"\1", " ".join(_EMPHASIS.sub("", plain).split()).strip(" |"))
        if not _WORD.search(plain) or _names_sources(plain, cited=cited):
            if cited and claims:
                last = claims[-1]
                written = f"{last.written} {sentence}"
                claims[-1] = replace(
                    last, cited=True, numbers=last.numbers + numbers, written=written
                )
            continue
        if late and claims:
            claims[-1] = replace(claims[-1], written=f"{claims[-1].written} {late}")
        if not heading:
            own = sentence.removeprefix(late)
            claims.append(RawClaim(text=plain, cited=cited, numbers=numbers, written=own))
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


def is_aside(sentence: str) -> bool:
    """Whether a sentence makes no statement: a question, a courtesy, an announcement."""
    return sentence.endswith(QUESTION_MARKS) or bool(_FILLER.match(sentence))


def _lines(text: str) -> Iterator[tuple[str, bool, str]]:
    """Yield each sentence, whether it is a heading, and its first citations if they come late.

    In ``One. [1] Two. [2]`` they belong to the sentence before, in ``[1] One. [2] Two.`` they do
    not.
    """
    for line in text.split("\n"):
        heading = "#" in line and bool(_HEADING.match(line))
        plain = _MARKUP.sub("", line)
        leading = not _may_cite(plain) or _CITATION.match(plain.lstrip()) is not None
        for at, sentence in enumerate(sentences(plain)):
            first = None if leading or not at else _LATE.match(sentence)
            yield sentence, heading, first[0] if first else ""


def unix_lines(text: str) -> str:
    """Return a text with the line ends of Windows as those that the patterns know."""
    return text.replace("\r\n", "\n")


def unwrapped(text: str) -> str:
    """Join lines of prose that were broken for their width."""
    return _WRAPPED.sub(r"\1 ", text)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, trimmed, none of them blank."""
    start = 0
    for match in _STOP.finditer(text):
        end = match.end()
        if _goes_on(text, match.start(), end, start):
            continue
        if piece := text[start:end].strip():
            yield piece
        start = end
    if piece := text[start:].strip():
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


def plain_text(text: str, limit: int = LIMIT) -> str:
    """Return the beginning of a text without citations and markup; line breaks are kept."""
    text = _RULE.sub("", _CODE.sub(r"\n\1\n", unix_lines(text[:limit])))
    return _EMPHASIS.sub("", _MARKUP.sub("", _CITATION.sub(" ", _LINK.sub(r"\1", text))))
