"""The cases of a run that did not pass, by cause, and the commands that help most."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pytest_rageval.analysis.aggregate.case_groups import (
    case_names,
    flaky_first,
    group_repeats,
    worst_misses,
)
from pytest_rageval.analysis.aggregate.operational import ErrorGroup, group_errors, heading_faults
from pytest_rageval.report.explain.verdict import expected_answer, stage_in_words
from pytest_rageval.report.view.blocks import HEAD, Block, Command, Fact, Note, Table, indented
from pytest_rageval.runs.tags import BASELINE_TAG
from pytest_rageval.support.http.address import blot_out_known
from pytest_rageval.support.project_code import Style as TracebackStyle
from pytest_rageval.support.project_code import restyled
from pytest_rageval.support.text import clean, counted, first_few, plural
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Cases of a run that did not pass for the same reason."""

    name: str
    """Kind of an error, failure stage, or else the outcome."""
    records: tuple[CaseRecord, ...]
    """One of each case, the worst first."""
    error: ErrorGroup | None = None
    """The errors of one message; None: the cases were answered."""


_SHOWN: Final = 10
"""Cases of one cause that are listed unless all are asked for."""
_TEXT_CHARS: Final = 300
_FLAKY: Final = "flaky"
_WORDS: Final[dict[str, str]] = {
    "error": "errored",
    "missed": "missed",
    "flawed": "flawed",
    _FLAKY: "flaky",
    "passed": "passed with a failure stage",
}
_LABEL: Final = len("question  ")


def find_misses(records: Sequence[CaseRecord]) -> list[Cause]:
    """Return the causes why cases erred, missed, are flawed or have a failure stage.

    Errors come first, one cause for each message as in the summary of a run, then the failure
    stages with the most cases, then flaky cases. A case that erred in one repeat and missed in
    another has two.
    """
    errors = [Cause(name=one.kind, records=one.records, error=one) for one in group_errors(records)]
    by_cause: dict[str, list[CaseRecord]] = {}
    flaky = {case.first.nodeid: case.deciding for case in flaky_first(group_repeats(records))}
    for record in worst_misses(records):
        if record.nodeid in flaky:
            continue
        by_cause.setdefault(_cause(record), []).append(record)
    missed = [Cause(name=name, records=tuple(found)) for name, found in by_cause.items()]
    vary = [Cause(name=_FLAKY, records=tuple(flaky.values()))] if flaky else []
    return [*errors, *sorted(missed, key=lambda one: -len(one.records)), *vary]


def _cause(record: CaseRecord) -> str:
    return record.scores.failure_stage or record.scores.outcome


def misses_document(misses: Iterable[Cause]) -> list[dict[str, Any]]:
    """Return the list as JSON values."""
    return [
        {
            "cause": cause.name,
            **({} if cause.error is None else {"message": cause.error.message}),
            "n_cases": len(cause.records),
            "cases": [
                {
                    "case_id": record.case.id,
                    "nodeid": record.nodeid,
                    "outcome": record.scores.outcome,
                    "question": record.case.question,
                }
                for record in cause.records
            ],
        }
        for cause in misses
    ]


def render_misses(
    records: Sequence[CaseRecord], *, run_id: str, run: str, every: bool = False
) -> Iterator[Block]:
    """Lay out the list, with the command that explains one case.

    Args:
        records: all of the run.
        run_id: its id.
        run: the run as the user named it, for the command.
        every: list every case instead of the first of each cause.
    """
    misses = find_misses(records)
    names = case_names(records)
    flaky = flaky_first(group_repeats(records))
    passes = {c.first.nodeid: f"{names[c.first.nodeid]} {c.passes}" for c in flaky}
    n_cases = len({record.nodeid for record in records})
    yield _head(n_cases, misses, run_id)
    for cause in misses:
        yield ()
        yield from _cause_head(cause, n_cases)
        shown = cause.records if every else cause.records[:_SHOWN]
        yield _case_rows(shown, {**names, **passes})
        if more := len(cause.records) - len(shown):
            yield ((f"  and {more} more, listed with --all", "weak"),)
    # As in the run's own summary, where errors have another command.
    worst = [record for record in worst_misses(records) if record.counted]
    if worst := worst or [record for cause in misses for record in cause.records]:
        yield ()
        yield Command("next", *explain_worst(worst, names, run))


def _head(n_cases: int, misses: Sequence[Cause], run_id: str) -> Note:
    found = {record.nodeid: record for cause in reversed(misses) for record in cause.records}
    flaky = {record.nodeid for one in misses if one.name == _FLAKY for record in one.records}
    outcomes = Counter(
        _FLAKY if nodeid in flaky else record.scores.outcome for nodeid, record in found.items()
    )
    counts = [
        f"{outcomes[outcome]} {word}" for outcome, word in _WORDS.items() if outcomes[outcome]
    ]
    if aside := sum(not record.counted for record in found.values()):
        counts.append(f"{aside} of them not reviewed")
    cases = counted(n_cases, "case")
    text = (
        f"{len(found)} of {cases} to look at: {', '.join(counts)}" if found else f"{cases}, no miss"
    )
    return Note(((f"run {run_id}   ", "strong"),), ((text, ""),))


def _cause_head(cause: Cause, n_cases: int) -> Iterator[Block]:
    if cause.error is not None:
        yield from cause_lines(cause.error, n_cases, FaultOptions())
        return
    unseen = [record for record in cause.records if record.reply.retrieved_chunks is None]
    one = (unseen or cause.records)[0]
    stage = stage_in_words(one) if cause.name == one.scores.failure_stage else None
    meaning = stage.meaning if stage else ""
    if cause.name == _FLAKY:
        meaning = "Some of their repeats pass and others do not."
    yield Note(((f"{cause.name} {len(cause.records)}   ", "strong"),), ((meaning, "weak"),))


def _case_rows(records: Sequence[CaseRecord], names: Mapping[str, str]) -> Table:
    rows = []
    for record in records:
        aside = "" if record.counted else "(not reviewed) "
        rows.append((f"  {names[record.nodeid]}", aside + clean(record.case.question, _TEXT_CHARS)))
    return Table(("", ""), rows, wrap=False)


def render_texts(misses: Sequence[CaseRecord], *, limit: int) -> Iterator[Block]:
    """Yield the question, the expected answer and the answer of misses, one line each.

    Args:
        misses: one record of each case.
        limit: number of cases shown; the others are counted.
    """
    for record in misses[:limit]:
        yield Fact(record.scores.outcome, f"{record.name} {_cause(record)}")
        for label, text in _texts(record):
            yield ((f"{'':<{HEAD}}{label:<{_LABEL}}", "weak"), (clean(text, _TEXT_CHARS), ""))
    if len(misses) > limit:
        yield ((f"{'':<{HEAD}}and {len(misses) - limit} more with -vv", "weak"),)


def _texts(record: CaseRecord) -> Iterator[tuple[str, str]]:
    yield "question", record.case.question
    if expected := expected_answer(record.case):
        yield "expected", expected
    if record.answer is not None:
        yield "answer", record.answer or "(empty)"
