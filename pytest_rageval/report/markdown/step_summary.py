"""Appends Markdown to the summary of a GitHub Actions step, where there is one.

The runner names a file in ``GITHUB_STEP_SUMMARY`` and shows what it holds once the step has ended.
It belongs to the whole step: whatever else wrote into it stays.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pytest_rageval.report.markdown.step_summary_more import fit_markdown

VARIABLE: Final = "GITHUB_STEP_SUMMARY"
LIMIT_BYTES: Final = 1 << 20
"""Of the whole file: GitHub refuses a larger one altogether."""


def append_step_summary(markdown: str, environ: Mapping[str, str]) -> str | None:
    """Append Markdown to the summary of the step, cut at a line where it would be too long.

    Args:
        markdown: what is appended, as a block of its own.
        environ: where the name of the file stands; unset or empty: nothing is done.

    Returns:
        A sentence for the user where the file cannot be written; None: all is well.
    """
    name = environ.get(VARIABLE)
    if not name:
        return None
    try:
        _append(Path(name), markdown)
    except (OSError, ValueError) as error:  # ValueError: a path that holds a null character
        reason = getattr(error, "strerror", None) or str(error)
        return f"the step summary was not written: {VARIABLE} {name}: {reason}"
    return None


def _append(path: Path, markdown: str) -> None:
    # Without waiting: opening a pipe that nobody reads would hang for ever.
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags, 0o644), "r+b", buffering=0) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("is not a regular file")
        gap = b"" if not found.st_size else b"\n" if _ends_line(file.fileno()) else b"\n\n"
        room = LIMIT_BYTES - found.st_size - len(gap)
        block = fit_markdown(markdown, room).encode("utf-8", "backslashreplace")
        rest = gap + block if block else b""
        while rest:
            rest = rest[file.write(rest) or 0 :]


def _ends_line(descriptor: int) -> bool:
    os.lseek(descriptor, -1, os.SEEK_END)
    return os.read(descriptor, 1) == b"\n"
