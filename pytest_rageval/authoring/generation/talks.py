"""Conversations of two turns, from questions that sections beside each other answer."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_rageval.authoring.generation.drafts import Question
from pytest_rageval.authoring.linting.duplicates import words

_ABOVE: Final = " > "
_LEAST_CHARS: Final = 4
"""Of a word that two questions share where the second may leave it out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftTalk:
    """Two drafts, of which the second is asked in the context of the first."""

    first: Question
    second: Question
    """With its question in full."""
    asked: str
    """The question of the second as it follows the first."""


def talks_of(
    drafts: Sequence[Question],
    titles: Mapping[str, str],
    count: int,
    rng: random.Random,
    rewritten: Callable[[Question, Question], str] | None = None,
) -> list[DraftTalk]:
    """Return conversations, each draft in one of them at most.

    A question that got its title put before it stands without it, and an English one with the term
    that the first defines says *it*.

    Args:
        drafts: answerable questions.
        titles: of the notes by path.
        count: the most of them.
        rng: chooses them.
        rewritten: says a second question as it follows the first, where the notes do not tell,
            or nothing; None: nobody can.
    """
    pairs = [*_neighbours(drafts)]
    rng.shuffle(pairs)
    used: set[Question] = set()
    found: list[DraftTalk] = []
    for first, second in pairs:
        if len(found) >= count:
            break
        if used.isdisjoint((first, second)):
            talk = _titled(first, second, titles.get(first.rel_path, "")) or _pronoun(first, second)
            if talk is None and rewritten and (asked := _checked(first, second, rewritten)):
                talk = DraftTalk(first=first, second=second, asked=asked)
            if talk is not None:
                used |= {first, second}
                found.append(talk)
    return sorted(found, key=lambda one: (one.first.rel_path, one.first.line))


def _neighbours(drafts: Sequence[Question]) -> Iterator[tuple[Question, Question]]:
    """Yield drafts with one before them in their note, of the heading beside or above theirs."""
    before: list[Question] = []
    for draft in sorted(drafts, key=lambda one: (one.rel_path, one.line)):
        if before and before[-1].rel_path != draft.rel_path:
            before.clear()
        parent = draft.heading_path.rpartition(_ABOVE)[0]
        for other in reversed(before):
            above = other.heading_path.rpartition(_ABOVE)[0]
            if other.heading_path != draft.heading_path and parent in (above, other.heading_path):
                yield other, draft
                break
        before.append(draft)


def _titled(first: Question, second: Question, title: str) -> DraftTalk | None:
    asked = second.question.removeprefix(f"{title}: ")
    if not title or asked == second.question:
        return None
    if title.casefold() not in first.question.casefold():
        first = replace(first, question=f"{title}: {first.question}")
    return DraftTalk(first=first, second=second, asked=asked)


def _pronoun(first: Question, second: Question) -> DraftTalk | None:
    if not first.term or not first.question.startswith("What is"):
        return None
    bare = re.escape(re.sub(r"^(the|an?) ", "", first.term))
    named = re.compile(rf"(?<= )(the|an?) {bare}(?![\w'’-])", re.I)
    asked, n = named.subn("it", second.question)
    return DraftTalk(first=first, second=second, asked=asked) if n == 1 else None


def _checked(
    first: Question, second: Question, rewritten: Callable[[Question, Question], str]
) -> str:
    """Return a rewritten question that leaves out what both questions name, or an empty one.

    Drafts that name nothing together are not rewritten.
    """
    shared = {*words(first.question)} & {*words(second.question)}
    shared = {word for word in shared if len(word) >= _LEAST_CHARS}
    asked = rewritten(first, second) if shared else ""
    return asked if shared - {*words(asked)} else ""
