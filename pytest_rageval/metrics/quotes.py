"""Search for quotations in the texts of chunks, whatever their layout and markup.

A quotation is compared as written (``norm_text``), then word by word: without Markdown and HTML,
punctuation, list marks and hyphens at line ends. Pure functions on the standard library.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from html import unescape
from typing import Final

from pytest_rageval.metrics.matching import INVISIBLE, fold, norm_text

_LINK: Final = re.compile(
    r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]"  # [[page|name]]
    r"|!?\[([^\[\]]*)\](?:\((?:[^()\n]|\([^()\n]*\))*\)|\[[^\[\]]*\])"  # [name](url), [name][id]
    r"|\[\^[^\[\]\s]*\]"  # [^1]
)
_TAG: Final = re.compile(
    r"<!--(?:(?!<!--).)*?-->|</?(?![A-Za-z][\w+.-]*:)[A-Za-z][^<>]*>", re.DOTALL
)
_NUMBERED: Final = re.compile(r"^[ \t>*+-]*\d{1,9}[.)][ \t]+", re.MULTILINE)
_EMPHASIS: Final = str.maketrans("", "", "*`~\\")
_HYPHEN: Final = re.compile(r"(?<=[^\W\d_])[-\xad\u2010\u2011](?:[ \t]*\r?\n[ \t>]*)?(?=[^\W\d_])")
UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""A character of Thai, Lao, Burmese, Khmer, Chinese or Japanese, without blanks between words."""


class Separators(dict[int, str]):
    """Table for ``str.translate``: letters, marks and digits stay, the rest becomes a blank."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        found = character if unicodedata.category(character)[0] in "LMN" else " "
        self[code] = found
        return found


SEPARATORS: Final = Separators()

_as_written: Final = lru_cache(maxsize=2048)(norm_text)


@lru_cache(maxsize=2048)
def words_of(text: str) -> str:
    r"""Return the words of a text, folded and separated by single blanks.

    Words are runs of letters, marks and digits. Markup is removed: links leave their text, entities
    their character, tags and the numbers of list items nothing. Hyphens between letters join, also
    at the end of a line. Each character of a script without blanks is a word.

    >>> words_of("1. Use **`kpctl`** ([docs](a.md)), | the *command-\nline* tool")
    'use kpctl docs the commandline tool'
    """
    text = unescape(text)
    if "[" in text:
        text = _LINK.sub(_link_text, _LINK.sub(_link_text, text))  # an image may be in a link
    if "<" in text:
        text = _TAG.sub(" ", text)
    text = _HYPHEN.sub("", _NUMBERED.sub("", text).translate(_EMPHASIS))
    return " ".join(spaced(fold(text.translate(INVISIBLE)).translate(SEPARATORS)).split())


def spaced(text: str) -> str:
    """Put blanks around each character of a script without them."""
    return text if text.isascii() else UNSPACED.sub(r" \g<0> ", text)


def _link_text(match: re.Match[str]) -> str:
    return match.group(1) or match.group(2) or " "


def holds_quote(quote: str, text: str) -> bool:
    """Return whether a text holds a quotation, or the most of one that its beginning or end cuts.

    Of a quotation across two chunks, one holds the most: at least half of its letters where it
    holds the beginning, more than half where it holds the end. Less than two words or eight
    letters do not count as a part.
    """
    if _as_written(quote) in _as_written(text):
        return True
    wanted = words_of(quote)
    if not wanted:
        return False
    found = words_of(text)
    return f" {wanted} " in f" {found} " or _holds_most(wanted, found)


def _holds_most(wanted: str, found: str) -> bool:
    """Return whether a text begins, ends or lies within the words of a quotation."""
    letters = _letters(wanted)
    if found in wanted:
        least = letters if wanted.startswith(found) else letters + 1
        return _is_part(found) and 2 * _letters(found) >= least
    # Read backwards, the end of a quotation is a beginning.
    backwards = (wanted[::-1], found[::-1], letters + 1)
    for quote, text, least in ((wanted, found, letters), backwards):
        for size in range(min(len(quote) - 1, len(text)), 0, -1):
            head = quote[:size]
            if 2 * _letters(head) < least:
                break
            if text.endswith(head) and _is_part(head) and text[-size - 1 : -size] in {"", " "}:
                return True
    return False


def _letters(words: str) -> int:
    return len(words) - words.count(" ")


def _is_part(words: str) -> bool:
    return " " in words.strip() and _letters(words) >= 8
