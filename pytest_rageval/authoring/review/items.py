"""Answers to read, in one form for runs and files, and the use of what a reader found.

A file has the lines of cases with the reply as ``response`` on the same line, as imports write it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pytest_rageval.analysis.reading_order import Reason, reading_order, reasons_of
from pytest_rageval.analysis.review import (
    Readable,
    ReviewFindings,
    read_records,
    readable_record,
    record_key,
    review_findings,
)
from pytest_rageval.analysis.trust.calibration import LABELS, OWN_LABELS
from pytest_rageval.analysis.two_runs import compare_runs
from pytest_rageval.authoring.interchange.ids import clean_label, short_hash
from pytest_rageval.metrics.deciding import decide_chunks
from pytest_rageval.metrics.matching import text_hash
from pytest_rageval.metrics.scoring import case_cluster, case_weight
from pytest_rageval.project.case_edit import load_editable
from pytest_rageval.report.explain.verdict import expected_answer, stage_in_words
from pytest_rageval.runs.reviews import read_reviews
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import EndpointError, Fault, faults_error
from pytest_rageval.values.lenient import items, text
from pytest_rageval.values.record import CaseRecord, ScoreSettings
from pytest_rageval.values.reply import AskResponse, RetrievedChunk
from pytest_rageval.values.run import FAILURE_TAG, AnswerReview, ReviewKey, StoredRun

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


_EXAMPLES: Final = 6
"""Notes that a drafted rubric quotes, of the category and of others."""
_NOTE: Final = 200
_BRACES: Final = str.maketrans("{}", "()")
"""Braces of a note would be read as parts of the template."""

Reviews = Mapping[ReviewKey, AnswerReview]


def failure_tag(category: str) -> str:
    """Return the tag of a category: ``failure:wrong_date``."""
    return FAILURE_TAG + clean_label(category.lower().replace(":", " "), blank="_")


def tags_after(tags: Sequence[str], reviews: Iterable[AnswerReview]) -> tuple[str, ...]:
    """Return the tags of a case, of whose answers some were read: their failures for earlier ones.

    Args:
        tags: of the case.
        reviews: of its answer, or of the answers to the turns of a conversation.
    """
    kept = [tag for tag in tags if not tag.startswith(FAILURE_TAG)]
    failed = [one for one in reviews if one.verdict == "fail" and one.category]
    return tuple(dict.fromkeys((*kept, *(failure_tag(one.category) for one in failed))))


# --- labels ----------------------------------------------------------------------------------


def label_lines(
    source: ReadSource, reviews: Reviews, category: str | None
) -> Iterator[dict[str, Any]]:
    """Yield the lines of a label file for ``rageval calibrate``.

    Args:
        source: of the answers.
        reviews: of one reader; skipped answers have no label.
        category: the labels of its drafted rubric, ``bad`` for an answer that has it; None: those
            of the rubric ``correctness``.
    """
    names = Counter(one.case.id for one in source.answers)
    good, bad = OWN_LABELS if category else LABELS["correctness"]
    for one in source.answers:
        review = reviews.get(one.key)
        if review is None or review.verdict == "skip" or not one.answer.strip():
            continue
        wrong = review.category == category if category else review.verdict == "fail"
        file, name, repeat = one.key
        yield {
            "id": name if names[one.case.id] == 1 else f"{file}::{name}#{repeat}",
            "question": one.case.question,
            "answer": one.answer,
            "context": _context(one),
            "history": [f"{role}: {text}" for role, text in one.history],
            "reference": [expected_answer(one.case)] if _expects_words(one) else [],
            "label": bad if wrong else good,
            "source": source.name,
        }


def _expects_words(answer: ReadAnswer) -> bool:
    case = answer.case
    return case.answerable and bool(case.expected_answer or case.expected_key_facts)


def _context(answer: ReadAnswer) -> str:
    return "\n".join(f"[{n}] {one.text or ''}" for n, one in enumerate(answer.passages, 1))


# --- rubric ----------------------------------------------------------------------------------


def rubric_name(category: str) -> str:
    """Return the name of a category's rubric: ``failure_wrong_date``, in ASCII."""
    plain = unicodedata.normalize("NFKD", category.lower()).encode("ascii", "ignore").decode()
    words = "_".join(re.findall(r"[a-z0-9]+", plain))[:40].strip("_")
    return f"failure_{words or short_hash(category)}"


def rubric_texts(category: str, reviews: Reviews) -> tuple[str, str]:
    """Return template and schema of a rubric that says whether an answer has a fault.

    The examples are notes of the reader: an answer or a document never reaches the instructions.

    Args:
        category: of the fault, which answers of the reviews have.
        reviews: of one reader.
    """
    judged = [one for one in reviews.values() if one.verdict != "skip"]
    failed = [one for one in judged if one.verdict == "fail"]
    ours = _notes(one.note for one in failed if one.category == category)
    apart = [one for one in failed if one.category not in {category, ""}]
    others = [note for note in _notes(o.note or o.category for o in apart) if note not in ours]
    n = sum(one.category == category for one in failed)
    title = category.translate(_BRACES)
    parts = [
        "{# data: question, answer, context #}",
        f"Task: decide whether the answer has one fault: {json.dumps(title, ensure_ascii=False)}.",
        "",
        f"A reader found it in {n} of {len(judged)} answers, and described it so:",
        *(ours or [f"- {title}"]),
        *(["", "Other faults do not count here, such as:", *others] if others else []),
        "",
        '- "absent": true if the answer does not have this fault, false if it has it',
        'Say why in "reasoning", in one sentence, before you decide.',
    ]
    schema = {
        "type": "object",
        "properties": {
            "reasoning": {"type": "string"},
            "absent": {"type": "boolean", "title": f"Without the fault: {category}"},
        },
        "required": ["absent"],
    }
    return "\n".join(parts) + "\n", json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _notes(texts: Iterable[str]) -> list[str]:
    """Return the most frequent notes as lines of a list, short ones first among equals."""
    counts = Counter(" ".join(text.translate(_BRACES).split())[:_NOTE] for text in texts if text)
    chosen = sorted(counts, key=lambda note: (-counts[note], len(note), note))
    return [f"- {note}" for note in chosen[:_EXAMPLES]]
