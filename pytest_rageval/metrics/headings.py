"""Headings as a reader sees them: without the Markdown with which they are written. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_MARKUP: Final = re.compile(
    r"[*`\\]|(?<![^\W_])_|_(?![^\W_])|\]\(|\]\[|\[\^|&#?\w+;|<[A-Za-z/!?]|\}$"
)
"""Part of any text that is not all text."""
_ATTRIBUTES: Final = re.compile(r"(?: |^)\{:? ?(?=[#.]|-\}|[\w-]+=)[^{}]*\}$")
"""Block at the end of a heading, such as ``{#id .class}``, of Pandoc, kramdown and others."""
_FOOTNOTE: Final = re.compile(r"(?<=\S)\[\^[^\]\s]+\]|(?:^| )\[\^\d{1,3}\]")
_REFERENCE: Final = re.compile(r"(?<!\w)\[([^\[\]]+)\]\[([^\[\]]*)\]")
_TAG: Final = re.compile(r"<(?P<end>/?)(?P<name>[\w-]*)(?P<rest>.*)>$")
_PLAIN: Final = str.maketrans(
    dict.fromkeys("‘’‚‛‹›", "'") | dict.fromkeys("“”„‟«»", '"') | dict.fromkeys("‐‑‒–—―−", "-")
)


def heading_text(text: str) -> str:
    """Return a heading as a reader sees it, so that it equals the same heading printed as text.

    It is the text of CommonMark's inline rules, of links by reference too: emphasis, code, links
    and images become their text, escapes and entities what they stand for. Tags of HTML go, unless
    they are neither closed nor have attributes, as in ``Vec<T>`` and ``the <br> tag``. A closing
    block of attributes and footnote marks go; typographic quotes and dashes become plain. What code
    or escapes leave is read again, as its printed form would be.

    Args:
        text: on one line, without the ``#`` of its level. One of more than 1,000 characters is
            read as plain text.

    >>> heading_text("See [the **return** policy](return.md) {#returns}")
    'See the return policy'
    >>> heading_text("What’s new in `my_func`[^2]")
    "What's new in my_func"
    """
    if len(text) <= 1_000:
        for _ in range(5):
            if not _MARKUP.search(text) or (read := _read(text)) in {text, ""}:
                break
            text = read
    return text if text.isascii() else text.translate(_PLAIN)


def _read(text: str) -> str:
    from markdown_it.common.utils import normalizeReference

    text = _ATTRIBUTES.sub("", text)
    # Where a link by reference leads to stands elsewhere in the document.
    labels = [label or title for title, label in _REFERENCE.findall(text)]
    references = {normalizeReference(label): {"href": "#", "title": ""} for label in labels}
    [paragraph] = _parser().parseInline(text, {"references": references})
    tokens = paragraph.children or []
    tags = [_TAG.match(token.content) for token in tokens if token.type == "html_inline"]
    closed = {tag["name"] for tag in tags if tag and tag["end"]}
    return _FOOTNOTE.sub("", "".join(_texts(tokens, closed))).strip()


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # slow, and few headings need it

    return MarkdownIt("commonmark")


def _texts(tokens: Sequence[Token], closed: Container[str]) -> Iterator[str]:
    for token in tokens:
        tag = _TAG.match(token.content) if token.type == "html_inline" else None
        if token.type == "image":
            yield from _texts(token.children or (), closed)
        elif tag is None or not (tag["rest"].strip(" /") or tag["name"] in closed):
            yield token.content
