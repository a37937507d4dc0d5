"""Lines of a terminal report: styles, width, and a line for every check of a gate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from pytest_rageval.support.text import (
    clean,
    columns_of,
    counted,
    cut_columns,
    first_few,
    format_value,
    wrapped_text,
)
from pytest_rageval.values.gate import (
    CHANGE_WORDS,
    BaselineInfo,
    CheckResult,
    GateResult,
    paired_text,
)

Style = Literal["", "green", "red", "yellow", "bold", "dim"]


Line = tuple[tuple[str, Style], ...]
"""Segments of one line, left to right."""


VERDICTS: Mapping[str, tuple[str, Style]] = {
    "pass": ("ok", "green"),
    "fail": ("FAIL", "red"),
    "warn": ("warn", "yellow"),
    "skip": ("skipped", "yellow"),
}
"""Word and colour of each status of a check."""


GATE_STYLES: Final[Mapping[str, Style]] = {
    "pass": "green",
    "fail": "red",
    "not_evaluated": "yellow",
}
"""Colour of each verdict of a gate, whose word says the same."""


def fit_line(line: Line, width: int) -> Line:
    """Cut a line that is wider than the terminal, and end it in ``..``."""
    left = width
    fitted: list[tuple[str, Style]] = []
    for text, style in line:
        fitted.append((cut_columns(text, left, ".."), style))
        left -= columns_of(fitted[-1][0])
    return tuple(fitted)


def that_fit(parts: Sequence[str], between: str, room: int) -> Sequence[str]:
    """Return the first of some parts that fit into a line, at least one."""
    n = 1
    while n < len(parts) and columns_of(between.join(parts[: n + 1])) <= room:
        n += 1
    return parts[:n]


HEAD: Final = 9
"""Columns of the word that begins a line of notes."""


def wrapped(
    head: str, text: str, width: int, head_style: Style = "bold", style: Style = ""
) -> Iterator[Line]:
    """Yield a text made safe as lines of at most ``width``, the first with a word before it."""
    for part in wrapped_text(clean(text), max(width - HEAD, 20)) or [""]:
        yield ((f"{head:<{HEAD}}", head_style), (part, style))
        head = ""


def wrapped_lines(head: str, text: str, width: int) -> Iterator[Line]:
    """Yield a text as ``wrapped`` does, each of its own lines on a new one."""
    for part in text.splitlines() or [""]:
        yield from wrapped(head, part, width)
        head = ""


def indented(text: str, indent: int, width: int) -> Line:
    """Return one line of code or output, made safe, with its own indentation and ``>`` mark."""
    rest = text.lstrip("> ")
    before = " " * indent + text[: len(text) - len(rest)]
    return ((before, ""), (cut_columns(clean(rest), max(width - len(before), 1)), ""))


def render_gate(run_id: str, gate: GateResult, *, width: int = 80) -> list[Line]:
    """Lay out a decision."""
    lines: list[Line] = [((f"{'run':<{HEAD}}", "bold"), (clean(run_id), ""))]
    if gate.baseline is not None:
        style: Style = "yellow" if gate.baseline.problem else "bold"
        lines += wrapped("baseline", gate.baseline.sentence, width, style)
        lines += since_lines(gate.baseline, width)
    lines += check_lines(gate.checks, width)
    lines += wrapped("gate", gate.sentence, width, GATE_STYLES[gate.verdict])
    lines += weak_lines(gate.checks, width)
    return [fit_line(line, width) for line in lines]


def check_lines(checks: Iterable[CheckResult], width: int) -> Iterator[Line]:
    """Yield the lines of checks, each with how small a change it could have seen."""
    for result in checks:
        word, style = VERDICTS[result.status]
        seen = detectable_text(result)
        text = f"{result.check.name}: {result.message}" + (f" ({seen})" if seen else "")
        yield from wrapped(word, text, width, style)


def since_lines(info: BaselineInfo, width: int) -> Iterator[Line]:
    """Yield what changed since a baseline: the verdict, the lost group, the newly missed cases."""
    if info.verdict:
        yield from wrapped("versus", info.verdict, width)
    if info.lost:
        yield from wrapped("lost", info.lost, width, "red")
    if info.n_newly_missed or info.n_fixed:
        more = info.n_newly_missed - len(info.newly_missed)
        names = ", ".join(info.newly_missed) + (f" and {more} more" if more else "")
        missed = f"{info.n_newly_missed} newly missed{f': {names}' if names else ''}"
        yield from wrapped("since", f"{missed}; {info.n_fixed} no longer missed", width)


_WEAK_SHOWN: Final = 5


def weak_lines(checks: Iterable[CheckResult], width: int) -> Iterator[Line]:
    """Yield lines that name the decided checks with fewer cases than their ``min_n``."""
    weak = [r.check.name for r in checks if r.small_n and r.status != "skip"]
    if weak:
        few = f"{counted(len(weak), 'check')} {'has' if len(weak) == 1 else 'have'} few cases"
        names = first_few(weak, _WEAK_SHOWN)
        yield from wrapped("", f"weak evidence: {few}: {names}", width, "", "yellow")


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
