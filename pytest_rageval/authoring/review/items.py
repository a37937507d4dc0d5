"""Answers to read, in one form for those of a stored run and of a file with answers.

A file has the lines of cases with the reply as ``response`` on the same line, as imports write it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pytest_rageval.analysis.reading_order import Reason, reading_order, reasons_of
from pytest_rageval.analysis.review import (
    Readable,
    ReviewFindings,
    read_records,
    readable_record,
    record_key,
    review_findings,
)
from pytest_rageval.analysis.two_runs import compare_runs
from pytest_rageval.metrics.deciding import decide_chunks
from pytest_rageval.metrics.matching import text_hash
from pytest_rageval.metrics.scoring import case_cluster, case_weight
from pytest_rageval.project.case_edit import load_editable
from pytest_rageval.report.explain.verdict import stage_in_words
from pytest_rageval.runs.reviews import read_reviews
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import EndpointError, Fault, faults_error
from pytest_rageval.values.json_documents import items, text
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.reply import AskResponse, RetrievedChunk
from pytest_rageval.values.reviews import ReviewKey
from pytest_rageval.values.run import StoredRun

RESPONSE: Final = "response"
"""Key of the reply on a line of a file with answers."""
_SHOWN: Final = ("correctness", "groundedness", "key_fact_recall", "hit_at_k", "recall_at_k")
"""Scores that a reader sees, where there are any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAnswer:
    """One answer with all that a reader needs."""

    key: ReviewKey
    case: Case
    answer: str
    passages: tuple[RetrievedChunk, ...]
    """With their golds."""
    figured: Readable
    """The answer as figures count it."""
    stage_name: str = ""
    """In a few words."""
    scores: tuple[tuple[str, float], ...] = ()
    history: tuple[tuple[str, str], ...] = ()
    """Role and text of each message before the question."""
    reasons: tuple[Reason, ...] = ()
    """Reasons for which it promises more than a random one."""

    @property
    def answer_hash(self) -> str:
        """Hash of the answer, to which a verdict belongs."""
        return text_hash(self.answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSource:
    """The answers of a run or a file, in the order of reading."""

    place: Path
    """Folder of the run, or the file."""
    name: str
    """Id of the run, or name of the file."""
    answers: tuple[ReadAnswer, ...]
    random_share: float
    notes: tuple[str, ...] = ()
    """Remarks on lines that were left out."""

    @property
    def hashes(self) -> dict[ReviewKey, str]:
        """Hash of each answer."""
        return {one.key: one.answer_hash for one in self.answers}

    @property
    def readable(self) -> dict[ReviewKey, Readable]:
        """Each answer as figures count it."""
        return {one.key: one.figured for one in self.answers}


def source_of(
    place: Path,
    name: str,
    answers: list[ReadAnswer],
    *,
    random_share: float,
    notes: tuple[str, ...] = (),
) -> ReadSource:
    """Put answers in the order of reading."""
    by_key = {one.key: one for one in answers}
    order = reading_order({k: one.reasons for k, one in by_key.items()}, random_share=random_share)
    ordered = tuple(by_key[key] for key in order)
    return ReadSource(
        place=place, name=name, answers=ordered, random_share=random_share, notes=notes
    )


# --- a run -----------------------------------------------------------------------------------


def answers_of_run(run: StoredRun, baseline: StoredRun | None = None) -> list[ReadAnswer]:
    """Return the answers of a run, one of each case, its first repeat; errors have none.

    Args:
        run: with its texts.
        baseline: another run; cases that changed since promise more.
    """
    flipped = frozenset[tuple[str, str]]()
    if baseline is not None:
        flips = compare_runs(baseline, run).comparison.flips
        flipped = frozenset((one.file, one.case_id) for one in flips)
    found = read_records(run.records)
    return [_of_record(one, (one.file, one.name) in flipped) for one in found]


def _of_record(record: CaseRecord, flipped: bool) -> ReadAnswer:
    stage, metrics = stage_in_words(record), record.scores.metrics
    return ReadAnswer(
        key=record_key(record),
        case=record.case,
        answer=record.answer or "",
        passages=tuple(record.reply.retrieved_chunks or ()),
        figured=readable_record(record),
        stage_name=stage.name if stage else record.scores.outcome,
        scores=tuple((key, v) for key in _SHOWN if (v := metrics.get(key)) is not None),
        history=tuple((one.role, one.content) for one in record.history),
        reasons=reasons_of(record, flipped),
    )


# --- a file ----------------------------------------------------------------------------------


def answers_of_file(path: Path, display: str) -> tuple[list[ReadAnswer], int]:
    """Return the answers of a file, and the number of its lines without one.

    Raises:
        DatasetError: with every fault of the file, or no line has an answer.
    """
    found: list[ReadAnswer] = []
    faults: list[Fault] = []
    cases = load_editable(path, display=display).cases
    for one in cases:
        if (payload := one.values.get(RESPONSE)) is None:
            continue
        try:
            found.append(_of_line(one.case, parse_ask_response(payload), display))
        except EndpointError as error:
            facts = {"reason": error.message}
            faults.append(
                Fault(
                    code="invalid",
                    facts=facts,
                    file=display,
                    line=one.line.number,
                    loc=(RESPONSE,),
                )
            )
    if not found and not faults:
        faults.append(Fault(code="empty", facts={"expected": '{"response": ...}'}, file=display))
    if faults:
        raise faults_error(faults)
    return found, len(cases) - len(found)


def _of_line(case: Case, response: AskResponse, file: str) -> ReadAnswer:
    chunks = decide_chunks(case, response.retrieved_chunks or (), ScoreSettings())
    return ReadAnswer(
        key=(file, case.id, 0),
        case=case,
        answer=response.answer,
        passages=tuple(chunks),
        figured=Readable(weight=case_weight(case), cluster=case_cluster(case)),
        history=tuple(
            (text(one, "role"), text(one, "content"))
            for one in items(case.metadata, "history")
            if isinstance(one, dict)
        ),
        # As imports of logs write it.
        reasons=("negative feedback",) if case.metadata.get("feedback") == "down" else (),
    )


def hidden(answer: ReadAnswer) -> ReadAnswer:
    """Return an answer without what we say about it."""
    return replace(answer, figured=Readable(), stage_name="", scores=(), reasons=())


def found_in(source: ReadSource) -> ReviewFindings:
    """Return what all readers of a source found.

    Raises:
        StorageError: a reader's file cannot be read.
    """
    return review_findings(read_reviews(source.place), source.hashes, source.readable)
