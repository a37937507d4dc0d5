"""Faults that a gate catches, as a table, and the limits that would catch the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from pytest_rageval.report.view.blocks import Block, Cell, Fact, Row, Table
from pytest_rageval.support.text import counted, first_few, part

if TYPE_CHECKING:
    from pytest_rageval.analysis.gate.tried import PlantedFault, TriedGate

_NOTES: Final[Mapping[str, str]] = {
    "judged_offline": "the judge of the run is not asked again: the offline judge read all answers "
    "in its place",
}


def view_of_tried_gate(found: TriedGate) -> Iterator[Block]:
    """Yield a row for each fault, then the lines to add to thresholds.toml."""
    yield Fact(
        "run", f"{found.run_id}: {counted(found.n_cases, 'case')}, the gate: {found.verdict}"
    )
    rows: list[Row] = [_row(one) for one in found.faults]
    yield Table(("fault", "caught from", "by", "a limit would from"), rows)
    if found.limits:
        yield Fact("add", "to [overall] of thresholds.toml; the rest of a row stays as it is:")
        for metric, kind in found.limits.items():
            yield f'  {metric} = {{ {kind} = 0, decide = "prove_fail" }}'
        if not found.has_baseline:
            yield Fact("", 'and baseline = "last" above the first table, or another run')
    for note in found.notes:
        yield Fact("note", _NOTES[note])


def _row(fault: PlantedFault) -> Row:
    caught, warned = fault.caught_from, fault.warned_from
    if not fault.doses:
        return (fault.name, "not possible here", "", "")
    cell, by = Cell(f"not by {fault.doses[-1].text}", status="bad"), ""
    if caught is not None:
        cell = Cell(caught.text, status="good")
        by = first_few(caught.failed, 1) or "the whole gate"
    elif warned is not None:
        cell = Cell(f"{warned.text}, warns", status="warn")
        by = first_few(warned.warned, 1)
    found = None if fault.add is None else fault.found_from(fault.add)
    return (fault.name, cell, by, part(f"{{}}: {fault.add}", found and found.text))
