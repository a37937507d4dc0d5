"""The decision about a stored run in Markdown: ids and numbers, no text of anybody's."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_rageval.report.markdown.summary import baseline_line, check_table, escape
from pytest_rageval.values.gate import GateResult


def render_gate_markdown(run_id: str, gate: GateResult) -> str:
    """Render a decision: verdict, run, baseline, then a row for every check."""
    return "\n".join(_lines(run_id, gate)) + "\n"


def _lines(run_id: str, gate: GateResult) -> Iterator[str]:
    yield f"## rageval gate: {escape(gate.sentence)}"
    yield from ("", f"Run {escape(run_id)}.")
    yield from baseline_line(gate)
    yield from check_table(gate)
