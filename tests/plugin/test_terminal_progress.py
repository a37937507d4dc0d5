from __future__ import annotations

import os
import threading
import time
from types import SimpleNamespace
from typing import IO, Any, cast

import pytest

from pytest_rageval.engine.run_cases import duration_text, progress_text
from pytest_rageval.plugin.terminal import Heartbeat


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (45, "45 s"), (60, "1 min"), (240, "4 min"), (3600, "1.0 h"), (5400, "1.5 h")],
)
def test_durations_are_rounded_for_people(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_time_left_assumes_the_pace_so_far() -> None:
    text = progress_text(done=20, total=80, missed=3, errors=0, elapsed_s=10)
    assert text == "20/80 cases, 3 missed, 0 errors, 2.0 cases/s, about 30 s left"


def test_nothing_is_foretold_before_the_first_case() -> None:
    text = progress_text(done=0, total=80, missed=0, errors=0, elapsed_s=10)
    assert text == "0/80 cases, 0 missed, 0 errors"


def config_writing_to(file: IO[str]) -> pytest.Config:
    reporter = SimpleNamespace(_tw=SimpleNamespace(_file=file), currentfspath="a.py")
    plugins = SimpleNamespace(getplugin=lambda name: reporter)
    return cast(pytest.Config, SimpleNamespace(pluginmanager=plugins))


def beat(heartbeat: Heartbeat, *, until: bytes) -> bytes:
    """Run a heartbeat on a pipe until it wrote ``until``."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    seen = b""
    with open(writing, "w", encoding="utf-8") as file:
        heartbeat.start(config_writing_to(file))
        deadline = time.monotonic() + 5
        while until not in seen and time.monotonic() < deadline:
            time.sleep(0.005)
            try:
                seen += os.read(reading, 4096)
            except BlockingIOError:
                continue
        heartbeat.stop()
    os.close(reading)
    return seen


def test_a_heartbeat_writes_lines_where_nobody_watches() -> None:
    seen = beat(Heartbeat(lambda: "3/9 cases", interval_s=0.01), until=b"3/9 cases\n")
    assert seen.startswith(b"\nrageval: 3/9 cases\n")


def test_a_heartbeat_waits_for_something_to_say() -> None:
    texts: list[Any] = [None, None, "1/9 cases"]
    heartbeat = Heartbeat(lambda: texts.pop(0) if len(texts) > 1 else texts[0], interval_s=0.01)
    assert beat(heartbeat, until=b"1/9").startswith(b"\nrageval: 1/9 cases\n")


def test_a_heartbeat_stays_ascii() -> None:
    seen = beat(Heartbeat(lambda: "caf\u00e9 \u202e", interval_s=0.01), until=b"caf")
    assert seen.startswith(b"\nrageval: caf? ?\n")


def test_a_heartbeat_shows_on_a_terminal_too() -> None:
    reading, writing = os.openpty()
    with open(writing, "w", encoding="utf-8") as file:
        heartbeat = Heartbeat(lambda: "1/9 cases", interval_s=0.01)
        heartbeat.start(config_writing_to(file))
        seen = b""
        while b"1/9 cases" not in seen:
            seen += os.read(reading, 100)
        heartbeat.stop()
    os.close(reading)
    assert seen.startswith(b"\r\nrageval: 1/9 cases")


def test_a_heartbeat_that_never_started_can_be_stopped() -> None:
    beats: list[str] = []
    before = threading.active_count()
    heartbeat = Heartbeat(lambda: beats.append("beat"), interval_s=0.001)
    heartbeat.stop()
    heartbeat.stop()
    assert (beats, threading.active_count()) == ([], before)
