"""The scale of a metric beside its values: 4.506 says little unless it is of 5."""

from __future__ import annotations

from pytest_rageval.metrics.registry import MetricInfo, unit_of
from pytest_rageval.support.text import format_value


def scale_end(info: MetricInfo | None) -> float | None:
    """Return the best value that a score can have, where it is not 1; None: it is, or it is open.

    Args:
        info: definition of the metric; None: unknown.
    """
    low, high = (0.0, None) if info is None else info.scale
    return high if low >= 0 and high != 1 else None


def of_scale(info: MetricInfo | None) -> str:
    """Return the best value of a score as `` of 5``; empty if it is 1, or open."""
    end = scale_end(info)
    return "" if end is None else f" of {end:g}"


def scaled(value: float | None, end: float | None, key: str = "") -> str:
    """Return a value with the end of its scale, such as ``4.506 of 5``.

    Args:
        value: of a metric; None is ``-``.
        end: result of ``scale_end``.
        key: of the metric, which decides the unit.
    """
    shown = format_value(value, unit_of(key))
    return shown if end is None or value is None else f"{shown} of {end:g}"
