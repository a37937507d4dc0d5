"""``rageval explain``: the reasons for the numbers of one case of a stored run."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pytest_rageval.cli.output import CommandError, json_option, print_json
from pytest_rageval.support.text import did_you_mean, first_of
from pytest_rageval.values.errors import DatasetError

if TYPE_CHECKING:
    from pytest_rageval.report.text.lines import Line
    from pytest_rageval.values.case import Case
    from pytest_rageval.values.record import CaseRecord

_STYLES: Final[dict[str, dict[str, Any]]] = {
    "": {},
    "green": {"fg": "green"},
    "red": {"fg": "red"},
    "yellow": {"fg": "yellow"},
    "bold": {"bold": True},
    "dim": {"dim": True},
}
_WIDEST: Final = 100
_NAMED: Final = 5


@click.command("explain")
@click.argument("run")
@click.argument("case")
@click.option(
    "--repeat",
    type=click.IntRange(min=0),
    help="Only this repeat (from 0) of a case that was asked several times.",
)
@click.option("-v", "--verbose", is_flag=True, help="Add chunk texts, scores and the whole answer.")
@click.option(
    "--color",
    type=click.Choice(["auto", "yes", "no"]),
    default="auto",
    show_default=True,
    help="auto: on a terminal, unless NO_COLOR is set.",
)
@json_option
def command(
    run: str,
    case: str,
    repeat: int | None,
    verbose: bool,
    color: str,
    as_json: bool,
) -> None:
    """Explain the case CASE of the stored run RUN.

    RUN is an id, a prefix of one, last, last~N or a path. CASE is a case id, file::id if several
    files have it, or a prefix that only one case has. The output shows which chunk matched which
    anchor and why, the arithmetic of each metric, and the reason why the others are not applicable.
    """
    from pytest_rageval.report.explain.case import explain_record
    from pytest_rageval.runs.read import open_run, settled
    from pytest_rageval.runs.record_json import to_plain

    stored = open_run(run, os.environ)
    explanations = []
    for record in _choose(stored.records, case, repeat):
        known = record.stored_case or _case_of_file(record)
        scored = settled(stored, record, known)
        explanation = explain_record(scored, stored.scoring, case=known)
        explanations.append(replace(explanation, notes=(*stored.notes, *explanation.notes)))
    if as_json:
        shown = [explanation.document() for explanation in explanations]
        print_json({"run_id": stored.run_id, "repeats": to_plain(shown)})
        return
    from pytest_rageval.report.text.explanation import render_explanation

    colored = color == "yes"
    if color == "auto":
        colored = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = min(shutil.get_terminal_size((80, 24)).columns, _WIDEST)
    for number, explanation in enumerate(explanations):
        lines = render_explanation(explanation, run_id=stored.run_id, width=width, verbose=verbose)
        _print([(), *lines] if number else lines, colored=colored)


# --- which case ----------------------------------------------------------------------------


def _case_of_file(record: CaseRecord) -> Case | None:
    """Return the case from its file, if it has not changed since the run."""
    from pytest_rageval.project.case_reader import load_cases

    path = Path(record.file)
    if not path.resolve().is_relative_to(Path.cwd()):  # a path from data stays in its folder
        return None
    try:
        cases = load_cases(path, display=record.file).cases
    except DatasetError:
        return None
    same = (one for one in cases if one.case.id == record.case_id)
    return next((one.case for one in same if one.case_hash == record.case_hash), None)


def _choose(records: Sequence[CaseRecord], name: str, repeat: int | None) -> list[CaseRecord]:
    """Return the records of the named case, in the order of their repeats."""
    nodeids = dict.fromkeys(record.nodeid for record in records)
    nodeid = _one_of(_named(records, name), name, nodeids)
    chosen = [record for record in records if record.nodeid == nodeid]
    if repeat is None:
        return chosen
    wanted = [record for record in chosen if record.repeat == repeat]
    if not wanted:
        there = ", ".join(str(record.repeat) for record in chosen)
        raise CommandError(f"case {name!r}: got --repeat {repeat}, the run has {there}")
    return wanted


def _named(records: Sequence[CaseRecord], name: str) -> list[str]:
    """Return the node ids that match a name: exactly, else by prefix."""
    rules: tuple[Callable[[CaseRecord], bool], ...] = (
        lambda record: record.nodeid == name,
        lambda record: record.name == name,
        lambda record: record.case_id == name,
        lambda record: "::" in name and record.nodeid.endswith(f"/{name}"),
        lambda record: bool(name) and record.case_id.startswith(name),
        lambda record: bool(name) and record.nodeid.startswith(name),
    )
    for rule in rules:
        found = dict.fromkeys(record.nodeid for record in records if rule(record))
        if found:
            return list(found)
    return []


def _one_of(found: Sequence[str], name: str, nodeids: Iterable[str]) -> str:
    if len(found) == 1:
        return found[0]
    if found:
        shown = first_of(found, _NAMED, ", ...")
        raise CommandError(f"case {name!r}: {len(found)} cases are meant, name one of {shown}")
    known = {nodeid.split("::", 1)[-1]: nodeid for nodeid in nodeids}
    if not known:
        raise CommandError(f"case {name!r}: the run holds no records")
    hint = did_you_mean(name, [*known, *known.values()])
    hint = hint or f", it holds {first_of([*known], _NAMED, ', ...')}"
    raise CommandError(f"case {name!r}: not in this run{hint}")


# --- terminal ------------------------------------------------------------------------------


def _print(lines: Iterable[Line], *, colored: bool) -> None:
    for line in lines:
        text = "".join(click.style(part, **_STYLES[style]) for part, style in line)
        # Explicit: click would remove the colours where it detects no terminal.
        click.echo(text if colored else click.unstyle(text), color=colored)
