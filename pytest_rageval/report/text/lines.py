"""Lines of a terminal report, their styles and their width."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

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


def fit_line(line: Line, width: int) -> Line:
    """Cut a line that is wider than the terminal, and end it in ``..``."""
    left = width
    fitted: list[tuple[str, Style]] = []
    for text, style in line:
        if len(text) > left:
            text = text[: max(left - 2, 0)] + ".." if left > 2 else text[:left]
        fitted.append((text, style))
        left -= len(text)
    return tuple(fitted)
