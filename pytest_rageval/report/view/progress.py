"""One line about a run under way: counts so far, pace and time left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pytest_rageval.report.view.blocks import Line, Status
from pytest_rageval.support.text import counted
from pytest_rageval.values.record import Outcome

_COUNTED: Final[tuple[tuple[Outcome, str, Status], ...]] = (
    ("missed", "missed", "warn"),
    ("flawed", "flawed", "warn"),
    ("error", "error", "bad"),
)
"""Outcomes that the line counts, each with its word and its colour where it occurs."""
_BREAK: Final = ", "


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Counts of the cases of a run under way."""

    total: int
    outcomes: Mapping[Outcome, int]
    """Finished cases of this and earlier sessions, by outcome."""
    errors: Mapping[str, int]
    """Finished cases without an answer, by kind of error."""
    earlier: int = 0
    """Finished by earlier sessions of the run."""
    elapsed_s: float
    """Seconds since this session began to ask."""
    last_s: float = 0.0
    """Seconds from the same moment to the latest finished case."""
    in_flight: int | None = None
    """Requests sent and not answered; None: not known in this process."""
    pausing: int = 0
    """Requests that failed and pause before another attempt."""
    limited: int = 0
    """Requests that wait for the rate limit of the judge."""

    @property
    def done(self) -> int:
        """Number of finished cases."""
        return sum(self.outcomes.values())

    @property
    def left_s(self) -> float | None:
        """Seconds to the end at the pace of this session; None before its first finished cases."""
        here, to_do = self.done - self.earlier, self.total - self.done
        # The first one of many asked at once says nothing about the pace of all.
        if here < (self.in_flight or 1) or self.elapsed_s <= 0:
            return None
        # Cases often end in bursts. Between two of them the time left counts down.
        left = self.last_s / here * to_do - (self.elapsed_s - self.last_s)
        return left if left > 0 else self.elapsed_s / here * to_do


def progress_line(progress: Progress, width: int | None = None) -> Line:
    """Describe the progress of a run: ``120/600 cases, 3 missed, 2 errors (2 http), 4 min left``.

    Args:
        progress: the counts.
        width: most characters; what does not fit is left out, the least important part first.
            None: no limit.
    """
    line: list[tuple[str, Status]] = []
    used = 0
    for text, style in _parts(progress):
        before = _BREAK if line else ""
        used += len(before) + len(text)
        if width is not None and used > width:
            break
        line += [(before, ""), (text, style)] if before else [(text, style)]
    return tuple(line)


def _parts(progress: Progress) -> Iterator[tuple[str, Status]]:
    """Yield the parts of the line, the most important first."""
    yield f"{progress.done}/{counted(progress.total, 'case')}", "strong"
    for outcome, word, style in _COUNTED:
        count = progress.outcomes.get(outcome, 0)
        if outcome == "flawed" and not count:
            continue
        text = counted(count, word) if outcome == "error" else f"{count} {word}"
        if outcome == "error" and progress.errors:
            kind = max(progress.errors, key=lambda kind: progress.errors[kind])
            text += f" ({progress.errors[kind]} {kind})"
        yield text, style if count else ""
    left = progress.left_s
    if left is None:
        yield f"{duration_text(progress.elapsed_s)} so far", ""
    elif progress.done < progress.total:
        yield f"{duration_text(left)} left", ""
    if progress.in_flight is not None:
        yield f"{progress.in_flight} in flight", ""
    if progress.pausing:
        yield f"{progress.pausing} waiting to retry", "warn"
    if progress.limited:
        yield f"{progress.limited} rate-limited", "warn"
    if left is not None:
        rate = (progress.done - progress.earlier) / progress.elapsed_s
        yield (f"{rate:.1f}/s" if rate >= 1 else f"{rate * 60:.1f}/min"), ""


def duration_text(seconds: float) -> str:
    """Round a duration for people: ``45 s``, ``4 min``, ``1.5 h``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
