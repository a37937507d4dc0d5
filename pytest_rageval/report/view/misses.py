"""The cases of a run that did not pass, by cause, as lines of a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.analysis.aggregate.case_groups import (
    case_names,
    flaky_first,
    group_repeats,
    worst_misses,
)
from pytest_rageval.analysis.aggregate.target_faults import ErrorGroup, group_errors
from pytest_rageval.report.explain.verdict import expected_answer, stage_in_words
from pytest_rageval.report.view.blocks import HEAD, Block, Command, Fact, Note, Table
from pytest_rageval.report.view.next_commands import explain_worst
from pytest_rageval.report.view.target_faults import FaultOptions, cause_lines
from pytest_rageval.support.text import clean, counted
from pytest_rageval.values.record import CaseRecord


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
