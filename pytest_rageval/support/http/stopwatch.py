"""Times of one exchange."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx


class Stopwatch:
    """Times of one exchange, noted on the loop.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = self._ended = clock()
        self.sent_at = time.time()
        """Time at which the request was sent, in seconds since 1970."""
        self.ends_at: float | None = None
        """Monotonic time at which the limit of the exchange has passed; None: no limit."""
        self.reply: httpx.Response | None = None
        """Reply of which the head was received, also where a library reads its body."""
        self.is_live = False
        """Whether a connection was used: the reply is not one from a cassette."""
        self.is_recorded = False
        """Whether the whole reply was received for a cassette before its first piece is read."""

    @property
    def elapsed_ms(self) -> float:
        """Time from sending the request to the last byte received."""
        return (self._ended - self._started) * 1000

    def check(self) -> None:
        """Raise a TimeoutError if the limit has passed: while the loop computes, no timer ends."""
        if self.ends_at is not None and time.monotonic() > self.ends_at:
            raise TimeoutError

    def sending(self) -> None:
        """Note that the request is sent now, after the connection was made."""
        self._started = self._ended = self._clock()
        self.sent_at = time.time()
        self.is_live = True

    def received(self) -> None:
        """Note that something was received, or that the exchange failed."""
        self._ended = self._clock()
