"""Limit and clock of one exchange over a blocking socket.

With limits of single waits alone, a server that sends one byte per second would never be too slow.
Here no wait is longer than the time left for the whole exchange.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, Self

from pytest_rageval.support.slots import waiting

_PART_S: Final = 0.1
_USUAL_CPU_S: Final = 0.03
"""CPU time of an exchange, many times that of a usual one: its thread may wait for others."""
_LEFT_OUT_S: Final = 0.5
"""Longest wait for a turn that the limit of any other exchange leaves out."""
_SLICE_S: Final = 0.02
"""CPU time of reading a reply after which others get their turn."""
_PAUSE_S: Final = 0.001
"""Pause for that: whoever takes the turn back at once keeps it from those that wait for it."""
_current = threading.local()


class Deadline:
    """Time limit of an exchange, and the times at which it was sent and its reply arrived.

    Within its block it limits all exchanges of this thread.

    Waits of this thread for its turn to compute count neither for the limit nor for the duration.
    For the limit they do where reading the reply itself takes long, as of an endless stream: the
    threads that wait for each other could else go on for many times their limits.

    Args:
        seconds: limit, from now.
        clock: monotonic seconds, for the duration.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit_at_s = self.at_s = time.monotonic() + seconds
        """End, in seconds of the monotonic clock."""
        self._cpu_before_s = self._cpu_paused_s = time.thread_time()
        self._clock = clock
        self._started = self._ended = clock()
        self.sent_at = time.time()
        """Time at which the request was sent, in seconds since 1970."""
        self.paused_s = 0.0
        """Time in which this thread waited for what other replies had taken."""

    def __enter__(self) -> Self:
        _current.deadline = self
        return self

    def __exit__(self, *_: object) -> None:
        _current.deadline = None

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.at_s

    @property
    def elapsed_ms(self) -> float:
        """Time from sending the request to the last byte received."""
        return (self._ended - self._started) * 1000

    def sending(self) -> None:
        """Note that the request is sent now, after the connection was made."""
        self._started = self._ended = self._clock()
        self.sent_at = time.time()

    def leave_out(self, seconds: float) -> None:
        """Leave the last seconds out of the limit, in which this thread waited for its turn."""
        left_out = self.at_s + seconds - self._limit_at_s
        if time.thread_time() - self._cpu_before_s > _USUAL_CPU_S:
            left_out = min(left_out, _LEFT_OUT_S)
        self.at_s = self._limit_at_s + left_out

    def check(self) -> None:
        """Let others compute if reading the reply takes long.

        Raises:
            TimeoutError: the time is up.
        """
        cpu_s = time.thread_time()
        if cpu_s - self._cpu_paused_s < _SLICE_S:
            time_left(None)
            return
        self._cpu_paused_s = cpu_s
        with wait(None):
            time.sleep(_PAUSE_S)

    def paused(self, seconds: float) -> None:
        """Leave the last seconds out of the duration, in which this thread waited for others."""
        self.paused_s += seconds
        if self._clock is time.monotonic:
            self._started += seconds
            self._ended += seconds

    def received(self, age_s: float = 0.0) -> None:
        """Note that something was received, ``age_s`` before now."""
        now = self._clock()
        if self._clock is time.monotonic:  # the clock of a test knows no age
            now -= min(max(age_s, 0.0), now - self._ended)
        self._ended = now


def current() -> Deadline | None:
    """Return the deadline of this thread; None: there is none."""
    deadline: Deadline | None = getattr(_current, "deadline", None)
    return deadline


def check() -> None:
    """Do as ``Deadline.check`` for the deadline of this thread, if there is one."""
    if (deadline := current()) is not None:
        deadline.check()


def time_left(limit_s: float | None) -> float | None:
    """Return the limit of the next wait in seconds, ``limit_s`` at most; None: there is none.

    Raises:
        TimeoutError: the time is up.
    """
    deadline = current()
    if deadline is not None:
        left = deadline.at_s - time.monotonic()
        limit_s = left if limit_s is None else min(left, limit_s)
    if limit_s is not None and limit_s <= 0:
        raise TimeoutError("the time is up")
    return limit_s


class wait(waiting):
    """Release of the turn for one wait, whose limit it gives.

    Args:
        limit_s: longest wait in seconds; None: only the deadline limits it.

    Raises:
        TimeoutError: the time is up.
    """

    def __init__(self, limit_s: float | None) -> None:
        self._limit_s = limit_s

    def __enter__(self) -> float | None:
        limit = time_left(self._limit_s)
        super().__enter__()
        return limit

    def __exit__(self, *error: object) -> None:
        waited_until = time.monotonic()
        super().__exit__(*error)
        if (deadline := current()) is not None:
            deadline.leave_out(time.monotonic() - waited_until)
            if error[0] is None and deadline.passed:
                raise TimeoutError("the time is up")


def waited(left_s: float | None, once: Callable[[float], object]) -> float | None:
    """Wait in parts until something comes, and return what is left of a limit.

    No part uses up more than its length: for the rest of its time, this thread waited for a core,
    and what it waits for may have done so as well.

    Args:
        left_s: limit of the time waited; None: only the deadline limits it.
        once: waits for a number of seconds at most, and returns whether it came.

    Raises:
        TimeoutError: the time is up.
    """
    while True:
        with wait(_PART_S if left_s is None else min(left_s, _PART_S)) as part:
            assert part is not None  # one was given
            began = time.monotonic()
            came = once(part)
            if left_s is not None:
                left_s -= min(time.monotonic() - began, part)
        if came:
            return left_s
