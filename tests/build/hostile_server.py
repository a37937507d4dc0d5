"""A server on loopback that breaks HTTP in eighty ways; the request says which.

A behaviour gets the connection after one request was read from it, which ends with it. None lasts
longer than the server, so that loops are bounded.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import socket
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from tests.build.targets import Received, accepting, read_request

GOOD: Final = json.dumps({"answer": "Monthly.", "choices": []}).encode()
OK: Final = b"HTTP/1.1 200 OK\r\n"
JSON_TYPE: Final = b"Content-Type: application/json\r\n"
CHUNKED: Final = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LENGTH: Final = b"Content-Length: %d\r\n" % len(GOOD)
WHOLE: Final = OK + LENGTH + b"\r\n" + GOOD
GIGABYTE: Final = 2**30
BLOCK: Final = b" " * 2**16
EMPTY_BLOCK: Final = b"\0\0\0\xff\xff"
"""Of deflate: five bytes that stand for none."""
BOMB: Final = gzip.compress(b" " * 2**26)
"""64 MB in 65 kB."""


@dataclass
class Connection:
    """One connection of a client, and the end of the server."""

    socket: socket.socket
    over: threading.Event
    port: int

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self.socket.sendall(part)

    def endless(self, part: bytes, every_s: float = 0.0) -> None:
        """Send the same again and again, until the client has gone or the server ends."""
        while not self.over.wait(every_s) if every_s else not self.over.is_set():
            self.socket.sendall(part)

    def wait(self) -> None:
        """Keep the connection open without a word."""
        self.over.wait(30)

    def reset(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


Act = Callable[[Connection], None]


@dataclass(frozen=True)
class Behaviour:
    """Behaviour towards a request, and the kinds of error that are true of it."""

    act: Act
    kinds: frozenset[str]
    """Empty: the reply is good in spite of it."""


BEHAVIOURS: Final[dict[str, Behaviour]] = {}


def behaves(*kinds: str) -> Callable[[Act], Act]:
    def noted(act: Act) -> Act:
        BEHAVIOURS[act.__name__.replace("_", "-").strip("-")] = Behaviour(act, frozenset(kinds))
        return act

    return noted


def says(name: str, *parts: bytes, kinds: str) -> None:
    """Note a behaviour that sends some bytes and hangs up."""
    BEHAVIOURS[name] = Behaviour(lambda to: to.send(*parts), frozenset(kinds.split()))


def repeats(name: str, head: bytes, part: bytes, *, kinds: str, every_s: float = 0.0) -> None:
    """Note a behaviour that sends some bytes, and then the same again and again."""

    def act(to: Connection) -> None:
        to.send(head)
        to.endless(part, every_s)

    BEHAVIOURS[name] = Behaviour(act, frozenset(kinds.split()))


def stalls(name: str, *parts: bytes) -> None:
    """Note a behaviour that sends some bytes and keeps the connection open."""

    def act(to: Connection) -> None:
        to.send(*parts)
        to.wait()

    BEHAVIOURS[name] = Behaviour(act, frozenset({"timeout"}))


# --- slow ----------------------------------------------------------------------------------

stalls("silence")
repeats("drips-body", OK + b"Content-Length: 1000\r\n\r\n", b" ", kinds="timeout", every_s=0.05)
repeats("drips-head", OK + b"X-Slow: ", b"x", kinds="timeout", every_s=0.05)
repeats("drips-chunks", CHUNKED, b"1\r\n \r\n", kinds="timeout", every_s=0.05)
repeats("drips-chunk-size", CHUNKED + b"1;", b"x", kinds="timeout", every_s=0.05)
repeats(
    "drips-interim-replies",
    b"",
    b"HTTP/1.1 102 Processing\r\n\r\n",
    kinds="timeout connection",
    every_s=0.05,
)
repeats(
    "drips-packed",
    OK + b"Content-Encoding: deflate\r\n\r\n\x78\x9c",
    EMPTY_BLOCK,
    kinds="timeout",
    every_s=0.05,
)
stalls("stalls-in-body", WHOLE[:-5])
stalls("stalls-in-chunk", CHUNKED + b"ff\r\n" + GOOD)
stalls("stalls-after-continue", b"HTTP/1.1 100 Continue\r\n\r\n")


# --- large ---------------------------------------------------------------------------------

repeats("endless-body", OK + b"\r\n", BLOCK, kinds="protocol")
repeats("endless-chunks", CHUNKED, b"%x\r\n%s\r\n" % (len(BLOCK), BLOCK), kinds="protocol")
repeats("endless-small-chunks", CHUNKED, b"1\r\n \r\n" * 5000, kinds="timeout protocol")
repeats(
    "declares-a-gigabyte", OK + b"Content-Length: %d\r\n\r\n" % GIGABYTE, BLOCK, kinds="protocol"
)
repeats(
    "declares-an-exabyte",
    OK + b"Content-Length: 1000000000000000000\r\n\r\n",
    BLOCK,
    kinds="protocol",
)
repeats(
    "endless-trailers",
    CHUNKED + b"0\r\n",
    b"X-Trailer: 1\r\n" * 5000,
    kinds="timeout connection protocol",
)
repeats(
    "endless-chunk-extensions",
    CHUNKED,
    b"1;" + b"x" * 60_000 + b"\r\n \r\n",
    kinds="timeout connection protocol",
)
repeats("endless-chunk-extension", CHUNKED + b"1;", b"x" * 1000, kinds="timeout connection")
repeats("endless-headers", OK, b"X-Header: 1\r\n" * 10, kinds="protocol")
repeats("endless-header", OK + b"X-Header: ", b"x" * 1000, kinds="protocol")
repeats("endless-folded-header", OK + b"X-Header: 1\r\n", b"\tx\r\n" * 100, kinds="protocol")
repeats(
    "endless-interim-replies",
    b"",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 100,
    kinds="timeout connection",
)
repeats("endless-error-page", b"HTTP/1.1 404 Not Found\r\n\r\n", BLOCK, kinds="http")
says("ten-thousand-headers", OK, b"X-Header: 1\r\n" * 10_000, b"\r\n", GOOD, kinds="protocol")


# --- packed --------------------------------------------------------------------------------


def packed(coding: str, body: bytes) -> bytes:
    head = f"Content-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n"
    return OK + head.encode() + body


says("gzip-bomb", packed("gzip", BOMB), kinds="protocol")
says("deflate-bomb", packed("deflate", zlib.compress(b" " * 2**26)), kinds="protocol")
says(
    "raw-deflate-bomb", packed("deflate", zlib.compress(b" " * 2**26, wbits=-15)), kinds="protocol"
)
says("nested-bomb", packed("gzip, gzip", gzip.compress(BOMB)), kinds="protocol")
says("nested-three-times", packed("gzip, deflate, gzip", gzip.compress(zlib.compress(BOMB))),
     kinds="protocol")  # fmt: skip
says("nested-without-end", packed(",".join(["gzip"] * 12_000), BOMB), kinds="protocol")
says("not-gzip", packed("gzip", GOOD), kinds="protocol")
says("not-deflate", packed("deflate", GOOD), kinds="protocol")
says("packed-as-nobody-knows", packed("br", b"\x0b\x02\x80abc\x03"), kinds="protocol")
says("packed-and-cut", packed("gzip", gzip.compress(GOOD * 50)[:-20]), kinds="protocol")


repeats(
    "endless-after-gzip",
    OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(GOOD),
    BLOCK,
    kinds="protocol",
)
repeats(
    "endless-empty-members",
    OK + b"Content-Encoding: gzip\r\n\r\n",
    gzip.compress(b"") * 1000,
    kinds="protocol timeout",
)
repeats(
    "endless-empty-blocks",
    OK + b"Content-Encoding: deflate\r\n\r\n\x78\x9c",
    EMPTY_BLOCK * 1000,
    kinds="protocol timeout",
)


# --- wrong ---------------------------------------------------------------------------------

says("length-too-long", OK + b"Content-Length: 500\r\n\r\n" + GOOD, kinds="connection")
says("length-too-short", OK + b"Content-Length: 5\r\n\r\n" + GOOD, kinds="protocol connection")
says("length-negative", OK + b"Content-Length: -5\r\n\r\n" + GOOD, kinds="connection")
says("length-garbage", OK + b"Content-Length: 0x10\r\n\r\n" + GOOD, kinds="connection")
says("two-lengths", OK + LENGTH + b"Content-Length: 5\r\n\r\n" + GOOD, kinds="connection")
says("chunk-huge", CHUNKED + b"fffffffffffffff\r\n" + GOOD, kinds="connection")
says("chunk-larger-than-any", CHUNKED + b"f" * 200 + b"\r\n" + GOOD, kinds="connection")
says("chunk-negative", CHUNKED + b"-1\r\n" + GOOD, kinds="connection")
says("chunk-garbage", CHUNKED + b"zz\r\n" + GOOD, kinds="connection")
says("chunk-longer", CHUNKED + b"2\r\n" + GOOD + b"\r\n0\r\n\r\n", kinds="connection")
says("coding-unknown", OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + GOOD, kinds="connection")
says("http-0-9", GOOD, kinds="connection")
says("http-2", b"\0\0\x12\x04\0\0\0\0\0" + b"\0" * 18, kinds="connection")
says("tls", b"\x15\x03\x01\0\x02\x02\x28", kinds="connection")
says("ssh", b"SSH-2.0-OpenSSH_9.6\r\n", kinds="connection")
says("nothing", kinds="connection")
says("status-garbage", b"HTTP/1.1 abc OK\r\n\r\n", kinds="connection")
says("status-huge", b"HTTP/1.1 20000 OK\r\n\r\n", kinds="connection")
says("status-999", b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n", kinds="http")
says("switches", b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n", kinds="http")
says(
    "no-content-with-body",
    b"HTTP/1.1 204 No\r\n" + LENGTH + b"\r\n" + GOOD,
    kinds="protocol connection",
)
says("nul-in-head", OK + b"X-\0: \0\r\n" + LENGTH + b"\r\n" + GOOD, kinds="connection")
says("escapes-in-reason", b"HTTP/1.1 500 \x1b[2J\x9b2J\r\n\r\n\x1b]0;x\x07", kinds="http")
says(
    "splits", OK + b"X-A: 1\r\rContent-Length: 0\r\n" + LENGTH + b"\r\n" + GOOD, kinds="connection"
)
says("two-replies", WHOLE + WHOLE, kinds="")
says("early-hints", b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + WHOLE, kinds="")
says("deeply-nested", OK + b"\r\n" + b"[" * 1_000_000, kinds="protocol")
says("huge-number", OK + b'\r\n{"answer": ' + b"9" * 1_000_000 + b"}", kinds="protocol")
says("many-values", OK + b"\r\n[" + b"[]," * 4_000_000 + b"[]]", kinds="protocol")
says("many-objects", OK + b"\r\n[" + b"{}," * 4_000_000 + b"{}]", kinds="protocol")
says("many-keys", OK + b"\r\n{" + b",".join(b'"%x":0' % n for n in range(10**6)) + b"}",
     kinds="protocol")  # fmt: skip
says("not-utf-8", OK + b'\r\n{"answer": "\xff\xfe"}', kinds="protocol")


@behaves("connection")
def resets(to: Connection) -> None:
    to.reset()


@behaves("connection")
def resets_in_body(to: Connection) -> None:
    to.send(WHOLE[:-5])
    to.reset()


@behaves("connection")
def half_closes(to: Connection) -> None:
    to.socket.shutdown(socket.SHUT_WR)
    to.wait()


@behaves()
def half_closes_after_reply(to: Connection) -> None:
    to.send(OK + b"\r\n" + GOOD)
    to.socket.shutdown(socket.SHUT_WR)
    to.wait()


# --- redirects -----------------------------------------------------------------------------


def redirects(name: str, location: str, status: int = 307) -> None:
    def act(to: Connection) -> None:
        where = location.format(port=to.port).encode("latin-1")
        to.send(b"HTTP/1.1 %d Moved\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % (status, where))

    BEHAVIOURS[name] = Behaviour(act, frozenset({"http"}))


redirects("redirect-loop", "/redirect-loop")
redirects("redirect-elsewhere", "http://localhost:{port}/stolen")
redirects("redirect-to-get", "http://127.0.0.2:{port}/stolen", 303)
redirects("redirect-to-file", "file:///etc/passwd", 302)
redirects("redirect-to-tls", "https://127.0.0.1:{port}/stolen", 308)
redirects("redirect-to-nowhere", "http://[", 301)
redirects("redirect-with-escapes", "/\x1b[2J\x9b?token=stolen")


# --- the server ----------------------------------------------------------------------------

_NAMED: Final = re.compile(r"hostile[ /]([a-z0-9-]+)")


@dataclass
class HostileServer:
    """The server: the requests so far, by the behaviour that they asked for."""

    otherwise: Callable[[Received], bytes] = lambda _: WHOLE
    """The reply to a request that names no behaviour; empty: the connection is closed instead."""
    of_body: Callable[[Received], str] = lambda got: got.body.decode("latin-1")
    port: int = 0
    received: list[Received] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(30)
            while (got := read_request(connection)).line:
                self.received.append(got)
                named = _NAMED.findall(f"{got.line} {self.of_body(got)}")
                if named:
                    BEHAVIOURS[named[-1]].act(Connection(connection, self.over, self.port))
                    return
                reply = self.otherwise(got)
                connection.sendall(reply)
                if not reply:
                    return


@contextlib.contextmanager
def hostile_server(
    otherwise: Callable[[Received], bytes] = lambda _: WHOLE,
) -> Iterator[HostileServer]:
    """Serve until the block ends, and end every behaviour then."""
    server = HostileServer(otherwise)
    with accepting(server.answer) as server.port:
        try:
            yield server
        finally:
            server.over.set()


@contextlib.contextmanager
def hostile_process() -> Iterator[str]:
    """Serve in a process of its own, whose threads take no turns from those of the clients.

    Yields:
        The URL.
    """
    with subprocess.Popen(
        [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate()  # it ends with its input


if __name__ == "__main__":
    with hostile_server() as served:
        print(served.url, flush=True)
        sys.stdin.read()
