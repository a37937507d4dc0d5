"""Markdown cut to what a reader takes, at the end of a line. Pure."""

from __future__ import annotations

from typing import Final

_CUT: Final = "Cut here: GitHub takes no more. The whole is in the files of the run."
_CLOSE: Final = "</details>"


def fit_markdown(markdown: str, room_bytes: int) -> str:
    r"""Return Markdown that takes at most some bytes of UTF-8.

    Whole lines are kept, and a sentence says that others were not; where not even that has room,
    nothing is left.

    Args:
        markdown: lines of Markdown.
        room_bytes: how much there is room for; may be negative.

    >>> fit_markdown("one\ntwo\n", 8), fit_markdown("one\ntwo\n", 7)
    ('one\ntwo\n', '')
    """
    if _size(markdown) <= room_bytes:
        return markdown
    end = f"\n{_CUT}\n"
    # A part that was opened would take in whatever follows the cut.
    closing = f"\n{_CLOSE}\n"
    room = room_bytes - _size(end) - _size(closing)
    kept: list[str] = []
    for line in markdown.splitlines(keepends=True):
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
