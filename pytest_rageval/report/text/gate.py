"""The gate of a stored run on a terminal: a line for every check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pytest_rageval.metrics.registry import METRICS
from pytest_rageval.report.text.lines import HEAD, VERDICTS, Line, Style, fit_line, wrapped
from pytest_rageval.support.text import clean, counted, format_value
from pytest_rageval.values.gate import CheckResult, GateResult


def render_gate(run_id: str, gate: GateResult, *, width: int = 80) -> list[Line]:
    """Lay out a decision.

    Args:
        run_id: of the run that was decided.
        gate: the decision.
        width: columns of the terminal.
    """
    lines: list[Line] = [((f"{'run':<{HEAD}}", "bold"), (clean(run_id), ""))]
    if gate.baseline is not None:
        style: Style = "yellow" if gate.baseline.problem else "bold"
        lines += wrapped("baseline", gate.baseline.sentence, width, style)
    lines += check_lines(gate.checks, width)
    styles: dict[str, Style] = {"pass": "green", "fail": "red", "not_evaluated": "yellow"}
    lines += wrapped("gate", gate.sentence, width, styles[gate.verdict])
    return [fit_line(line, width) for line in lines]


def check_lines(checks: Iterable[CheckResult], width: int) -> Iterator[Line]:
    """Yield the lines of checks, each with how small a change it could have seen."""
    for result in checks:
        word, style = VERDICTS[result.status]
        seen = detectable_text(result)
        text = f"{result.check.name}: {result.message}" + (f" ({seen})" if seen else "")
        yield from wrapped(word, text, width, style)


def detectable_text(result: CheckResult) -> str | None:
    """Describe the smallest change that a baseline check can detect; None for other checks."""
    check = result.check
    if check.kind not in {"max_drop", "max_rise"} or result.mde is None or not result.n:
        return None
    word = "drop" if check.kind == "max_drop" else "rise"
    size = detectable_size(result)
    seen = f"a {word} of {size}" if size else f"no {word}: too few"
    return f"{counted(result.n, 'case')} would show {seen}"


def detectable_size(result: CheckResult) -> str | None:
    """Return the smallest change that these cases detect at 80 % power.

    None: unknown, or larger than the metric's range.
    """
    info = METRICS.get(result.check.metric)
    low, high = (
        info.scale if info else (0.0, 1.0 if result.check.metric.endswith("_rate") else None)
    )
    if result.mde is None or (high is not None and result.mde > high - low):
        return None
    return format_value(result.mde)
