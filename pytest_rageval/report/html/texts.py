"""Text of others made visible: what is not seen but acts is written out by its code point."""

from __future__ import annotations

import re
from typing import Final

_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Controls but tab and newline, marks of reading direction, invisible spaces and operators, lone
surrogates, and the tags by which text can be hidden from people. Joiners stay: words need them."""
_NEWLINE: Final = re.compile("\r\n?")


def visible(text: str) -> str:
    r"""Return text in which every hidden character is written as its code point.

    >>> visible("a\x1b[31m \u202eb\r\nc")
    'a[U+001B][31m [U+202E]b\nc'
    """
    if "\r" in text:
        text = _NEWLINE.sub("\n", text)
    # What prints hides nothing, and to ask so is quicker than to look for what hides.
    if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _HIDDEN.sub(_named, text)


def _named(found: re.Match[str]) -> str:
    return f"[U+{ord(found[0]):04X}]"


def shortened(text: str, limit: int) -> str:
    """Return a text of at most ``limit`` characters, and how many more it has.

    >>> shortened("abcdef", 4)
    'abcd [2 more characters]'
    """
    left = len(text) - limit
    return text if left <= 0 else f"{text[:limit]} [{left:,} more characters]"
