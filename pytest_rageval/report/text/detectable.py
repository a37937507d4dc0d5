"""How small a change a check could have seen, in words."""

from __future__ import annotations

from pytest_rageval.metrics.registry import METRICS
from pytest_rageval.support.numbers import format_value
from pytest_rageval.values.gate import CheckResult


def detectable_text(result: CheckResult) -> str | None:
    """Say how small a change a check against a baseline could have seen; None: it is none."""
    check = result.check
    if check.kind not in {"max_drop", "max_rise"} or result.mde is None:
        return None
    word = "drop" if check.kind == "max_drop" else "rise"
    cases = "1 case" if result.n == 1 else f"{result.n} cases"
    size = detectable_size(result)
    return f"{cases} would show {f'a {word} of {size}' if size else f'no {word}: too few'}"


def detectable_size(result: CheckResult) -> str | None:
    """Return the smallest change that as many cases show at 80 % power.

    None: unknown, or none that the metric could make.
    """
    info = METRICS.get(result.check.metric)
    low, high = (
        info.scale if info else (0.0, 1.0 if result.check.metric.endswith("_rate") else None)
    )
    if result.mde is None or (high is not None and result.mde > high - low):
        return None
    return format_value(result.mde)
