"""Replies over HTTP/1.1 as they are received: their heads, and the pieces of their bodies."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pytest_rageval.support.http.connection import Socket, TransportError, faults

_PIECE_BYTES: Final = 64 * 1024
MAX_HEAD_BYTES: Final = 64 * 1024
_MAX_HEAD_LINES: Final = 100
_MAX_LINE_BYTES: Final = 64 * 1024
_MAX_DIGITS: Final = 15
_MAX_INTERIM: Final = 100
_CHUNK_ENDS_BYTES: Final = 4
_MAX_FRAMES_BYTES: Final = 1024 * 1024
"""Most bytes of sizes and line ends of chunks beyond the length of the body."""
_MAX_CODINGS: Final = 3
_MAX_PACKED_BYTES: Final = 64 * 1024 * 1024
"""Of what is itself compressed: gigabytes of nothing may follow from a few kilobytes."""
_HEAD_END: Final = re.compile(rb"\n\r?\n")
_FOLD: Final = re.compile(r"\n[ \t]+")
_STATUS: Final = re.compile(r"HTTP/(0\.9|1\.\d+)\s+([1-9]\d\d)(?:\s+(.*))?", re.ASCII | re.DOTALL)
_CHUNK_SIZE: Final = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;.*)?")
_WBITS: Final = {
    "gzip": 16 + zlib.MAX_WBITS,
    "x-gzip": 16 + zlib.MAX_WBITS,
    "deflate": zlib.MAX_WBITS,
}
"""Format of each compression for zlib."""
KNOWN_CODINGS: Final = frozenset(_WBITS)
"""Values of ``Content-Encoding`` that are decoded, in lower case."""


@dataclass(slots=True)
class Incoming:
    """A reply as far as its head, with the pieces of its body to come."""

    status: int
    headers: Mapping[str, str]
    """As ``named``."""
    pieces: Iterator[bytes]
    """Pieces of the body as they are received, compressed as they come."""
    close: Callable[[], None] | None = None
    """Called once no more pieces are wanted; None: the body was read before."""

    @property
    def content_type(self) -> str:
        """Value of the header; empty: there is none."""
        return self.headers.get("content-type", "")

    @property
    def is_delimited(self) -> bool:
        """Whether HTTP marks the end of the body."""
        marked = "content-length" in self.headers or "transfer-encoding" in self.headers
        return marked or self.close is None

    def decoded(self) -> Iterator[bytes]:
        """Return the pieces of the body without compression.

        They raise ``TransportError`` where the body breaks off or cannot be decoded.
        """
        codings = self.headers.get("content-encoding", "").lower().split(",")
        formats = [_WBITS[coding.strip()] for coding in codings if coding.strip() in _WBITS]
        if len(formats) > _MAX_CODINGS:
            raise TransportError("DecodingError", f"compressed {len(formats)} times")
        pieces = self.pieces
        for wbits in reversed(formats):
            pieces = _inflated(pieces, wbits)
        return pieces


def named(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers by name in lower case: the first, but all encodings and lengths."""
    found: dict[str, str] = {}
    for name, value in headers:
        name = name.strip().lower()
        if name not in found:
            found[name] = value.strip()
        elif name in {"content-encoding", "content-length"}:
            found[name] += f",{value}"
    return found


def parts(body: bytes) -> Iterator[bytes]:
    """Return a whole body in pieces as if it was received."""
    return (body[at : at + _PIECE_BYTES] for at in range(0, len(body), _PIECE_BYTES))


def unpacked(codings: str, body: bytes, max_bytes: int) -> bytes:
    """Return a whole body without the compressions of its ``Content-Encoding`` that are known.

    Raises:
        TransportError: it cannot be decoded, or becomes longer than a number of bytes.
    """
    found = bytearray()
    for piece in Incoming(200, {"content-encoding": codings}, parts(body)).decoded():
        found += piece
        if len(found) > max_bytes:
            raise TransportError("DecodingError", f"over {max_bytes:,} bytes")
    return bytes(found)


class Reader:
    """Reads one reply from a connection.

    Args:
        sock: of which everything sent before was received.
        method: that of the request.
    """

    status: int
    reason: str
    headers: Mapping[str, str]
    is_whole = False
    """Whether all was received, and the connection serves another request."""

    def __init__(self, sock: Socket, method: str) -> None:
        self._sock = sock
        self._without_body = method == "HEAD"
        self._buffer = b""

    def read_head(self) -> None:
        """Receive the head of the reply, and of those before it such as early hints.

        Raises:
            TransportError: there is none.
        """
        for _ in range(_MAX_INTERIM):
            first, *lines = self._head_lines()
            match = _STATUS.fullmatch(first)
            if match is None:
                raise _broken(f"it begins with {first[:40]!r}")
            self.status, self.reason = int(match[2]), (match[3] or "").strip()
            if self.status >= 200 or self.status == 101:
                break
        else:
            raise _broken(f"over {_MAX_INTERIM} interim replies")
        self.headers = headers = named(line.partition(":")[::2] for line in lines)
        connection = headers.get("connection", "").lower()
        old = match[1] in {"0.9", "1.0"}
        self._stays = "keep-alive" in connection if old else "close" not in connection
        coding = headers.get("transfer-encoding", "chunked")
        if coding.lower() != "chunked":
            raise _broken(f"unknown Transfer-Encoding {coding[:40]!r}")
        if "content-length" in headers:
            # Where two readers would find two ends, none is right (RFC 9112, 6.3).
            length, *others = {one.strip() for one in headers["content-length"].split(",")}
            if others or len(length) > _MAX_DIGITS or not (length.isascii() and length.isdecimal()):
                raise _broken("a Content-Length that no body can have")
            headers["content-length"] = length

    def _head_lines(self) -> list[str]:
        while (end := _HEAD_END.search(self._buffer)) is None:
            if not b"HTTP/".startswith(self._buffer[:5]):
                raise _broken(f"it begins with {self._buffer[:40]!r}")
            if len(self._buffer) > MAX_HEAD_BYTES:
                break
            self._receive()
        head = self._buffer[: end.start() if end else None]
        text = head.decode("latin-1").replace("\r\n", "\n").rstrip("\r")
        if "\n " in text or "\n\t" in text:
            text = _FOLD.sub(" ", text)
        lines = text.split("\n")
        if end is None or len(head) > MAX_HEAD_BYTES or len(lines) > _MAX_HEAD_LINES:
            raise TransportError("HeadTooLarge", f"over 64 kB or {_MAX_HEAD_LINES} lines")
        self._buffer = self._buffer[end.end() :]
        return lines

    def pieces(self) -> Iterator[bytes]:
        """Return the pieces of the body as they are received."""
        length = self.headers.get("content-length", "")
        if self._without_body or self.status in {204, 304}:
            length = "0"
        elif "transfer-encoding" in self.headers:
            return self._chunks()
        elif not length:
            return self._rest()
        if not int(length):
            self._end()
        return self._part(int(length), last=True)

    def _part(self, left: int, *, last: bool = False) -> Iterator[bytes]:
        while left:
            if not self._buffer:
                self._receive()
            piece, self._buffer = self._buffer[:left], self._buffer[left:]
            left -= len(piece)
            if last and not left:  # now, since the caller may not ask for more
                self._end()
            yield piece

    def _chunks(self) -> Iterator[bytes]:
        room = _MAX_FRAMES_BYTES
        while True:
            line = self._line()
            size = _CHUNK_SIZE.fullmatch(line)
            if size is None:
                raise _broken("a chunk without a size")
            if not (left := int(size[1], 16)):
                break
            room += min(left - len(line) - _CHUNK_ENDS_BYTES, 0)
            if room < 0:
                raise _broken("chunks that hold nearly nothing")
            yield from self._part(left)
            if self._line():
                raise _broken("a chunk longer than its size")
        self._skip_trailers()
        self._end()

    def _skip_trailers(self) -> None:
        room = MAX_HEAD_BYTES
        for _ in range(_MAX_HEAD_LINES + 1):  # and the empty line after them
            line = self._line()
            room -= len(line)
            if not line:
                return
            if room < 0:
                break
        raise TransportError("HeadTooLarge", f"trailers over 64 kB or {_MAX_HEAD_LINES} lines")

    def _rest(self) -> Iterator[bytes]:
        """Yield all that is received until the server closes the connection."""
        while self._buffer or self._received():
            piece, self._buffer = self._buffer, b""
            yield piece

    def _line(self) -> bytes:
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > _MAX_LINE_BYTES:
                raise _broken("a line without an end")
            self._receive()
        line, self._buffer = self._buffer[:end], self._buffer[end + 1 :]
        return line.removesuffix(b"\r")

    def _end(self) -> None:
        self.is_whole = self._stays and not self._buffer

    def _receive(self) -> None:
        if self._received():
            return
        if self._sock.heard:
            raise _broken("it ends too early")
        text = "Server disconnected without sending a response."
        raise TransportError("RemoteProtocolError", text) from ConnectionResetError()

    def _received(self) -> bool:
        with faults("Read"):
            piece = self._sock.recv(_PIECE_BYTES)
        self._buffer += piece
        return bool(piece)


def _broken(what: str) -> TransportError:
    return TransportError("RemoteProtocolError", f"The reply is not complete HTTP: {what}.")


def _inflated(pieces: Iterator[bytes], wbits: int) -> Iterator[bytes]:
    inflater, at_start, room = zlib.decompressobj(wbits), True, _MAX_PACKED_BYTES
    for piece in pieces:
        room -= len(piece)
        if room < 0:
            raise TransportError("DecodingError", f"over {_MAX_PACKED_BYTES:,} compressed bytes")
        while piece:
            try:
                # In bounded parts, of which the caller takes no more than it wants.
                yield inflater.decompress(piece, _PIECE_BYTES)
            except zlib.error as error:
                if not at_start or wbits != zlib.MAX_WBITS:
                    raise TransportError("DecodingError", str(error)) from error
                inflater = zlib.decompressobj(-zlib.MAX_WBITS)  # some servers leave out the header
                at_start = False
                continue
            at_start = False
            piece = inflater.unconsumed_tail
        if inflater.unused_data:  # of which zlib would keep all that comes
            raise TransportError("DecodingError", "the compressed data end before the body")
    yield inflater.flush()
