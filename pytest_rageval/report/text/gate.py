"""The decision about a stored run on a terminal: a line for every check."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from pytest_rageval.report.text.detectable import detectable_text
from pytest_rageval.report.text.lines import VERDICTS, Line, Style, fit_line
from pytest_rageval.support.text import clean
from pytest_rageval.values.gate import GateResult

_HEAD = 9


def render_gate(run_id: str, gate: GateResult, *, width: int = 80) -> list[Line]:
    """Lay out a decision.

    Args:
        run_id: of the run that was decided.
        gate: the decision.
        width: columns of the terminal.
    """
    lines: list[Line] = [((f"{'run':<{_HEAD}}", "bold"), (clean(run_id), ""))]
    if gate.baseline is not None:
        style: Style = "yellow" if gate.baseline.problem else "bold"
        lines += _wrapped("baseline", gate.baseline.sentence, width, style)
    for result in gate.checks:
        word, style = VERDICTS[result.status]
        seen = detectable_text(result)
        text = f"{result.check.name}: {result.message}" + (f" ({seen})" if seen else "")
        lines += _wrapped(word, text, width, style)
    styles: dict[str, Style] = {"pass": "green", "fail": "red", "not_evaluated": "yellow"}
    lines += _wrapped("gate", gate.sentence, width, styles[gate.verdict])
    return [fit_line(line, width) for line in lines]


def _wrapped(head: str, text: str, width: int, style: Style) -> Iterator[Line]:
    for part in textwrap.wrap(clean(text), max(width - _HEAD, 20)) or [""]:
        yield ((f"{head:<{_HEAD}}", style), (part, ""))
        head = ""
