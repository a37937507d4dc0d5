"""The cases of a run that did not pass, by cause, as lines of a terminal."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_rageval.report.explain.verdict import STAGE_MEANING
from pytest_rageval.report.text.lines import HEAD, Line, fit_line
from pytest_rageval.support.text import clean, counted, cut_columns
from pytest_rageval.values.record import CaseRecord

Misses = Mapping[str, Sequence[CaseRecord]]
"""By cause, the most frequent first: the kind of an error, a failure stage, or else the outcome."""

_MEANINGS: Final = {str(stage): meaning for stage, meaning in STAGE_MEANING.items()}
_SHOWN: Final = 10
"""Cases of one cause that are listed unless all are asked for."""
_ID_COLUMNS: Final = 28
_QUESTION_CHARS: Final = 300


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
    names = Counter(name for name, _ in {(record.name, record.nodeid) for record in records})
    lines = [_head(records, misses, run_id)]
    for cause, found in misses.items():
        shown = found if verbose else found[:_SHOWN]
        lines += _group(cause, shown, len(found), names, width)
        if len(found) > len(shown):
            lines.append(((f"  and {len(found) - len(shown)} more, listed with -v", "dim"),))
    if misses:
        first = next(iter(misses.values()))[0]
        name = shlex.quote(clean(_name(first, names)))
        why = "   (why one of them failed)"
        command = f"rageval explain {shlex.quote(clean(run))} {name}"
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
    cause: str, records: Sequence[CaseRecord], total: int, names: Mapping[str, int], width: int
) -> Iterator[Line]:
    meaning = "" if records[0].error is not None else _MEANINGS.get(cause, "")
    yield ()
    yield ((f"{clean(cause)} {total}", "bold"), (f"   {meaning}", "dim"))
    shown = {clean(_name(record, names)): record for record in records}
    room = min(max(map(len, shown)), _ID_COLUMNS)
    for name, record in shown.items():
        aside = "" if record.counted else "(not reviewed) "
        question = cut_columns(
            aside + clean(record.question, _QUESTION_CHARS), width - max(len(name), room) - 4
        )
        yield ((f"  {name:<{room}}  {question}", ""),)


def _name(record: CaseRecord, names: Mapping[str, int]) -> str:
    """Return the shortest name by which the case is found in its run."""
    return record.name if names[record.name] == 1 else record.nodeid
