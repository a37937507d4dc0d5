"""The commands that help most after a run, the most urgent first."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import case_names, worst_misses
from pytest_rageval.analysis.aggregate.target_faults import heading_faults
from pytest_rageval.runs.tags import BASELINE_TAG
from pytest_rageval.support.text import clean, counted, plural
from pytest_rageval.values.record import CaseRecord

_MOST: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommands:
    """Commands about a run, as they are typed after it."""

    name: str = "last"
    """The run: ``last``, or its folder if commands would look for runs in another one."""
    baseline: str = ""
    """The run that it was compared with; empty: none, or commands do not find it."""
    rerun: str = "pytest --lf"
    """Command that asks again what did not pass; empty: another one continues the run."""
    reran: bool = False
    """Whether the run did so itself."""
    may_become_baseline: bool = False
    """Whether it passed over the whole set of a project that has no baseline."""


def next_commands(
    records: Sequence[CaseRecord],
    commands: RunCommands,
    worst: str | None = None,
    *,
    n_new: int = 0,
) -> list[tuple[str, str]]:
    """Return at most two commands, each with a reason in a few words.

    Args:
        records: of the run.
        commands: its names.
        worst: name of the case to explain first; None: the worst of all.
        n_new: number of cases that are newly failing, ``worst`` among them.
    """
    found = []
    errors = any(record.scores.outcome == "error" for record in records)
    if commands.rerun and errors:
        found.append((commands.rerun, "re-run after fixing the errors"))
    if heading_faults(records) is not None:
        found.append(("rageval doctor", "compares the headings of golds and chunks"))
    missed = [record for record in worst_misses(records) if record.counted]
    names = case_names(records)
    listed = sorted(missed, key=lambda record: names[record.nodeid] != worst)
    if listed and listed[0].scores.outcome != "passed":
        command, why = explain_worst(listed, names, commands.name)
        found.append((command, f"the worst of {n_new} new" if n_new > 1 else why))
        if commands.rerun and not (errors or commands.reran):
            found.append((commands.rerun, "re-run the failures"))
    unreviewed = Counter(r.file for r in {r.nodeid: r for r in records}.values() if not r.counted)
    for file, n in unreviewed.items():
        why = f"{counted(n, 'generated case')} to review"
        found.append((f"rageval label {shlex.quote(clean(file))} --review", why))
    if not found and commands.may_become_baseline and any(not r.scores.unchecked for r in records):
        why = "to compare later runs with this one"
        found.append((f"rageval runs tag {commands.name} {BASELINE_TAG}", why))
    return found[:_MOST]


def explain_worst(
    worst: Sequence[CaseRecord], names: Mapping[str, str], run: str
) -> tuple[str, str]:
    """Return the command that explains the first of these cases, and why that one.

    Args:
        worst: at least one case, the worst first.
        names: by node id.
        run: as the user names it.
    """
    verbs = {"missed": "missed", "error": "failed", "flawed": "is flawed"}
    verb = verbs.get(worst[0].scores.outcome, "is listed")
    n = sum(record.scores.outcome != "passed" for record in worst)
    why = plural(n, f"shows why it {verb}", f"the worst of {n}")
    name = names[worst[0].nodeid]
    command = f"rageval explain {shlex.quote(clean(run))}"
    if clean(name) == name:  # without a name that can be typed, the command lists all cases
        end = "-- " * name.startswith("-")  # an id such as --rm is no option
        command += f" {end}{shlex.quote(name)}"
    return command, why
