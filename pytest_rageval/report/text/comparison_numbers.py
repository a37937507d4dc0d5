"""How the numbers of a comparison look, wherever they stand. Pure."""

from __future__ import annotations

from pytest_rageval.analysis.compare.metrics import MetricChange


def interval_text(change: MetricChange) -> str:
    """Show the interval of a difference as ``-0.09 .. +0.05``; ``-`` where there is none."""
    if change.low is None or change.high is None:
        return "-"
    return f"{change.low:+.2f} .. {change.high:+.2f}"


def p_text(p: float | None) -> str:
    """Show a p-value; below 0.001 it is only said to be so."""
    if p is None:
        return "-"
    return "<.001" if p < 0.001 else f"{p:.3f}"
