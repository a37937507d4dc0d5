"""State of a run that all its parts share: settings, case files and targets asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_rageval.support.text import counted, part

if TYPE_CHECKING:
    from pytest_rageval.analysis.trust.reliability import JudgeLabels
    from pytest_rageval.metrics.registry import Registry
    from pytest_rageval.project.case_reader import LoadedSet
    from pytest_rageval.values.gate import Thresholds
    from pytest_rageval.values.record import CaseRecord
    from pytest_rageval.values.settings import Settings


Spent = tuple[int, float, str]
"""Calls of target and judge, US dollars, and who has no known price: ``target``, ``judge`` or
empty."""


@dataclass
class Budget:
    """Calls and money that a session may spend on target and judge together."""

    max_calls: int | None = None
    max_cost: float | None = None
    """US dollars."""
    call_price: float | None = None
    """US dollars of a question whose reply says no cost; None: unknown, and counted as 0."""
    calls: int = 0
    cost: float = 0.0
    unpriced: set[str] = field(default_factory=set)
    """Of target and judge those that were asked at an unknown price."""

    def spent_on(self, record: CaseRecord) -> Spent:
        """Return what a record has cost; attempts that failed and were repeated do not count."""
        asked = record.error is None or record.error.attempts > 0
        questions = asked + (record.alone is not None)
        price = record.reply.usage.get("cost_usd", self.call_price)
        calls, cost = questions, questions * (price or 0.0)
        unpriced = "target" if questions and price is None else ""
        if (judged := record.verdicts.usage) is not None and judged.calls:
            calls += judged.calls
            cost += judged.cost_usd or 0.0
            unpriced = "judge" if judged.cost_usd is None else unpriced
        return calls, cost, unpriced

    def spend(self, spent: Spent) -> None:
        """Count what was spent."""
        calls, cost, unpriced = spent
        self.calls += calls
        self.cost += cost
        self.unpriced |= {unpriced} - {""}

    def used_up(self, in_flight: int = 0) -> str:
        """Say why nothing more may be asked; empty: it may.

        Args:
            in_flight: questions in flight, each of which is a call at least.
        """
        if self.max_calls is not None and self.calls + in_flight >= self.max_calls:
            return f"asking stopped at --rageval-max-calls {self.max_calls}"
        if self.max_cost is None:
            return ""
        if "judge" in self.unpriced:
            return (
                "asking stopped, since the price of the judge's model is unknown, which "
                "--rageval-max-cost needs: set input_per_mtok and output_per_mtok in "
                "[tool.rageval.judge]"
            )
        if self.cost >= self.max_cost:
            return f"asking stopped at --rageval-max-cost {self.max_cost:g}"
        return ""

    def notes(self) -> Iterator[str]:
        """Yield what the budget does not count."""
        if self.max_cost is not None and "target" in self.unpriced:
            yield (
                "--rageval-max-cost counts the judge alone: the target says no cost_usd, and "
                "call_price of [tool.rageval.target] is not set"
            )


@dataclass
class Breaker:
    """Gives up on a target after errors in a row, or once the budget of a session is used up."""

    limit: int
    budget: Budget = field(default_factory=Budget)
    is_replay: Callable[[], bool] = field(default=lambda: False, repr=False)
    """Whether the case under way was replayed, which costs nothing."""
    in_flight: int = 0
    """Questions that were begun in this process and have no record yet."""
    streak: int = 0
    timeouts: int = 0
    """Of the streak."""
    open: bool = False
    reason: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def of(cls, settings: Settings) -> Breaker:
        """Return that of a session."""
        price = settings.target.call_price
        budget = Budget(settings.max_calls, settings.max_cost, price)
        return cls(settings.max_errors, budget)

    def begin(self) -> bool:
        """Count a question as in flight; False: the run gave up, and it must not be asked."""
        with self._lock:
            if not self.open:
                self._open_for(self.budget.used_up(self.in_flight))
            self.in_flight += not self.open
            return not self.open

    def end(self, record: CaseRecord | None) -> None:
        """Count a question that was begun as over; None: it has no record."""
        with self._lock:
            self.in_flight -= 1
        if record is not None:
            if not self.is_replay():
                self.spend(self.budget.spent_on(record))
            self.count(record)

    def spend(self, spent: Spent) -> bool:
        """Count what a record has cost, and return whether that has ended the asking."""
        with self._lock:
            was_open = self.open
            self.budget.spend(spent)
            if not was_open:
                self._open_for(self.budget.used_up())
            return self.open and not was_open

    def _open_for(self, reason: str) -> None:
        self.open, self.reason = bool(reason), reason

    @property
    def gave_up(self) -> str:
        """Say why the rest was not asked, and what was spent; empty: all was asked."""
        budget = self.budget
        if not self.open or budget.max_calls is budget.max_cost is None:
            return self.reason
        spent = counted(budget.calls, "call") + part(", ${:.4f}", budget.cost)
        return f"{self.reason}; spent with what was in flight then: {spent}"

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
                self._open_for(
                    f"gave up after {what}{row} "
                    f"(--rageval-max-errors {self.limit}); the last one: {error.message}"
                )

    def opened_elsewhere(self, reason: str) -> None:
        """Open the breaker because another process of the run gave up."""
        with self._lock:
            if not self.open:
                self._open_for(reason)


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
    failed_before: frozenset[str] = frozenset()
    """Node ids of cases that did not pass in the baseline, where passing asks for more answers."""
    asked: set[str] = field(default_factory=set)
    """Targets that the cases reported so far have asked, in words: the configured one or the
    fixtures that replaced it."""
