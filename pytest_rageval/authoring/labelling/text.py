"""A session as lines for a terminal of any width, without control characters. Pure.

Marked rows show ``[x]`` and the cursor is ``>``, so that colour is never needed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TypeVar

from pytest_rageval.authoring.labelling.view import HELP, PassageView, RowView, SessionView
from pytest_rageval.support.text import clean, cut_columns

_Item = TypeVar("_Item", RowView, PassageView)

KEY_LINE = "space mark  s quote  a answerable  enter save+next  / filter  ? help  q leave"
"""The keys that are always shown."""
_KEYS_BY_MODE = {
    "snippet": "space pick  enter keep  escape leave",
    "search": "enter filter  escape leave",
    "note": "enter keep  escape leave",
    "groups": "enter keep  escape leave",
    "conflict": "m write mine over it  t take theirs  escape decide later",
}


def key_line(view: SessionView, width: int) -> str:
    """Return the keys of the current mode."""
    return cut_columns(_KEYS_BY_MODE.get(view.mode, KEY_LINE), width)


def head_lines(view: SessionView, width: int, *, most: int | None = None) -> list[str]:
    """Return the case: position in the queue, question and known facts about the answer.

    Args:
        view: of the session.
        width: columns.
        most: maximum number of lines; the first ones are kept.
    """
    state = ["answerable" if view.answerable else "UNANSWERABLE"]
    state += ["NOT REVIEWED"] if view.unreviewed else []
    state += ["not saved"] if view.unsaved else []
    title = f"{view.position}/{view.total} {clean(view.case_id)}  [{', '.join(state)}]"
    lines = [cut_columns(title, width)]
    for label, text in _facts(view):
        lines += wrapped(f"{label}: {text}" if label else text, width)
    if most is not None and len(lines) > most:
        lines = [*lines[: most - 1], cut_columns(f"{lines[most - 1]} ...", width)]
    return lines


def _facts(view: SessionView) -> Iterator[tuple[str, str]]:
    yield "", view.question
    if view.key_facts:
        yield "facts", "; ".join(view.key_facts)
    if view.expected_answer:
        yield "answer", view.expected_answer
    for remark in view.remarks:
        yield "note", remark
    if view.problem:
        yield "no chunks", view.problem
    if view.groups:
        yield "groups", view.groups
    if view.notes:
        yield "notes", view.notes


def wrapped(text: str, width: int) -> list[str]:
    """Return a text as lines of at most ``width`` columns, without control characters."""
    width, harmless = max(width, 10), clean(text)
    if harmless.isascii():
        return textwrap.wrap(harmless, width, break_on_hyphens=False)
    lines: list[str] = []
    line = ""
    for word in harmless.split():
        longer = f"{line} {word}" if line else word
        if _fits(longer, width):
            line = longer
            continue
        if line:
            lines.append(line)
        *whole, line = _parts(word, width)
        lines += whole
    return [*lines, line] if line else lines


def _fits(text: str, width: int) -> bool:
    return cut_columns(text, width) == text


def _parts(word: str, width: int) -> list[str]:
    """Split a word into parts that fit; some characters take two columns."""
    parts = []
    while not _fits(word, width):
        end = min(len(word), width)
        while end > 1 and not _fits(word[:end], width):
            end -= 1
        parts.append(word[:end])
        word = word[end:]
    return [*parts, word]


def row_line(row: RowView, width: int) -> str:
    """Return one row: cursor, mark, number, place and further details."""
    number = f"{row.number:>2}"
    start = f"{'>' if row.current else ' '} [{'x' if row.marked else ' '}] {number} "
    tags = [clean(tag, 30) for tag in row.tags]
    if row.golds:
        tags.insert(0, f"gold {', '.join(map(str, row.golds))}")
    tail = f"  ({'; '.join(tags)})" if tags else ""
    score = f"  {row.scores[0][1]:.3f}" if row.scores else ""
    place = clean(row.place, 400)
    room = width - len(start) - len(score)
    if len(tail) > room - 20:
        tail = cut_columns(tail, max(room - 20, 0))
    room -= len(tail)
    if cut_columns(place, room) != place:
        # Heading paths of one document begin alike: the last heading distinguishes them.
        path, _, last = place.rpartition(" > ")
        last = cut_columns(last, room // 2)
        place = f"{cut_columns(path, max(room - len(last) - 3, 0))} > {last}" if path else place
    return cut_columns(f"{start}{cut_columns(place, room)}{tail}{score}", width)


def row_text(row: RowView, width: int) -> list[str]:
    """Return the text of a row with its scores, paragraph by paragraph."""
    lines = wrapped(row.place, width)
    if row.scores:
        lines += wrapped(", ".join(f"{name} {value:.4f}" for name, value in row.scores), width)
    return lines + body_lines(row, width, blank=True)


def body_lines(row: RowView, width: int, *, blank: bool = False) -> list[str]:
    """Return the text of a row, with or without its blank lines."""
    lines = []
    for paragraph in row.text.splitlines():
        lines += wrapped(paragraph, width) or ([""] if blank else [])
    return lines


def passage_lines(passage: PassageView, width: int) -> list[str]:
    """Return a sentence with its mark."""
    start = f"{'>' if passage.current else ' '} [{'x' if passage.marked else ' '}] "
    start += f"{passage.number:>2} "
    room = width - len(start)
    first, *rest = wrapped(passage.text, room) or [""]
    return [start + first, *(" " * len(start) + line for line in rest)]


def gold_lines(view: SessionView, width: int) -> list[str]:
    """Return the marked golds, with the numbers used for groups."""
    if not view.golds:
        return ["golds: none"]
    lines = ["golds:"]
    for number, gold in enumerate(view.golds, 1):
        first, *rest = wrapped(f"{number} {gold}", width - 2) or [str(number)]
        lines += [f"  {first}", *(f"    {line}"[:width] for line in rest)]
    return lines


def conflict_lines(view: SessionView, width: int) -> list[str]:
    """Return the line that another program changed, and the options."""
    lines = wrapped("CONFLICT: another program changed the line of this case. It is now:", width)
    return lines + wrapped(view.conflict, width)


def help_lines(width: int) -> list[str]:
    """Return the keys and what they do."""
    column = max(len(keys) for keys, _ in HELP) + 2
    return [cut_columns(f"{keys:<{column}}{what}", width) for keys, what in HELP]


def window(items: Sequence[_Item], height: int) -> Sequence[_Item]:
    """Return the part of a list that fits ``height`` lines and contains the current item."""
    current = next((i for i, item in enumerate(items) if item.current), 0)
    start = max(0, min(current - height // 2, len(items) - height))
    return items[start : start + max(height, 1)]
