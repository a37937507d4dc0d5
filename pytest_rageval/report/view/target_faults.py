"""The errors of a target in a terminal: each cause once, with its cases and the user's code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pytest_rageval.analysis.aggregate.target_faults import ErrorGroup, group_errors
from pytest_rageval.report.view.blocks import HEAD, Block, Fact, indented
from pytest_rageval.support.http.address import blot_out_known
from pytest_rageval.support.text import clean, counted, first_few, plural
from pytest_rageval.support.tracebacks import Style as TracebackStyle
from pytest_rageval.support.tracebacks import restyled
from pytest_rageval.values.diagnoses.table import with_code
from pytest_rageval.values.record import CaseRecord

_GROUPS: Final = 5
_CASES: Final = 8
_MESSAGE_CHARS: Final = 400
_OUTPUT_LINES: Final = 20
"""Lines of captured output shown below a cause; those before are counted."""

Captured = Sequence[tuple[str, str]]
"""Heading and text of each stream that pytest captured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultOptions:
    """Choices of the user for the section of errors."""

    traceback: TracebackStyle | None = "short"
    """None: none."""
    rootdir: Path = Path()
    captured: Mapping[str, Captured] = field(default_factory=dict)
    """Captured output by node id."""
    brief: bool = False
    """Whether one line per cause is enough."""
    codes: bool = False
    """Whether each message ends with its code."""


def render_target_faults(
    records: Sequence[CaseRecord], sentences: Iterable[str], options: FaultOptions
) -> Iterator[Block]:
    """Lay out the errors of a run by cause, and the sentences on its replies; empty: no fault."""
    groups = group_errors(records)
    n_cases = len({record.nodeid for record in records})
    for group in groups[:_GROUPS]:
        yield from cause_lines(group, n_cases, options)
        yield _cases(group.records)
        if not options.brief:
            captured = options.captured.get(group.records[0].nodeid, ())
            yield from _output(captured, group.records[0])
    if rest := groups[_GROUPS:]:
        n = sum(len(group.records) for group in rest)
        text = f"{counted(len(rest), 'more cause')} in {counted(n, 'case')}: rageval explain"
        yield Fact("", text)
    for sentence in sentences:
        yield Fact("reply", sentence, "warn", "warn")


def cause_lines(group: ErrorGroup, n_cases: int, options: FaultOptions) -> Iterator[Block]:
    """Yield the message of a cause, with its count and the user's code, without its cases."""
    where = f"{group.kind} in {len(group.records)} of {counted(n_cases, 'case')}"
    message = clean(group.message, _MESSAGE_CHARS)
    error = group.records[0].error
    code = error.code if options.codes and error is not None else ""
    yield Fact("error", f"{where}: {with_code(message, 'target', code)}", "bad", "bad")
    if options.traceback is not None and not options.brief and group.traceback:
        style, rootdir = options.traceback, options.rootdir
        for text in restyled(group.traceback, message, style, rootdir, hide=blot_out_known):
            yield indented(text)


def _cases(records: Sequence[CaseRecord]) -> Fact:
    names = first_few([clean(record.name, 60) for record in records], _CASES)
    return Fact("", f"{plural(len(records), 'case', 'cases')}: {names}")


def _output(captured: Captured, record: CaseRecord) -> Iterator[Block]:
    for title, text in captured:
        yield ((" " * HEAD, ""), (f"{title} of {clean(record.name, 40)}", "weak"))
        lines = text.splitlines()
        if len(lines) > _OUTPUT_LINES:
            yield ((" " * HEAD, ""), (f"  ... {len(lines) - _OUTPUT_LINES} lines before", "weak"))
        for line in lines[-_OUTPUT_LINES:]:
            yield indented(f"  {line}")
