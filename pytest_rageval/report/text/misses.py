"""The cases of a run that did not pass, by cause, as lines of a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.analysis.aggregate.case_groups import case_names, worst_misses
from pytest_rageval.analysis.aggregate.target_faults import ErrorGroup, group_errors
from pytest_rageval.report.explain.verdict import stage_meaning
from pytest_rageval.report.text.lines import HEAD, Line, fit_line, wrapped
from pytest_rageval.report.text.next_commands import explain_worst
from pytest_rageval.report.text.target_faults import FaultOptions, cause_lines
from pytest_rageval.support.text import (
    clean,
    columns_of,
    counted,
    cut_columns,
    padded,
    wrapped_text,
)
from pytest_rageval.values.record import CaseRecord, Outcome


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
_ID_COLUMNS: Final = 28
_TEXT_CHARS: Final = 300
_WORDS: Final[dict[Outcome, str]] = {
    "error": "errored",
    "missed": "missed",
    "flawed": "flawed",
    "passed": "passed with a failure stage",
}
_LABEL: Final = len("question  ")


def find_misses(records: Sequence[CaseRecord]) -> list[Cause]:
    """Return the causes why cases erred, missed, are flawed or have a failure stage.

    Errors come first, one cause for each message as in the summary of a run, then the failure
    stages with the most cases. A case that erred in one repeat and missed in another has two.
    """
    errors = [Cause(name=one.kind, records=one.records, error=one) for one in group_errors(records)]
    by_cause: dict[str, list[CaseRecord]] = {}
    for record in worst_misses(records):
        by_cause.setdefault(_cause(record), []).append(record)
    missed = [Cause(name=name, records=tuple(found)) for name, found in by_cause.items()]
    return [*errors, *sorted(missed, key=lambda one: -len(one.records))]


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
    records: Sequence[CaseRecord], *, run_id: str, run: str, width: int = 80, verbose: bool = False
) -> list[Line]:
    """Lay out the list, with the command that explains one case.

    Args:
        records: all of the run.
        run_id: its id.
        run: the run as the user named it, for the command.
        width: columns of the terminal.
        verbose: list every case instead of the first of each cause.
    """
    misses = find_misses(records)
    names = case_names(records)
    n_cases = len({record.nodeid for record in records})
    lines = [*_head(n_cases, misses, run_id, width)]
    for cause in misses:
        lines += [(), *_cause_head(cause, n_cases, width)]
        shown = cause.records if verbose else cause.records[:_SHOWN]
        lines += _case_lines(shown, names, width)
        if more := len(cause.records) - len(shown):
            lines.append(((f"  and {more} more, listed with -v", "dim"),))
    # As in the run's own summary, where errors have another command.
    worst = [record for record in worst_misses(records) if record.counted]
    if worst := worst or [record for cause in misses for record in cause.records]:
        command, why = explain_worst(worst, names, run)
        reason = f"   ({why})"
        fits = HEAD + len(command) + len(reason) <= width
        lines += [(), ((f"{'next':<{HEAD}}", "bold"), (command + reason * fits, ""))]
    return [fit_line(line, width) for line in lines]


def _head(n_cases: int, misses: Sequence[Cause], run_id: str, width: int) -> Iterator[Line]:
    found = {record.nodeid: record for cause in reversed(misses) for record in cause.records}
    outcomes = Counter(record.scores.outcome for record in found.values())
    counts = [
        f"{outcomes[outcome]} {word}" for outcome, word in _WORDS.items() if outcomes[outcome]
    ]
    if aside := sum(not record.counted for record in found.values()):
        counts.append(f"{aside} of them not reviewed")
    cases = counted(n_cases, "case")
    text = (
        f"{len(found)} of {cases} to look at: {', '.join(counts)}" if found else f"{cases}, no miss"
    )
    head = f"run {clean(run_id)}"
    if len(head) + 3 + len(text) <= width:
        yield ((head, "bold"), (f"   {text}", ""))
    else:
        yield ((head, "bold"),)
        yield from wrapped("", text, width)


def _cause_head(cause: Cause, n_cases: int, width: int) -> Iterator[Line]:
    if cause.error is not None:
        yield from cause_lines(cause.error, n_cases, FaultOptions(width=width))
        return
    unseen = [record for record in cause.records if record.reply.retrieved_chunks is None]
    one = (unseen or cause.records)[0]
    meaning = (stage_meaning(one) or "") if cause.name == one.scores.failure_stage else ""
    title = f"{clean(cause.name)} {len(cause.records)}"
    if len(title) + 3 + len(meaning) <= width:
        yield ((title, "bold"), (f"   {meaning}", "dim"))
    else:
        yield ((title, "bold"),)
        for line in wrapped_text(meaning, width, first="  ", rest="  "):
            yield ((line, "dim"),)


def _case_lines(
    records: Sequence[CaseRecord], names: Mapping[str, str], width: int
) -> Iterator[Line]:
    shown = {clean(names[record.nodeid]): record for record in records}
    room = min(max(map(columns_of, shown)), _ID_COLUMNS)
    for name, record in shown.items():
        aside = "" if record.counted else "(not reviewed) "
        question = cut_columns(
            aside + clean(record.case.question, _TEXT_CHARS),
            width - max(columns_of(name), room) - 4,
        )
        yield ((f"  {padded(name, room)}  {question}", ""),)


def render_texts(misses: Sequence[CaseRecord], *, limit: int, width: int) -> Iterator[Line]:
    """Yield the question, the expected answer and the answer of misses, one line each.

    Args:
        misses: one record of each case.
        limit: number of cases shown; the others are counted.
        width: columns of the terminal.
    """
    for record in misses[:limit]:
        yield (
            (f"{record.scores.outcome:<{HEAD}}", "bold"),
            (f"{clean(record.name)} {_cause(record)}", ""),
        )
        for label, text in _texts(record):
            shown = cut_columns(clean(text, _TEXT_CHARS), width - HEAD - _LABEL)
            yield ((f"{'':<{HEAD}}{label:<{_LABEL}}", "dim"), (shown, ""))
    if len(misses) > limit:
        yield ((f"{'':<{HEAD}}and {len(misses) - limit} more with -vv", "dim"),)


def _texts(record: CaseRecord) -> Iterator[tuple[str, str]]:
    yield "question", record.case.question
    if (case := record.stored_case) is not None:
        facts = "; ".join(case.expected_key_facts)
        expected = (case.expected_answer or facts) if case.answerable else "that it abstains"
        if expected:
            yield "expected", expected
    if record.answer is not None:
        yield "answer", record.answer or "(empty)"
