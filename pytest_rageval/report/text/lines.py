"""Lines of a terminal report, their styles and their width."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Final, Literal

from pytest_rageval.support.text import clean

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


HEAD: Final = 9
"""Columns of the word that begins a line of notes."""


def wrapped(
    head: str, text: str, width: int, head_style: Style = "bold", style: Style = ""
) -> Iterator[Line]:
    """Yield a text made safe as lines of at most ``width``, the first with a word before it."""
    for part in textwrap.wrap(clean(text), max(width - HEAD, 20)) or [""]:
        yield ((f"{head:<{HEAD}}", head_style), (part, style))
        head = ""
