from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.support.http.pacing import PaceTimes, RateLimiter, take_place
from pytest_rageval.support.threads import at_once
from pytest_rageval.values.errors import ConfigError


class FakeTime:
    """A clock that moves only when somebody sleeps."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def limiter(
    path: Path, time: FakeTime, *, requests: float | None = None, tokens: float | None = None
) -> RateLimiter:
    return RateLimiter(
        path,
        requests_per_minute=requests,
        tokens_per_minute=tokens,
        clock=time.clock,
        sleep=time.sleep,
    )


def test_requests_leave_evenly_spaced(tmp_path: Path) -> None:
    fake = FakeTime()
    line = limiter(tmp_path / "limit", fake, requests=30)
    assert [at_once(line.wait(0)) for _ in range(4)] == [0.0, 2.0, 2.0, 2.0]


def test_a_request_waits_until_the_tokens_of_the_one_before_are_paid(tmp_path: Path) -> None:
    fake = FakeTime()
    line = limiter(tmp_path / "limit", fake, tokens=600)
    assert [at_once(line.wait(n)) for n in (100, 50, 1)] == [
        0.0,
        10.0,
        5.0,
    ]


def test_the_stricter_of_two_limits_decides(tmp_path: Path) -> None:
    fake = FakeTime()
    line = limiter(tmp_path / "limit", fake, requests=60, tokens=6000)
    assert [at_once(line.wait(n)) for n in (500, 10, 10)] == [
        0.0,
        5.0,
        1.0,
    ]


def test_each_caller_sleeps_once_at_most(tmp_path: Path) -> None:
    fake = FakeTime()
    line = limiter(tmp_path / "limit", fake, requests=6)
    for _ in range(5):
        at_once(line.wait(0))
    assert fake.slept == [10.0] * 4


def test_two_limiters_over_one_file_share_the_limit(tmp_path: Path) -> None:
    fake = FakeTime()
    one = limiter(tmp_path / "limit", fake, requests=60)
    other = limiter(tmp_path / "limit", fake, requests=60)
    assert [at_once(one.wait(0)), at_once(other.wait(0)), at_once(one.wait(0))] == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(("expected", "used"), [(30, 10), (10, 25)])
def test_the_next_waits_for_the_tokens_that_were_used(
    tmp_path: Path, expected: int, used: int
) -> None:
    line = limiter(tmp_path / "limit", FakeTime(), tokens=60)
    at_once(line.wait(expected))
    line.settle(expected, used)
    assert at_once(line.wait(1)) == used


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        "\x00\x00",
        '{"seen": 1}',
        '{"seen": 0, "request": NaN, "token": 0}',
        '{"seen": 0, "request": 0, "token": 1e999}',
        f'{{"seen": {"9" * 400}, "request": 0, "token": 0}}',
        '{"seen": 0, "request": "soon", "token": 0}',
        "[" * 4000,
    ],
)
def test_a_torn_file_is_an_empty_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "limit").write_text(content, encoding="utf-8")
    fake = FakeTime()
    line = limiter(tmp_path / "limit", fake, requests=60)
    assert [at_once(line.wait(0)), at_once(line.wait(0))] == [0.0, 1.0]


@pytest.mark.parametrize("wrong", [0, -1, math.nan, math.inf])
def test_a_limit_that_is_no_number_above_0_is_refused(tmp_path: Path, wrong: float) -> None:
    with pytest.raises(ConfigError, match="tokens_per_minute"):
        RateLimiter(tmp_path / "limit", tokens_per_minute=wrong)


@given(
    st.lists(st.tuples(st.floats(0, 30), st.integers(0, 500)), max_size=30),
    st.integers(1, 100),
    st.integers(100, 5000),
)
def test_no_minute_holds_more_than_the_limits(
    arrivals: list[tuple[float, int]], per_minute: int, tokens_per_minute: int
) -> None:
    line, now = PaceTimes(), 0.0
    starts: list[tuple[float, int]] = []
    for pause, tokens in arrivals:
        now += pause
        start, line = take_place(line, now, tokens, 60 / per_minute, 60 / tokens_per_minute)
        assert start >= now
        starts.append((start, tokens))
    for first, _ in starts:
        window = [tokens for start, tokens in starts if first <= start < first + 60 - 1e-6]
        assert len(window) <= per_minute
        # The last one may reach over the end of the minute.
        assert sum(window[:-1]) <= tokens_per_minute + 1e-6


def test_threads_get_places_of_their_own(tmp_path: Path) -> None:
    slept: list[float] = []
    line = RateLimiter(
        tmp_path / "limit", requests_per_minute=60, clock=lambda: 50.0, sleep=slept.append
    )
    threads = [threading.Thread(target=lambda: at_once(line.wait(0))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(slept) == [float(place) for place in range(1, 20)]


def _take_places(path: Path, count: int) -> None:
    with open(path.with_name(f"waits-{os.getpid()}"), "w", encoding="utf-8") as out:
        line = RateLimiter(path, requests_per_minute=60, clock=lambda: 50.0, sleep=lambda _: None)
        json.dump([at_once(line.wait(0)) for _ in range(count)], out)


@pytest.mark.slow
def test_processes_share_one_line(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_take_places, args=(tmp_path / "limit", 50)) for _ in range(3)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    waits = [w for file in tmp_path.glob("waits-*") for w in json.loads(file.read_text("utf-8"))]
    assert sorted(waits) == [float(place) for place in range(150)]


_HOLDER = """
import sys, time
from pathlib import Path
from pytest_rageval.support.http.pacing import RateLimiter
limiter = RateLimiter(Path(sys.argv[1]), requests_per_minute=60)
with limiter._locked() as file:
    file.write('{"seen": ')
    file.flush()
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a POSIX signal")
def test_a_holder_that_is_killed_while_writing_blocks_nobody(tmp_path: Path) -> None:
    path = tmp_path / "limit"
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    with holder.stdout:
        assert holder.stdout.readline() == "held\n"
        waits: list[float] = []
        waiter = threading.Thread(
            target=lambda: waits.append(at_once(limiter(path, FakeTime(), requests=60).wait(0)))
        )
        waiter.start()
        waiter.join(0.3)
        assert waiter.is_alive(), "the lock is held"
        before = time.process_time()
        holder.send_signal(signal.SIGKILL)
        waiter.join(10)
        assert waits == [0.0]
        assert time.process_time() - before < 1.0
        holder.wait(10)
