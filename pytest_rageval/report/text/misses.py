"""The cases of a run that did not pass, by cause, as lines of a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_rageval.report.explain.verdict import STAGE_MEANING
from pytest_rageval.report.text.lines import HEAD, Line, fit_line
from pytest_rageval.report.text.next_commands import case_names, explain_command
from pytest_rageval.support.text import clean, counted, cut_columns
from pytest_rageval.values.record import CaseRecord

Misses = Mapping[str, Sequence[CaseRecord]]
"""By cause, the most frequent first: the kind of an error, a failure stage, or else the outcome."""

_MEANINGS: Final = {str(stage): meaning for stage, meaning in STAGE_MEANING.items()}
_SHOWN: Final = 10
"""Cases of one cause that are listed unless all are asked for."""
_ID_COLUMNS: Final = 28
_TEXT_CHARS: Final = 300
_LABEL: Final = len("question  ")


def find_misses(records: Sequence[CaseRecord]) -> Misses:
    """Return the cases that erred, missed or have a failure stage, errors before the others.

    Of a case that was asked several times, the first such repeat stands for all.
    """
    found: dict[str, CaseRecord] = {}
    for record in records:
        if record.outcome != "passed" or record.failure_stage is not None:
            found.setdefault(record.nodeid, record)
    by_cause: dict[str, list[CaseRecord]] = {}
    for record in found.values():
        by_cause.setdefault(_cause(record), []).append(record)
    return dict(sorted(by_cause.items(), key=lambda one: (one[1][0].error is None, -len(one[1]))))


def _cause(record: CaseRecord) -> str:
    if record.error is not None:
        return record.error.kind
    return record.failure_stage or record.outcome


def misses_document(misses: Misses) -> list[dict[str, Any]]:
    """Return the list as JSON values."""
    return [
        {
            "cause": cause,
            "n_cases": len(records),
            "cases": [
                {
                    "case_id": record.case_id,
                    "nodeid": record.nodeid,
                    "outcome": record.outcome,
                    "question": record.question,
                }
                for record in records
            ],
        }
        for cause, records in misses.items()
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
    lines = [_head(records, misses, run_id)]
    for cause, found in misses.items():
        shown = found if verbose else found[:_SHOWN]
        lines += _group(cause, shown, len(found), names, width)
        if len(found) > len(shown):
            lines.append(((f"  and {len(found) - len(shown)} more, listed with -v", "dim"),))
    if misses:
        first = next(iter(misses.values()))[0]
        why = "   (why one of them failed)"
        command = explain_command(first, names, run)
        fits = HEAD + len(command) + len(why) <= width
        lines += [(), ((f"{'next':<{HEAD}}", "bold"), (command + why * fits, ""))]
    return [fit_line(line, width) for line in lines]


def _head(records: Sequence[CaseRecord], misses: Misses, run_id: str) -> Line:
    cases = counted(len({record.nodeid for record in records}), "case")
    outcomes = Counter(record.outcome for found in misses.values() for record in found)
    counts = ", ".join(f"{n} {outcome}" for outcome, n in outcomes.items())
    text = f"{outcomes.total()} of {cases} to look at: {counts}" if misses else f"{cases}, no miss"
    return ((f"run {clean(run_id)}", "bold"), (f"   {text}", ""))


def _group(
    cause: str, records: Sequence[CaseRecord], total: int, names: Mapping[str, str], width: int
) -> Iterator[Line]:
    meaning = "" if records[0].error is not None else _MEANINGS.get(cause, "")
    yield ()
    yield ((f"{clean(cause)} {total}", "bold"), (f"   {meaning}", "dim"))
    shown = {clean(names[record.nodeid]): record for record in records}
    room = min(max(map(len, shown)), _ID_COLUMNS)
    for name, record in shown.items():
        aside = "" if record.counted else "(not reviewed) "
        question = cut_columns(
            aside + clean(record.question, _TEXT_CHARS), width - max(len(name), room) - 4
        )
        yield ((f"  {name:<{room}}  {question}", ""),)


def render_texts(misses: Sequence[CaseRecord], *, limit: int, width: int) -> Iterator[Line]:
    """Yield the question, the expected answer and the answer of misses, one line each.

    Args:
        misses: one record of each case.
        limit: number of cases shown; the others are counted.
        width: columns of the terminal.
    """
    for record in misses[:limit]:
        yield (
            (f"{record.outcome:<{HEAD}}", "bold"),
            (f"{clean(record.name)} {_cause(record)}", ""),
        )
        for label, text in _texts(record):
            shown = cut_columns(clean(text, _TEXT_CHARS), width - HEAD - _LABEL)
            yield ((f"{'':<{HEAD}}{label:<{_LABEL}}", "dim"), (shown, ""))
    if len(misses) > limit:
        yield ((f"{'':<{HEAD}}and {len(misses) - limit} more with -vv", "dim"),)


def _texts(record: CaseRecord) -> Iterator[tuple[str, str]]:
    yield "question", record.question
    case = record.stored_case
    if case is not None:
        facts = "; ".join(case.expected_key_facts)
        expected = (case.expected_answer or facts) if case.answerable else "that it abstains"
        if expected:
            yield "expected", expected
    if record.answer is not None:
        yield "answer", record.answer or "(empty)"
