"""Drafts become cases of a file. Pure."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from pytest_rageval.authoring.generation.checks import anchor_of
from pytest_rageval.authoring.generation.drafts import Draft
from pytest_rageval.authoring.generation.withholding import Unanswerable
from pytest_rageval.authoring.interchange.case_lines import case_line
from pytest_rageval.metrics.matching import norm_text
from pytest_rageval.values.case import Case

STRUCTURE: Final = "structure/1"
_SLUG_CHARS: Final = 40
_NO_SLUG: Final = re.compile(r"[^a-z0-9]+")


def case_of(draft: Draft, *, by: str = STRUCTURE) -> Case:
    """Return a draft as a case that must be reviewed.

    Args:
        draft: the question and its place.
        by: who made it.
    """
    return Case(
        id=_id(draft.question, draft.rel_path, draft.heading_path),
        question=draft.question,
        expected_key_facts=draft.facts,
        expected_answer=draft.answer,
        gold_supports=(anchor_of(draft),),
        category="factual",
        tags=("generated", draft.kind),
        review="generated",
        metadata={"generated_by": by, "source": f"{draft.rel_path}:{draft.line}"},
    )


def unanswerable_case(found: Unanswerable, *, by: str = STRUCTURE) -> Case:
    """Return a question without an answer as a case that must be reviewed."""
    draft = found.draft
    return Case(
        id=_id(found.question, draft.rel_path, "unanswerable"),
        question=found.question,
        answerable=False,
        category="unanswerable",
        tags=("generated", "unanswerable"),
        notes=found.why,
        review="generated",
        metadata={"generated_by": by, "source": f"{draft.rel_path}:{draft.line}"},
    )


def _id(question: str, *place: str) -> str:
    """Name a case by its words and, so that the id is its own, by a hash of words and place."""
    slug = _NO_SLUG.sub("-", norm_text(question))[:_SLUG_CHARS].strip("-") or "case"
    digest = hashlib.sha256("\0".join((question, *place)).encode("utf-8", "replace")).hexdigest()
    return f"{slug}-{digest[:6]}"


def spread(drafts: Sequence[Draft], limit: int | None, rng: random.Random) -> list[Draft]:
    """Choose drafts from as many notes as there are, in the order in which they stand.

    Args:
        drafts: of all notes.
        limit: how many at most; None: all.
        rng: chooses among those of a note, and among notes.
    """
    if limit is None or limit >= len(drafts):
        return list(drafts)
    by_note: dict[str, list[int]] = defaultdict(list)
    for index, draft in enumerate(drafts):
        by_note[draft.rel_path].append(index)
    piles = [rng.sample(indices, len(indices)) for indices in by_note.values()]
    rng.shuffle(piles)
    chosen: list[int] = []
    while len(chosen) < limit:
        for pile in piles:
            if pile and len(chosen) < limit:
                chosen.append(pile.pop())
    return [drafts[index] for index in sorted(chosen)]


def case_file(cases: Iterable[Case]) -> str:
    """Return the text of a case file."""
    return "".join(f"{json.dumps(case_line(case), ensure_ascii=False)}\n" for case in cases)
