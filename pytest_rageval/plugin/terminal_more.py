"""Writes styled lines to pytest's terminal, which knows about colour, width and capture."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pytest_rageval.report.text.lines import Line, Style

_MARKUP: dict[Style, dict[str, bool]] = {
    "": {},
    "green": {"green": True},
    "red": {"red": True},
    "yellow": {"yellow": True},
    "bold": {"bold": True},
    "dim": {"light": True},
}


def write_lines(reporter: pytest.TerminalReporter, lines: Iterable[Line]) -> None:
    """Write lines under a heading; colour obeys ``--color``, ``NO_COLOR`` and the like."""
    reporter.write_sep("=", "rageval")
    for line in lines:
        for text, style in line:
            reporter.write(text, **_MARKUP[style])
        reporter.write("\n")
