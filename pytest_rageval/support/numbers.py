"""Formatting of numbers. A figure below a limit is never shown as reaching it."""

from __future__ import annotations

from decimal import Decimal
from typing import Final, Literal

Unit = Literal["score", "ms", "usd", "count"]

TOLERANCE: Final = 1e-9
"""Differences up to this are float noise, here and in the gate."""

_MAX_DECIMALS: Final = 12


def unit_of(metric: str) -> Unit:
    """The unit of a metric key of a case or of a run."""
    if metric.startswith("latency_ms"):
        return "ms"
    if metric.startswith("cost_usd"):
        return "usd"
    return "count" if metric in {"newly_missed", "judge_tokens"} else "score"


def _decimals(value: float, unit: Unit) -> int:
    if unit == "usd":
        return 4 if 0 < abs(value) < 1 else 2
    if unit == "ms":
        return 1 if 0 < abs(value) < 10 else 0
    if unit == "count":
        return 0
    return 3 if abs(value) < 1000 else 0


def _text(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def format_value(value: float | None, unit: Unit = "score") -> str:
    """A number for people, without its unit; ``-`` for no value.

    A score that is not whole never looks whole: 0.9996 is not shown as 1.000.

    >>> format_value(0.8333333), format_value(0.9996), format_value(2600.4, "ms")
    ('0.833', '0.9996', '2600')
    """
    if value is None:
        return "-"
    decimals = _decimals(value, unit)
    if unit == "score" and abs(value) < 1000 and abs(value - round(value)) > TOLERANCE:
        while float(_text(value, decimals)) == round(value) and decimals < _MAX_DECIMALS:
            decimals += 1
    return _text(value, decimals)


def _decimals_of(limit: float) -> int:
    exponent = Decimal(repr(float(limit))).normalize().as_tuple().exponent
    return min(max(0, -exponent), 9) if isinstance(exponent, int) else 0


def format_limit_pair(value: float, limit: float, unit: Unit = "score") -> tuple[str, str]:
    """A value and its limit, with enough decimals to distinguish them.

    >>> format_limit_pair(0.7, 0.75), format_limit_pair(0.8496, 0.85)
    (('0.700', '0.750'), ('0.8496', '0.8500'))
    """
    decimals = max(_decimals(value, unit), _decimals(limit, unit), _decimals_of(limit))
    apart = abs(value - limit) > TOLERANCE
    while apart and _text(value, decimals) == _text(limit, decimals) and decimals < _MAX_DECIMALS:
        decimals += 1
    return _text(value, decimals), _text(limit, decimals)
