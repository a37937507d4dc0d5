"""Many small connection pools in place of a large one.

httpx is not imported here, so that opening a judge which only reads its cache stays cheap.
The work that httpx does for a request grows with the connections and waiters of its pool: at 128
requests in flight over one pool it takes longer than the requests do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

Client = TypeVar("Client")


REQUESTS_PER_CLIENT: Final = 4
"""Concurrent requests: few enough for a cheap pool, many enough to need few clients."""


class ClientPool(Generic[Client]):
    """Pool of clients that opens another if all are busy; safe to share between threads."""

    def __init__(self, open_client: Callable[[], Client]) -> None:
        self._open = open_client
        self._lock = threading.Lock()
        self._clients: list[Client] = []
        self._busy: list[int] = []
        self._generation = 0

    @contextmanager
    def lease(self) -> Iterator[Client]:
        """Lend a client for one request."""
        with self._lock:
            generation = self._generation
            place = self._place()
            client = self._clients[place]
        try:
            yield client
        finally:
            with self._lock:
                if generation == self._generation:
                    self._busy[place] -= 1

    def drain(self) -> list[Client]:
        """Forget all clients and return them, to be closed; later leases open new ones."""
        with self._lock:
            clients, self._clients, self._busy = self._clients, [], []
            self._generation += 1
        return clients

    def _place(self) -> int:
        """Find the first client with room, so that a few requests stay on few connections."""
        place = next((i for i, n in enumerate(self._busy) if n < REQUESTS_PER_CLIENT), None)
        if place is None:
            self._clients.append(self._open())
            self._busy.append(0)
            place = len(self._clients) - 1
        self._busy[place] += 1
        return place
