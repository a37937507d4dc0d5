"""A tiny builder of markup in which every text and attribute value is escaped.

Used for charts and for elements that a page has thousands of: a template takes five times as long.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Final

_NAMES: Final = {
    "class_": "class",
    "aria_hidden": "aria-hidden",
    "aria_label": "aria-label",
    "aria_labelledby": "aria-labelledby",
}


class Element(str):
    """Markup that is already safe."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def element(tag: str, *children: str, **attributes: str | float) -> Element:
    """Return one element; children that are not an ``Element`` are text.

    >>> element("text", "a < b", x=1.26, class_='"')
    '<text x="1.3" class="&#34;">a &lt; b</text>'
    """
    given = "".join(f' {_NAMES.get(k, k)}="{_value(v)}"' for k, v in attributes.items())
    inner = "".join(c if isinstance(c, Element) else harmless(c) for c in children)
    return Element(f"<{tag}{given}>{inner}</{tag}>" if inner else f"<{tag}{given}/>")


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return harmless(value)
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def escaped(text: str) -> str:
    """Return a text escaped for markup, between tags or in a quoted attribute.

    As markupsafe does, which makes an object of its own of each text.
    """
    # What prints hides nothing. To look before replacing takes less time for nearly every text.
    if not text.isprintable():
        text = visible(text)
    if "&" in text:
        text = text.replace("&", "&amp;")
    if "<" in text or ">" in text:
        text = text.replace("<", "&lt;").replace(">", "&gt;")
    if "'" in text or '"' in text:
        text = text.replace("'", "&#39;").replace('"', "&#34;")
    return text


harmless: Final = lru_cache(maxsize=1024)(escaped)
"""`escaped`, cached: cases share paths, headings and chunks, which are long."""


_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Controls except tab and newline, bidi marks, invisible spaces and operators, lone surrogates, and
tag characters that can hide text. Joiners are kept, because words need them."""
_NEWLINE: Final = re.compile("\r\n?")


def visible(text: str) -> str:
    r"""Return text with every hidden character shown as its code point.

    >>> visible("a\x1b[31m \u202eb\r\nc")
    'a[U+001B][31m [U+202E]b\nc'
    """
    if "\r" in text:
        text = _NEWLINE.sub("\n", text)
    # Printable text hides nothing, and this test is faster than the search.
    if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return _HIDDEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


_UNSAFE: Final = re.compile("[\u2028\u2029\ud800-\udfff]")


def script_json(value: Any) -> str:
    """Return JSON that can stand in a script element: nothing in it ends or opens one."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    if text.isascii():
        return text
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
