"""The summary of a CI step: a file of the whole step, whose content is kept."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

VARIABLE: Final = "GITHUB_STEP_SUMMARY"
LIMIT_BYTES: Final = 1 << 20
"""Limit of the whole file: GitHub rejects a larger one completely."""


def append_step_summary(markdown: str, environ: Mapping[str, str]) -> str | None:
    """Append Markdown to the step summary, if one is named, cut at a line end if it is too long.

    Returns:
        A sentence for the user if the file cannot be written; None: no error.
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
    # Non-blocking: opening a pipe without a reader would hang forever.
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags, 0o644), "r+b", buffering=0) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("is not a regular file")
        gap = b""
        if found.st_size:
            file.seek(-1, os.SEEK_END)
            gap = b"\n" if file.read(1) == b"\n" else b"\n\n"
        room = LIMIT_BYTES - found.st_size - len(gap)
        block = fit_markdown(markdown, room).encode("utf-8", "backslashreplace")
        rest = gap + block if block else b""
        while rest:
            rest = rest[file.write(rest) or 0 :]


_CUT: Final = "Cut here: there is no room for more. The whole is in the files of the run."
_CLOSE: Final = "</details>"


def fit_markdown(markdown: str, room_bytes: int, room_lines: int = LIMIT_BYTES) -> str:
    r"""Return Markdown that takes at most some bytes of UTF-8 and some lines.

    Whole lines are kept, and a sentence says that others were cut. If even that does not fit, the
    result is empty. The room may be negative.

    >>> fit_markdown("one\ntwo\n", 8), fit_markdown("one\ntwo\n", 7)
    ('one\ntwo\n', '')
    """
    lines = markdown.splitlines(keepends=True)
    if _size(markdown) <= room_bytes and len(lines) <= room_lines:
        return markdown
    end = f"\n{_CUT}\n"
    # A part that was opened would take in whatever follows the cut.
    closing = f"\n{_CLOSE}\n"
    room = room_bytes - _size(end) - _size(closing)
    kept: list[str] = []
    for line in lines[: max(room_lines - 4, 0)]:
        room -= _size(line)
        if room < 0:
            break
        kept.append(line)
    if not kept:
        return ""
    text = "".join(kept)
    still_open = text.count("<details>") > text.count(_CLOSE)
    return text + (closing if still_open else "") + end


def _size(text: str) -> int:
    return len(text.encode("utf-8", "backslashreplace"))
