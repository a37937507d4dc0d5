"""Fences that separate untrusted text from the instructions of a prompt.

A question, an answer or a document may hold instructions, closing tags, fake turns or our own
delimiters. Each goes between two lines that carry a boundary; the boundary is derived from the
sha256 of all the texts, so no text can hold it, and the same texts always give the same bytes.
Pure functions.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Final

BOUNDARY_CHARS: Final = 24
"""Hex digits of a boundary: 96 bits."""

_LINE_ENDS: Final = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Listed here because the tables of unicodedata differ between Python versions: the same text must
# render the same bytes everywhere, or recorded judge traffic no longer matches.
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f"  # controls, tab and newline apart
    "\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # unseen
    "\ud800-\udfff"  # halves of surrogate pairs, which no encoding can send
    "\U000e0000-\U000e007f]"  # tag characters spell out text that no person sees
)
# Servers of local models read these as the end of a turn anywhere, fenced or not.
_CHAT_TOKEN: Final = re.compile(
    r"(?P<open>[<\[])(?P<rest>"
    r"\|[\w.\- ]{1,40}\|>"  # ChatML, Llama 3, Phi, Harmony: <|im_end|>, <|eot_id|>
    r"|\uff5c[\w\u2581.\- ]{1,40}\uff5c>"  # DeepSeek, with full-width bars
    r"|/?s>|<SYS>>|</SYS>>|/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]"
    r"|(?:start_of_turn|end_of_turn|bos|eos)>)"  # Gemma
)
_ELLIPSIS: Final = "..."


def clean_text(text: str) -> str:
    r"""Return text without control, bidi and invisible characters; newlines and tabs stay.

    Every kind of line end becomes a newline. Joiners (U+200C, U+200D), which scripts need, stay.
    Tokens that end a turn in a model's chat template get a space after their first character.

    >>> clean_text("one\r\ntwo\x00 \u202ethree\tfour <|im_end|>")
    'one\ntwo three\tfour < |im_end|>'
    """
    # Hidden characters are not printable, and ``isprintable`` is much faster than the pattern.
    if not (text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable()):
        text = _HIDDEN.sub("", _LINE_ENDS.sub("\n", text))
    return _CHAT_TOKEN.sub(r"\g<open> \g<rest>", text) if "<" in text or "[" in text else text


def one_line(text: str, limit: int | None = None) -> str:
    r"""Return clean text on one line, each run of white space as one space.

    Args:
        text: any text by a model, a document or a user.
        limit: longest result in characters; a longer text ends in ``...``.

    >>> one_line(" one\n\n two\x1b ", limit=6)
    'one...'
    """
    # Cleaned again: joining lines may have formed a token.
    line = clean_text(" ".join(clean_text(text).split()))
    if limit is None or len(line) <= limit:
        return line
    return line[: max(limit - len(_ELLIPSIS), 0)] + _ELLIPSIS


def quoted(text: str, limit: int | None = None) -> str:
    r"""Return text on one line between double quotes, those within escaped as in JSON.

    >>> print(quoted('a "b"\nc'))
    "a \"b\" c"
    """
    return json.dumps(one_line(text, limit), ensure_ascii=False)


def derive_boundary(texts: Sequence[str], *, avoid: Sequence[str] = ()) -> str:
    """Return the boundary of texts: hex digits of their sha256 that occur in none of them.

    Args:
        texts: cleaned texts to fence, in order.
        avoid: further texts of the same message that must not contain it.

    Returns:
        ``BOUNDARY_CHARS`` lower-case hex digits; the same for the same texts.
    """
    # The hash covers the list, so that moving text from one item to the next changes it.
    encoded = json.dumps(list(texts))
    digest = hashlib.sha256(encoded.encode()).hexdigest()
    while any(digest[:BOUNDARY_CHARS] in text for text in (encoded, *avoid)):
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return digest[:BOUNDARY_CHARS]


def fence(label: str, text: str, boundary: str) -> str:
    """Return clean text between an opening and a closing line that carry the boundary.

    Args:
        label: description of the text, such as ``answer`` or ``passage 1``.
        text: the clean text.
        boundary: from ``derive_boundary`` over all texts of the message.
    """
    return f"----- BEGIN {label} {boundary} -----\n{text}\n----- END {label} {boundary} -----"
