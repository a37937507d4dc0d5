"""Bodies of replies: unpacked in bounded pieces, and the reason of a failure in their JSON.

Read are RFC 9457 problems (``title``, ``detail``), ``{"error": "text"}``, ``{"error": {"message":
"text"}}`` (OpenAI), ``{"detail": [{"loc": ..., "msg": ...}]}`` (FastAPI) and similar names.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from html import unescape
from typing import Final

from pytest_rageval.support.text import clean

_PIECE_BYTES: Final = 64 * 1024
_MAX_PACKED_BYTES: Final = 64 * 1024 * 1024
_WBITS: Final = {
    "gzip": 16 + zlib.MAX_WBITS,
    "x-gzip": 16 + zlib.MAX_WBITS,
    "deflate": zlib.MAX_WBITS,
}
"""Format of each compression for zlib."""
KNOWN_CODINGS: Final = frozenset(_WBITS)
"""Values of ``Content-Encoding`` that are decoded, in lower case."""


class TransportError(Exception):
    """End of an exchange before its reply was complete.

    Args:
        name: such as ``ConnectError`` or ``ReadTimeout``, for messages.
        text: the reason.
    """

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name

    @property
    def is_timeout(self) -> bool:
        """Whether a limit of time has passed."""
        return self.name.endswith("Timeout")


class Decoder:
    """Takes the compression of a ``Content-Encoding``, if it is a known one, off a body.

    Raises:
        TransportError: it is compressed more than once, as no honest body is.
    """

    def __init__(self, codings: str) -> None:
        found = [one for one in map(str.strip, codings.lower().split(",")) if one in _WBITS]
        if len(found) > 1:
            raise TransportError("DecodingError", f"compressed {len(found)} times")
        self._inflater = zlib.decompressobj(_WBITS[found[0]]) if found else None
        self._may_be_raw = found == ["deflate"]
        self._room = _MAX_PACKED_BYTES

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield what a piece contains, in bounded pieces.

        Raises:
            TransportError: it cannot be decoded.
        """
        if self._inflater is None:
            yield piece
            return
        self._room -= len(piece)
        if self._room < 0:
            raise TransportError("DecodingError", f"over {_MAX_PACKED_BYTES:,} compressed bytes")
        while found := self._inflated(piece):
            yield found
            piece = self._inflater.unconsumed_tail
        if self._inflater.unused_data:  # of which zlib would keep all that comes
            raise TransportError("DecodingError", "the compressed data end before the body")

    def _inflated(self, piece: bytes) -> bytes:
        assert self._inflater is not None
        try:
            found = self._inflater.decompress(piece, _PIECE_BYTES)
        except zlib.error as error:
            if not self._may_be_raw:
                raise TransportError("DecodingError", str(error)) from error
            self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)  # some servers omit the header
            self._may_be_raw = False
            return self._inflated(piece)
        self._may_be_raw = self._may_be_raw and not piece
        return found


def unpacked(codings: str, body: bytes, max_bytes: int) -> bytes:
    """Return a whole body without the compression of its ``Content-Encoding``, if it is known.

    Raises:
        TransportError: it cannot be decoded, or becomes longer than a number of bytes.
    """
    found, decoder = bytearray(), Decoder(codings)
    for at in range(0, len(body), _PIECE_BYTES):
        for piece in decoder.feed(body[at : at + _PIECE_BYTES]):
            found += piece
            if len(found) > max_bytes:
                raise TransportError("DecodingError", f"over {max_bytes:,} bytes")
    return bytes(found)


_NAMES: Final = (
    "error", "errors", "fault", "error_msg", "errormessage", "error_message", "error_description",
    "title", "detail", "details", "message", "msg", "reason",
)  # fmt: skip
"""Fields that hold a reason, in lower case; those of one object are joined in this order."""
_MARKS: Final = ("error", "errors", "error_msg", "errormessage", "error_message")
_FAILED: Final = frozenset({"error", "failed", "failure", "abort"})
_DEPTH: Final = 5
_ITEMS: Final = 3
_CHARS: Final = 300
_MARKUP: Final = re.compile(
    r"(?is)<(style|script)\b.*?(?:</\1\s*>?|\Z)|<!--.*?(?:-->|\Z)|<[^>]*(?:>|\Z)"
)
READ_CHARS: Final = 10_000
"""Maximum length of a text in which secrets are looked for before its beginning is shown."""


def reply_reason(body: str, hide: Callable[[str], str] = str) -> str:
    """Return the reason that the body of a failed reply gives, on one line.

    Empty: it is not JSON, or has no field for a reason. ``hide`` removes secrets from a text before
    it is cut, because the beginning of a cut secret would not be recognised.

    >>> reply_reason('{"error": {"message": "no such model", "code": 7}}')
    'no such model'
    """
    try:
        return document_reason(json.loads(body), hide)
    except (ValueError, RecursionError):
        return ""


def page_text(body: str, hide: Callable[[str], str] = str) -> str:
    """Return the text of a page of HTML or XML, and any other body as it is, without secrets.

    >>> page_text("<title>404</title><style>p {}</style><p>No page &amp; no more").split()
    ['404', 'No', 'page', '&', 'no', 'more']
    """
    body = hide(body)  # before a "<" in a secret is taken for that of a tag
    return hide(unescape(_MARKUP.sub(" ", body))) if body.lstrip()[:1] == "<" else body


def document_reason(document: object, hide: Callable[[str], str] = str) -> str:
    """Return the reason in a decoded document; empty: it holds none."""
    parts: list[str] = []
    for text in _texts(document, _DEPTH, hide):
        if not any(text in part for part in parts):
            parts.append(text)
    return clean(": ".join(parts), _CHARS)


def reported_error(document: object, hide: Callable[[str], str] = str) -> str:
    """Return the reason of a reply that reports an error under a status of success.

    Such a reply has a field of errors, a ``code`` other than 0 and 200, a ``success`` or
    ``ok`` that is false, or a ``type`` or ``status`` that says so. Empty: it reports no error.

    >>> reported_error({"code": 102, "message": "no chat with this id", "data": None})
    'no chat with this id'
    >>> reported_error({"code": 0, "message": "Hello."})
    ''
    """
    if not isinstance(document, Mapping):
        return ""
    fields = {str(name).lower(): value for name, value in document.items()}
    code = fields.get("code")
    marked = (
        any(fields.get(name) for name in _MARKS)
        or (isinstance(code, int) and code not in {0, 200})
        or any(fields.get(name) is False for name in ("success", "ok"))
        or any(str(fields.get(name)).lower() in _FAILED for name in ("type", "status"))
    )
    return document_reason(document, hide) if marked else ""


def _texts(value: object, depth: int, hide: Callable[[str], str]) -> Iterator[str]:
    if isinstance(value, str):
        if text := clean(hide(value[:READ_CHARS]), _CHARS):
            yield text
    elif not depth:
        return
    elif isinstance(value, list):
        for item in value[:_ITEMS]:
            yield from _texts(item, depth - 1, hide)
    elif isinstance(value, Mapping):
        fields = {str(name).lower(): entry for name, entry in value.items()}
        if isinstance(place := fields.get("loc"), list) and isinstance(fields.get("msg"), str):
            text = ": ".join(filter(None, [".".join(map(str, place)), fields["msg"]]))
            yield clean(hide(text[:READ_CHARS]), _CHARS)
            return
        code = fields.get("code")
        # JSON-RPC, whose codes are negative, says in data what its general message does not.
        more = ("data",) if isinstance(code, int) and code < 0 else ()
        for name in (*_NAMES, *more):
            yield from _texts(fields.get(name), depth - 1, hide)
