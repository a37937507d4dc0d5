"""Sockets that keep deadlines, and the errors that end an exchange."""

from __future__ import annotations

import os
import select
import socket
import ssl
import struct
import sys
import time
from types import TracebackType
from typing import Any, Final

from pytest_rageval.support.http.deadline import current, time_left, wait

# Linux notes when data arrived. Python has no name for the option, whose number is another on a
# few old architectures.
_OLD_NUMBERS: Final = ("mips", "parisc", "sparc", "alpha")
_SO_TIMESTAMPNS: Final = (
    35 if sys.platform == "linux" and not os.uname().machine.startswith(_OLD_NUMBERS) else None
)
_TIMESPEC: Final = struct.Struct("@ll")
_ANCILLARY_BYTES: Final = 64
_NOT_READY: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_LONGEST_MS: Final = 2**31 - 1


class TransportError(Exception):
    """End of an exchange before its reply was complete; the cause is the error of the system.

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


class faults:
    """Turns errors of the system, and of ``http.client``, into a ``TransportError``.

    Args:
        doing: ``Connect``, ``Read`` or ``Write``.
    """

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if kind is None:
            return
        if kind.__module__ == "http.client":
            # The base class itself is raised for too many headers.
            too_large = kind.__name__ in {"HTTPException", "LineTooLong"}
            name = "HeadTooLarge" if too_large else "RemoteProtocolError"
        elif issubclass(kind, TimeoutError):
            name = f"{self._doing}Timeout"
        elif issubclass(kind, OSError | UnicodeError):  # no name of a host can be encoded so
            name = f"{self._doing}Error"
        else:
            return
        raise TransportError(name, str(error) or kind.__name__) from error


class Socket(socket.socket):
    """Socket whose waits end with the deadline of the thread and release its turn to compute.

    Once connected, the system must never wait for it: its timeout is 0.
    """

    limit_s: float | None = None
    """Limit of one wait; None: only the deadline limits it."""
    heard = False
    """Whether anything was received since this was set to false."""
    delivered = False
    """Whether all of the last message was handed to the system."""
    room: int | None = None
    """Bytes that may still be received, for a reader without a limit; None: any number."""

    def note_arrivals(self) -> None:
        """Ask the system to note when data arrive, if it can."""
        if _SO_TIMESTAMPNS is not None:
            self.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)

    def pending(self) -> int:
        """Return the number of bytes that can be received without a wait and are known of."""
        return 0

    def is_ready(self, limit_s: float | None, *, to_send: bool = False) -> bool:
        """Return whether something can be received or sent, at once or within seconds."""
        if sys.platform == "win32":
            sending = [self] * to_send
            return any(select.select([] if to_send else [self], sending, sending, limit_s))
        poller = select.poll()
        poller.register(self, select.POLLOUT if to_send else select.POLLIN)
        return bool(poller.poll(None if limit_s is None else min(limit_s * 1000, _LONGEST_MS)))

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send all data, and note the time."""
        if (deadline := current()) is not None:
            deadline.sending()
        rest, self.delivered = memoryview(data), False
        while rest:
            rest = rest[self.send(rest, flags) :]
        self.delivered = True

    def send(self, data: Any, flags: int = 0) -> int:
        """Send some of the data, which may be none."""
        time_left(self.limit_s)
        try:
            return super().send(data, flags)
        except _NOT_READY as error:
            self._wait(error)
            return 0

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Receive some data, and note when it arrived."""
        ready_at = time.monotonic() if self.pending() else self._wait()
        while True:
            try:
                data, arrived = self._receive(buflen, flags)
                break
            except _NOT_READY as error:
                ready_at = self._wait(error)
        self.heard = self.heard or bool(data)
        if self.room is not None:
            self.room -= len(data)
            if self.room < 0:
                raise TransportError("ReplyTooLarge", "more than is recorded")
        if (deadline := current()) is not None:
            # Without the time in which this thread waited for its turn.
            now, since = (time.time(), arrived) if arrived else (time.monotonic(), ready_at)
            deadline.received(now - since)
        return data

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        """Receive some data into a buffer, as ``http.client`` does."""
        data = self.recv(nbytes or len(buffer), flags)
        buffer[: len(data)] = data
        return len(data)

    def _wait(self, error: OSError | None = None) -> float:
        """Wait until something can be received, or what failed can go on; return that time."""
        to_send = error is not None and not isinstance(error, ssl.SSLWantReadError)
        with wait(self.limit_s) as limit:
            if not self.is_ready(limit, to_send=to_send):
                raise TimeoutError("timed out")
            return time.monotonic()

    def _receive(self, bufsize: int, flags: int) -> tuple[bytes, float]:
        """Return data, and the time of the last of it since 1970; 0: unknown."""
        if _SO_TIMESTAMPNS is None:
            return super().recv(bufsize, flags), 0.0
        data, ancillary, _, _ = super().recvmsg(bufsize, _ANCILLARY_BYTES, flags)
        return data, _arrival(ancillary)


class TlsSocket(Socket, ssl.SSLSocket):
    """The same with TLS."""

    pending = ssl.SSLSocket.pending

    def _receive(self, bufsize: int, flags: int) -> tuple[bytes, float]:
        arrived = 0.0
        if _SO_TIMESTAMPNS is not None and not self.pending():
            # Below TLS: only there the system notes times.
            peeked = socket.socket.recvmsg(self, 1, _ANCILLARY_BYTES, socket.MSG_PEEK)
            arrived = _arrival(peeked[1])
        return ssl.SSLSocket.recv(self, bufsize, flags), arrived


def _arrival(ancillary: list[tuple[int, int, bytes]]) -> float:
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS) and len(data) == _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack(data)
            return float(seconds + nanoseconds / 1e9)
    return 0.0
