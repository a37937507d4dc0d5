"""Questions that the notes do not answer: about an unknown name, or a note held back. Pure."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Final

from pytest_rageval.authoring.generation.checks import Dropped, comparable
from pytest_rageval.authoring.generation.drafts import Draft
from pytest_rageval.metrics.matching import norm_text

if TYPE_CHECKING:
    from pytest_rageval.authoring.notes.sections import Note

NAMES: Final = (
    "Brenholt", "Quillmere", "Tarvik", "Ossendra", "Mirabeck", "Feldspan", "Jorvale", "Kestrom",
    "Lunthorpe", "Vexley", "Zandmoor", "Harrowick", "Pellucia", "Drumgate", "Ysmere", "Corvanta",
    "Wexholm", "Thessaly-9", "Nordquist", "Gantry-X", "Ostrava-Lite", "Bellanmar", "Ravensel",
    "Underhay", "Sablefin", "Marlowen", "Cindermoor", "Holbrix", "Tessarine", "Aldermoss",
)  # fmt: skip
"""Invented; one that a note holds all the same is not used."""
_SUBJECT: Final = re.compile(r"(?<=[a-z,:] )(?:[A-Z][\w-]*[\w]|\w*\d[\w.-]*\w)(?: [A-Z][\w-]*\w)*")
"""Names, and words with a digit, that do not begin the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswerable:
    """A question without an answer, and why it has none."""

    question: str
    draft: Draft
    """The question it was made from."""
    why: str


def swap_subjects(
    drafts: Sequence[Draft], notes: Iterable[Note], count: int, rng: random.Random
) -> Iterator[Unanswerable]:
    """Yield questions about invented names that no note holds.

    Args:
        drafts: questions with answers.
        notes: all of them, so that a name is held against each.
        count: how many at most.
        rng: chooses questions and names.
    """
    held = " ".join(f"{note.normal_path} {note.normal_text}" for note in notes).casefold()
    names = [name for name in NAMES if norm_text(name) not in held]
    names += [f"{one} {other}" for one, other in permutations(names, 2)]
    able = [(draft, subject) for draft in drafts if (subject := _subject(draft))]
    chosen = rng.sample(able, min(count, len(able), len(names)))
    for (draft, subject), name in zip(chosen, rng.sample(names, len(chosen)), strict=True):
        question = re.sub(rf"(?<!\w){re.escape(subject)}(?!\w)", name, draft.question)
        if name in question and norm_text(question) not in held:
            why = f"asks of {name} instead of {subject}; no note holds {name}"
            yield Unanswerable(question=question, draft=draft, why=why)


def _subject(draft: Draft) -> str:
    if draft.term and draft.term in draft.question:
        return draft.term
    found = _SUBJECT.search(draft.question)
    return found[0] if found else ""


def withhold(
    drafts: Iterable[Draft], kept: Sequence[Note], dropped: Dropped
) -> Iterator[Unanswerable]:
    """Yield the questions of notes held back that none of the others answers.

    Args:
        drafts: of the notes held back.
        kept: the notes that are served.
        dropped: counts what the others hold.
    """
    texts = [comparable("\n".join(note.lines)) for note in kept]
    for draft in drafts:
        sought = [comparable(text) for text in (*draft.facts, draft.snippet, draft.term) if text]
        asked = comparable(draft.question).rstrip("?")
        if any(part in text for part in [*sought, asked] if part for text in texts):
            dropped.add("withheld, but another note holds it")
            continue
        why = f"only {draft.rel_path} answers it, which is withheld"
        yield Unanswerable(question=draft.question, draft=draft, why=why)
