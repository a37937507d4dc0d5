"""The errors of a target in a terminal: each cause once, with its cases and the user's code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pytest_rageval.analysis.aggregate.target_faults import ErrorGroup, group_errors
from pytest_rageval.report.text.lines import HEAD, Line, fit_line, indented, that_fit, wrapped
from pytest_rageval.support.http.address import blot_out_known
from pytest_rageval.support.text import clean, counted
from pytest_rageval.support.tracebacks import Style as TracebackStyle
from pytest_rageval.support.tracebacks import restyled
from pytest_rageval.values.record import CaseRecord

_GROUPS: Final = 5
_MESSAGE_CHARS: Final = 400
_OUTPUT_LINES: Final = 20
"""Lines of captured output shown below a cause; those before are counted."""

Captured = Sequence[tuple[str, str]]
"""Heading and text of each stream that pytest captured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultOptions:
    """Choices of the user for the section of errors."""

    width: int = 80
    traceback: TracebackStyle | None = "short"
    """None: none."""
    rootdir: Path = Path()
    captured: Mapping[str, Captured] = field(default_factory=dict)
    """Captured output by node id."""
    brief: bool = False
    """Whether one line per cause is enough."""


def render_target_faults(
    records: Sequence[CaseRecord], sentences: Iterable[str], options: FaultOptions
) -> list[Line]:
    """Lay out the errors of a run by cause, and the sentences on its replies; empty: no fault."""
    groups = group_errors(records)
    n_cases = len({record.nodeid for record in records})
    lines: list[Line] = []
    for group in groups[:_GROUPS]:
        lines += [*cause_lines(group, n_cases, options), _cases(group.records, options.width)]
        if not options.brief:
            captured = options.captured.get(group.records[0].nodeid, ())
            lines += _output(captured, group.records[0], options.width)
    if rest := groups[_GROUPS:]:
        n = sum(len(group.records) for group in rest)
        text = f"{counted(len(rest), 'more cause')} in {counted(n, 'case')}: rageval explain"
        lines += wrapped("", text, options.width)
    for sentence in sentences:
        lines += wrapped("reply", sentence, options.width, "yellow", "yellow")
    return [fit_line(line, options.width) for line in lines]


def cause_lines(group: ErrorGroup, n_cases: int, options: FaultOptions) -> Iterator[Line]:
    """Yield the message of a cause, with its count and the user's code, without its cases."""
    n, width = len(group.records), options.width
    where = f"{group.kind} in {n} of {counted(n_cases, 'case')}"
    message = clean(group.message, _MESSAGE_CHARS)
    yield from wrapped("error", f"{where}: {message}", width, "red", "red")
    if options.traceback is not None and not options.brief and group.traceback:
        style, rootdir = options.traceback, options.rootdir
        for text in restyled(group.traceback, message, style, rootdir, hide=blot_out_known):
            yield indented(text, HEAD, width)


def _cases(records: Sequence[CaseRecord], width: int) -> Line:
    room = width - HEAD - len("cases: ") - len(" and 99999 more")
    # No more than that fit, were they one character each.
    shown = that_fit([clean(record.name, 60) for record in records[:width]], ", ", room)
    more = f" and {len(records) - len(shown)} more" if len(shown) < len(records) else ""
    word = "case" if len(records) == 1 else "cases"
    return ((" " * HEAD, ""), (f"{word}: {', '.join(shown)}{more}", ""))


def _output(captured: Captured, record: CaseRecord, width: int) -> Iterator[Line]:
    for title, text in captured:
        yield ((" " * HEAD, ""), (f"{clean(title)} of {clean(record.name, 40)}", "dim"))
        lines = text.splitlines()
        if len(lines) > _OUTPUT_LINES:
            yield ((" " * HEAD, ""), (f"  ... {len(lines) - _OUTPUT_LINES} lines before", "dim"))
        for line in lines[-_OUTPUT_LINES:]:
            yield indented(f"  {line}", HEAD, width)
