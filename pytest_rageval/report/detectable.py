"""How small a change a check could have seen, in words."""

from __future__ import annotations

from pytest_rageval.models import CheckResult
from pytest_rageval.report.numbers import format_value


def detectable_text(result: CheckResult) -> str | None:
    """Say how small a change a check against a baseline could have seen; None: it is none."""
    check = result.check
    if check.kind not in {"max_drop", "max_rise"} or result.mde is None:
        return None
    word = "drop" if check.kind == "max_drop" else "rise"
    cases = "1 case" if result.n == 1 else f"{result.n} cases"
    return f"{cases} would show a {word} of {format_value(result.mde)}"
