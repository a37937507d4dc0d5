"""What a pytest session knows about its evaluation, in one place per process.

Standard library alone: the plugin imports it at load.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_rageval.cassettes import Cassettes
    from pytest_rageval.judge_reliability import JudgeLabels
    from pytest_rageval.lookahead import Lookahead
    from pytest_rageval.models import CaseRecord, Settings, Thresholds
    from pytest_rageval.slots import Slots


@dataclass
class Breaker:
    """Gives up on a target after a number of connection errors or timeouts in a row."""

    limit: int
    streak: int = 0
    timeouts: int = 0
    """Of the streak."""
    open: bool = False
    reason: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def count(self, record: CaseRecord) -> None:
        """Count one finished case, in order of completion, from any thread."""
        with self._lock:
            self._count(record)

    def _count(self, record: CaseRecord) -> None:
        error = record.error
        if error is None or error.kind not in {"connection", "timeout"}:
            self.streak = self.timeouts = 0
            return
        self.streak += 1
        self.timeouts += error.kind == "timeout"
        if self.streak >= self.limit and not self.open:
            what = "connection errors and timeouts"
            if self.timeouts in {0, self.streak}:
                what = "timeouts" if self.timeouts else "connection errors"
            self._open(
                f"gave up after {self.streak} {what} in a row "
                f"(--rageval-max-errors {self.limit}); the last one: {error.message}"
            )

    def opened_elsewhere(self, reason: str) -> None:
        """Learn that another process of the run gave up."""
        with self._lock:
            if not self.open:
                self._open(reason)

    def _open(self, reason: str) -> None:
        self.open, self.reason = True, reason


@dataclass
class State:
    """Settings, thresholds and loaded case files of this process."""

    settings: Settings
    thresholds: Thresholds
    breaker: Breaker
    files: tuple[Path, ...]
    """Case files that the command line asks for."""
    all_files: tuple[Path, ...]
    """Case files of the whole set: those of the test paths and those asked for."""
    sets: dict[Path, Any] = field(default_factory=dict)
    """Loaded case files, or the ``DatasetError`` that loading them gave."""
    target_url: str | None = None
    """Where the controller serves the embedded target, when this process is a worker."""
    slots: Slots | None = None
    """Of which every request of this process holds one; None: no limit."""
    lookahead: Lookahead | None = None
    """What asks cases ahead of their turn; None: they go one by one."""
    deliver: Callable[[str, CaseRecord], None] | None = None
    """Keeps the record of a finished case, by node id and on any thread; None: its report
    carries it to another process."""
    finished: dict[str, dict[int, CaseRecord | None]] = field(default_factory=dict)
    """Of a resumed run: by node id the repeats that earlier sessions finished, with their records;
    None: another process holds it."""
    only: frozenset[tuple[str, str]] | None = None
    """File and id of the cases that failed in the run whose failures are selected; None: no such
    selection."""
    part: frozenset[tuple[str, str]] | None = None
    """File and id of the cases of this shard; None: the set is not cut into parts."""
    notes: list[str] = field(default_factory=list)
    """What the user should know about the selection, a sentence each."""
    cassettes: Cassettes | None = None
    """What records or replays the traffic of the cases; None: they ask live."""
    labels: JudgeLabels | None = None
    """People's labels of some cases; None: there are none, or this process sums nothing up."""
    judges: list[object] = field(default_factory=list)
    """Those that cases of this process were judged by so far."""
    judged_twice: frozenset[tuple[str, str]] = frozenset()
    """File and id of the cases that the spot check chose, known once all are collected."""
    asked: set[str] = field(default_factory=set)
    """What the cases that were reported so far have asked, in words: the configured target or
    the fixtures that took its place."""

    @property
    def on_miss_fails(self) -> bool:
        """Whether a miss fails the run by itself."""
        return self.thresholds.on_miss == "fail"
