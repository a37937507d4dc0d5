"""Use of what a reader found: labels for a judge, tags of cases, the draft of a rubric. Pure."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_rageval.analysis.trust.calibration import LABELS, OWN_LABELS
from pytest_rageval.authoring.interchange.ids import clean_label, short_hash
from pytest_rageval.authoring.review.items import ReadAnswer, ReadSource
from pytest_rageval.report.explain.verdict import expected_answer
from pytest_rageval.values.reviews import FAILURE_TAG, AnswerReview, ReviewKey

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
