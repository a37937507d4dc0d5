"""Compressed bodies, unpacked in bounded pieces: gigabytes may follow from a few kilobytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

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
