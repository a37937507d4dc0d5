"""Compressed bodies, unpacked in bounded pieces: gigabytes may follow from a few kilobytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

_PIECE_BYTES: Final = 64 * 1024
_MAX_CODINGS: Final = 3
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
    """Takes the compressions of a ``Content-Encoding`` that are known off a body.

    Raises:
        TransportError: it is compressed more often than any honest body.
    """

    def __init__(self, codings: str) -> None:
        found = [one.strip() for one in codings.lower().split(",")]
        formats = [_WBITS[one] for one in found if one in _WBITS]
        if len(formats) > _MAX_CODINGS:
            raise TransportError("DecodingError", f"compressed {len(formats)} times")
        self._layers = [_Layer(wbits) for wbits in reversed(formats)]

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield what a piece holds, in bounded pieces.

        Raises:
            TransportError: it cannot be decoded.
        """
        pieces: Iterable[bytes] = (piece,)
        for layer in self._layers:
            pieces = layer.feed(pieces)
        return iter(pieces)


class _Layer:
    def __init__(self, wbits: int) -> None:
        self._inflater = zlib.decompressobj(wbits)
        self._may_be_raw = wbits == zlib.MAX_WBITS
        self._room = _MAX_PACKED_BYTES

    def feed(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self._room -= len(piece)
            if self._room < 0:
                text = f"over {_MAX_PACKED_BYTES:,} compressed bytes"
                raise TransportError("DecodingError", text)
            rest = piece
            while rest:
                found = self._inflated(rest)
                rest = self._inflater.unconsumed_tail
                yield found
            while found := self._inflated(b""):
                yield found
            if self._inflater.unused_data:  # of which zlib would keep all that comes
                text = "the compressed data end before the body"
                raise TransportError("DecodingError", text)

    def _inflated(self, piece: bytes) -> bytes:
        try:
            found = self._inflater.decompress(piece, _PIECE_BYTES)
        except zlib.error as error:
            if not self._may_be_raw:
                raise TransportError("DecodingError", str(error)) from error
            self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)  # some servers omit the header
            self._may_be_raw = False
            return self._inflated(piece)
        if piece:
            self._may_be_raw = False
        return found


def unpacked(codings: str, body: bytes, max_bytes: int) -> bytes:
    """Return a whole body without the compressions of its ``Content-Encoding`` that are known.

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
