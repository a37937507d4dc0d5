"""Notes about a decision in a terminal report: a line for every check of a gate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pytest_rageval.report.view.blocks import HEAD, Block, Note, Status, labelled
from pytest_rageval.support.text import counted, first_few, format_value
from pytest_rageval.values.gate import (
    CHANGE_WORDS,
    BaselineInfo,
    CheckResult,
    GateResult,
    paired_text,
)

VERDICTS: Mapping[str, tuple[str, Status]] = {
    "pass": ("ok", "good"),
    "fail": ("FAIL", "bad"),
    "warn": ("warn", "warn"),
    "skip": ("skipped", "warn"),
}
"""Word and colour of each status of a check."""


GATE_STYLES: Final[Mapping[str, Status]] = {
    "pass": "good",
    "fail": "bad",
    "not_evaluated": "warn",
}
"""Colour of each verdict of a gate, whose word says the same."""


def render_gate(run_id: str, gate: GateResult) -> Iterator[Block]:
    """Lay out a decision."""
    yield ((f"{'run':<{HEAD}}", "strong"), (run_id, ""))
    if gate.baseline is not None:
        yield labelled(
            "baseline", gate.baseline.sentence, "warn" if gate.baseline.problem else "strong"
        )
        yield from since_lines(gate.baseline)
    yield from check_lines(gate.checks)
    yield labelled("gate", gate.sentence, GATE_STYLES[gate.verdict])
    yield from weak_lines(gate.checks)


def check_lines(checks: Iterable[CheckResult]) -> Iterator[Note]:
    """Yield the lines of checks, each with how small a change it could have seen."""
    for result in checks:
        word, style = VERDICTS[result.status]
        seen = detectable_text(result)
        text = f"{result.check.name}: {result.message}" + (f" ({seen})" if seen else "")
        yield labelled(word, text, style)


def since_lines(info: BaselineInfo) -> Iterator[Note]:
    """Yield what changed since a baseline: the verdict, the lost group, the newly missed cases."""
    if info.verdict:
        yield labelled("versus", info.verdict)
    if info.lost:
        yield labelled("lost", info.lost, "bad")
    if info.n_newly_missed or info.n_fixed:
        more = info.n_newly_missed - len(info.newly_missed)
        names = ", ".join(info.newly_missed) + (f" and {more} more" if more else "")
        missed = f"{info.n_newly_missed} newly missed{f': {names}' if names else ''}"
        yield labelled("since", f"{missed}; {info.n_fixed} no longer missed")


_WEAK_SHOWN: Final = 5


def weak_lines(checks: Iterable[CheckResult]) -> Iterator[Note]:
    """Yield lines that name the decided checks with fewer cases than their ``min_n``."""
    weak = [r.check.name for r in checks if r.small_n and r.status != "skip"]
    if weak:
        few = f"{counted(len(weak), 'check')} {'has' if len(weak) == 1 else 'have'} few cases"
        names = first_few(weak, _WEAK_SHOWN)
        yield labelled("", f"weak evidence: {few}: {names}", "", "warn")


_MOST_NEEDED: Final = 10_000


def detectable_text(result: CheckResult) -> str | None:
    """Describe the smallest change that a baseline check can detect; None for other checks."""
    word = CHANGE_WORDS.get(result.check.kind)
    # Without an interval, or where no case differed on an unbounded scale, it is unknown.
    if word is None or result.low is None or result.mde == 0:
        return None
    size = detectable_size(result)
    seen = f"only a {word} of {size} or more" if size else f"no {word}"
    cases = paired_text(result.n or 0, result.n_documents)
    return f"with {cases}, {seen} would be reliably detected{_needed_text(result)}"


def _needed_text(result: CheckResult) -> str:
    """Return how many cases would show the change of a check that is not proven; empty: none."""
    sign = -1.0 if result.check.kind == "max_drop" else 1.0
    beyond = sign * (result.estimate or 0.0) - result.check.limit
    if result.proof != "unproven" or not result.mde or not result.n or beyond <= 0:
        return ""
    n = math.ceil(result.n * (result.mde / beyond) ** 2)
    return f"; this one would need about {n}" if result.n < n <= _MOST_NEEDED else ""


def detectable_size(result: CheckResult) -> str | None:
    """Return the smallest change that these cases detect at 80 % power; None: unknown, or none."""
    return format_value(result.mde) if result.mde else None
