"""The body of a section as passages: paragraphs, list items and summaries, plain and raw. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from pytest_rageval.authoring.notes import inline_tokens

if TYPE_CHECKING:
    from markdown_it.token import Token

    from pytest_rageval.authoring.notes import Section

_TEXTUAL: Final = frozenset({"text", "code_inline", "image"})
_BREAKS: Final = frozenset({"softbreak", "hardbreak"})
_SUMMARY: Final = re.compile(r"<summary\b[^>]*>(?P<title>.*?)</summary>(?P<rest>.*)", re.S | re.I)
_MAX_HTML_CHARS: Final = 20_000
_TAG: Final = re.compile(r"<[^<>]*>")
_SENTENCE: Final = re.compile(
    r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bca\.)(?<!\bz\.B\.)(?<!\bNo\.)"
    r"(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\b[A-Z]\.)\s+(?=[\"'“‘(\[*_`]*[A-Z0-9À-ÞА-Я])"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One paragraph of a section."""

    kind: Literal["paragraph", "item", "summary"]
    plain: str
    """Text without markup, with line breaks."""
    raw: str
    """Source text, without the marks of its list or quote."""
    lead: str = ""
    """Leading bold words or summary, without markup."""
    line: int = 0
    """Line in the note, from 1."""


def passages_of(section: Section) -> Iterator[Passage]:
    """Yield the passages of a section, without tables, quotes and code."""
    quotes, items = 0, 0
    tokens = section.body
    for position, token in enumerate(tokens):
        quotes += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        items += (token.type == "list_item_open") - (token.type == "list_item_close")
        line = (token.map[0] if token.map else 0) + section.first_line + 1
        if quotes:
            continue
        if token.type == "html_block":
            yield from _summaries(token.content, line)
        elif token.type == "inline" and tokens[position - 1].type == "paragraph_open":
            children = inline_tokens(token.content)
            yield Passage(
                kind="item" if items else "paragraph",
                plain=plain_text(children),
                raw=token.content,
                lead=_lead(children),
                line=line,
            )


def _summaries(content: str, line: int) -> Iterator[Passage]:
    for found in _SUMMARY.finditer(content[:_MAX_HTML_CHARS]):
        title = " ".join(without_tags(found["title"]).split())
        rest = without_tags(found["rest"]).strip()
        yield Passage(kind="summary", plain=rest, raw=rest, lead=title, line=line)


def without_tags(text: str) -> str:
    """Return HTML as text.

    >>> without_tags("<b>A &amp; B</b>")
    'A & B'
    """
    return html.unescape(_TAG.sub("", text))


def plain_text(children: Sequence[Token]) -> str:
    """Return inline tokens without their markup."""
    parts = []
    for child in children:
        if child.type in _BREAKS:
            parts.append("\n")
        elif child.type in _TEXTUAL:
            parts.append(child.content)
    return "".join(parts)


def _lead(children: Sequence[Token]) -> str:
    """Return the text of the bold words at the beginning."""
    solid = [child for child in children if child.type != "text" or child.content.strip()]
    if not solid or solid[0].type != "strong_open":
        return ""
    end = next((i for i, child in enumerate(solid) if child.type == "strong_close"), 0)
    return " ".join(plain_text(solid[1:end]).split())


def split_sentences(text: str) -> list[str]:
    """Split text at the ends of its sentences.

    >>> split_sentences("It opens at 8.15. Ask Dr. Roe, e.g. by phone. Then go.")
    ['It opens at 8.15.', 'Ask Dr. Roe, e.g. by phone.', 'Then go.']
    """
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]
