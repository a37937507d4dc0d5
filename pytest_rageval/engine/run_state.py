"""State of a run that all its parts share: settings, case files and targets asked."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_rageval.support.text import counted

if TYPE_CHECKING:
    from pytest_rageval.analysis.trust.reliability import JudgeLabels
    from pytest_rageval.metrics.registry import Registry
    from pytest_rageval.project.case_reader import LoadedSet
    from pytest_rageval.values.gate import Thresholds
    from pytest_rageval.values.record import CaseRecord
    from pytest_rageval.values.settings import Settings


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
        error = record.error
        with self._lock:
            if error is None or error.kind not in {"connection", "timeout"}:
                self.streak = self.timeouts = 0
                return
            self.streak += 1
            self.timeouts += error.kind == "timeout"
            if self.streak >= self.limit and not self.open:
                what = f"{self.streak} connection errors and timeouts"
                if self.timeouts in {0, self.streak}:
                    what = counted(self.streak, "timeout" if self.timeouts else "connection error")
                row = " in a row" if self.streak > 1 else ""
                self.open = True
                self.reason = (
                    f"gave up after {what}{row} "
                    f"(--rageval-max-errors {self.limit}); the last one: {error.message}"
                )

    def opened_elsewhere(self, reason: str) -> None:
        """Open the breaker because another process of the run gave up."""
        with self._lock:
            if not self.open:
                self.open, self.reason = True, reason


@dataclass
class RunState:
    """Settings, thresholds and loaded case files of a run, and the targets asked so far."""

    settings: Settings
    thresholds: Thresholds
    breaker: Breaker
    registry: Registry
    """The metrics of the session."""
    files: tuple[Path, ...]
    """Case files that the command line asks for."""
    all_files: tuple[Path, ...]
    """Case files of the whole set: those of the test paths and those asked for."""
    sets: dict[Path, LoadedSet] = field(default_factory=dict)
    """Case files that could be loaded."""
    finished: dict[str, dict[int, tuple[CaseRecord, ...] | None]] = field(default_factory=dict)
    """Of a resumed run: by item the repeats that earlier sessions finished, with the records of
    their turns; None: another process holds them."""
    concurrency: int | None = None
    """Requests in flight at most, as the clients of the cases asked so far allowed; 0: all replies
    were replayed; None: not known yet."""
    cores_needed: float | None = None
    """Cores that the process used or waited for while it asked, of several processes the most;
    None: not known."""
    notes: list[str] = field(default_factory=list)
    """Remarks on the selection for the user, a sentence each."""
    labels: JudgeLabels | None = None
    """People's labels of some cases; None without labels, or if this process does not aggregate."""
    run_id: str = ""
    """Name of the run; empty: not known yet."""
    asked: set[str] = field(default_factory=set)
    """Targets that the cases reported so far have asked, in words: the configured one or the
    fixtures that replaced it."""
