"""Memory for the replies that all threads of a process read at once.

One reply may take a hundred times what usual ones do, and so many requests are in flight that not
all of their replies may. A small reply takes no part in this.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from functools import cache
from typing import Final, Self

from pytest_rageval.support.http.deadline import current, time_left
from pytest_rageval.support.json_cost import MOST_BYTES, MOST_PER_BYTE, json_cost
from pytest_rageval.support.slots import waiting

FREE_BYTES: Final = 1 << 20
"""Size up to which a reply is received without asking for room."""
FREE_VALUES: Final = 4 << 20
"""Estimate up to which values are made of it so; a usual reply is too short to need one."""
ROOM_BYTES: Final = 16 << 20
"""Room of all replies together, except for one, whose own limits bound it."""
NO_ROOM: Final = "large replies to other requests took all room in memory: lower concurrency"
_MMAP_THRESHOLD: Final = -3
"""Number of the setting in malloc.h."""
_LARGE_BLOCK: Final = 128 << 10
"""Value that it begins with."""


class Room:
    """Room, in bytes, that threads take for the replies that they read.

    One thread may take more than is left, so that one always gets on: had each a part of what it
    needs, all would wait for ever. For the same reason a thread must wait for nothing else that
    another one may hold while it waits here, such as a slot, before it has given its room back.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._changed = threading.Condition()
        self._taken = 0
        self._first: Reading | None = None

    def take(self, reading: Reading, size: int, limit_s: float | None = None) -> None:
        """Wait until there is room for some more bytes of a reply, or until a limit has passed.

        Raises:
            TimeoutError: the time is up.
        """
        with self._changed:
            if self._fits(reading, size):
                self._add(reading, size)
                return
        # Whoever has the room may need this thread's turn to compute.
        with waiting(), self._changed:
            if not self._changed.wait_for(lambda: self._fits(reading, size), limit_s):
                raise TimeoutError(NO_ROOM)
            self._add(reading, size)

    def give_back(self, reading: Reading) -> None:
        """Take back all room of a reply."""
        with self._changed:
            self._taken -= reading.taken
            reading.taken = 0
            if self._first is reading:
                self._first = None
            self._changed.notify_all()

    def _fits(self, reading: Reading, size: int) -> bool:
        return self._taken + size <= self._size or self._first in {None, reading}

    def _add(self, reading: Reading, size: int) -> None:
        if self._taken + size > self._size:
            self._first = reading
        self._taken += size
        reading.taken += size


_room: Final = Room(ROOM_BYTES)
_current = threading.local()


class Reading:
    """Time in which this thread receives a reply and makes values of it; others may nest in it.

    Args:
        room: shared with the other threads.
    """

    def __init__(self, room: Room = _room) -> None:
        self._room = room
        self.taken = 0
        """Bytes of the room that it has."""

    def __enter__(self) -> Self:
        self._outer: Reading | None = getattr(_current, "reading", None)
        _current.reading = self._outer or self
        return self

    def __exit__(self, *_: object) -> None:
        _current.reading = self._outer
        self.drop()

    def take(self, size: int) -> None:
        """Wait for room for some more bytes; the duration of an exchange leaves the wait out.

        Raises:
            TimeoutError: the time of the exchange is up.
        """
        _give_back_to_system()
        began = time.monotonic()
        try:
            self._room.take(self, size, time_left(None))
        finally:
            if (deadline := current()) is not None:
                deadline.paused(time.monotonic() - began)

    def drop(self) -> None:
        """Give the room back, since what was read is no longer kept."""
        if self.taken:
            self._room.give_back(self)


@cache
def _give_back_to_system() -> None:
    """Let large blocks of memory go back to the system once they are free.

    The allocator of Linux keeps each size that was freed once, up to 32 MB, for every thread: after
    one large reply on each of eight threads, 400 MB.
    """
    with suppress(ImportError, OSError, AttributeError, TypeError):  # of other systems
        import ctypes

        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)


class Growth:
    """Size of one reply as it grows, of which the first, ``free`` bytes take no room."""

    def __init__(self, free: int = FREE_BYTES) -> None:
        self._free = free

    def add(self, size: int) -> None:
        """Wait for room for some more bytes."""
        self._free -= size
        if self._free < 0:
            _take(-self._free)
            self._free = 0


def take_for_values(body: bytes) -> bool:
    """Wait for room for the values of a reply in JSON.

    Returns:
        False: they take more than ``MOST_BYTES``, and must not be made.
    """
    if len(body) * MOST_PER_BYTE <= FREE_VALUES:
        return True
    cost = json_cost(body)
    if FREE_VALUES < cost <= MOST_BYTES:
        _take(cost)
    return cost <= MOST_BYTES


def _take(size: int) -> None:
    reading: Reading | None = getattr(_current, "reading", None)
    if reading is not None:
        reading.take(size)


def drop_room() -> None:
    """Give back the room of a reply of this thread that is no longer kept."""
    reading: Reading | None = getattr(_current, "reading", None)
    if reading is not None:
        reading.drop()
