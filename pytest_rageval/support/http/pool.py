"""Idle connections to one server, kept for the next requests."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Final

from pytest_rageval.support.http.connection import Socket


class Pool:
    """Idle connections, the one used last on top; safe to share between threads.

    The work for a request does not grow with the number of connections.

    Args:
        keepalive_s: time after which an idle connection is closed.
    """

    def __init__(self, keepalive_s: float) -> None:
        self.keepalive_s: Final = keepalive_s
        self._lock = threading.Lock()
        self._idle: deque[tuple[Socket, float]] = deque()
        self.generation = 0
        """Number of times that all connections were closed."""

    def take(self) -> Socket | None:
        """Return a connection that the server has not closed; None: there is none."""
        while True:
            self._close_old()
            with self._lock:
                if not self._idle:
                    return None
                sock, _ = self._idle.pop()
            if _is_silent(sock):
                return sock
            sock.close()

    def give(self, sock: Socket, generation: int) -> None:
        """Keep a connection of a generation for another request."""
        self._close_old()
        with self._lock:
            if generation == self.generation:
                self._idle.append((sock, time.monotonic()))
                return
        sock.close()

    def close(self) -> None:
        """Close all connections, and those in use when they are given back."""
        with self._lock:
            self.generation += 1
            while self._idle:  # no name of this module: an ending interpreter has removed them
                self._idle.pop()[0].close()

    # A thread that began its request after the last close gives its connection to a pool that
    # nobody closes again.
    __del__ = close

    def _close_old(self) -> None:
        while True:
            with self._lock:
                oldest = time.monotonic() - self.keepalive_s
                if not self._idle or self._idle[0][1] >= oldest:
                    return
                sock, _ = self._idle.popleft()
            sock.close()


def _is_silent(sock: Socket) -> bool:
    """Return whether nothing can be read: neither the end nor a reply that nobody asked for."""
    return not sock.is_ready(0)
