"""Checks of drafts: anchors and facts are in the notes, and questions are distinct. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.authoring.generation.drafts import Question, passages_of
from pytest_rageval.authoring.linting.duplicates import find_alike, words
from pytest_rageval.authoring.notes import Note, Section
from pytest_rageval.metrics.matching import anchor_segments, norm_text, starts_with
from pytest_rageval.values.case import Case

_MARKUP: Final = re.compile(
    r"[*_`~]+|!?\[(?P<text>[^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])?|<[^<>]*>|\\"
)


def comparable(text: str) -> str:
    """Return text in the form in which facts are looked for: normalised, without markup.

    >>> comparable("A **late**  [tool](x.md) costs `3` euros")
    'a late tool costs 3 euros'
    """
    return norm_text(_MARKUP.sub(lambda found: found["text"] or "", text))


def grounded(drafts: Iterable[Question], note: Note, dropped: Counter[str]) -> Iterator[Question]:
    """Yield the drafts whose snippet and facts are in the note under their heading.

    Missing facts are removed, and a draft without any facts left is dropped and counted by reason.
    """
    for draft in drafts:
        wanted = anchor_segments(draft.anchor)
        within = [one for one in note.sections if starts_with(one.segments, wanted)]
        snippet = norm_text(draft.snippet)
        if not snippet or not any(snippet in section.normal_text for section in within):
            dropped["snippet_lost"] += 1
            continue
        texts = [text for section in within for text in _readings(section)]
        kept = tuple(
            fact
            for fact in draft.facts
            if (wanted_fact := comparable(fact)) and any(wanted_fact in text for text in texts)
        )
        if not kept:
            dropped["facts_lost"] += 1
            continue
        yield replace(draft, facts=kept)


def _readings(section: Section) -> Iterator[str]:
    """Yield the text of a section with its markup removed in two ways; either may match."""
    yield comparable(section.text)
    yield comparable(" ".join(passage.plain for passage in passages_of(section)))


def unambiguous(
    drafts: Sequence[Question], titles: Mapping[str, str], dropped: Counter[str]
) -> list[Question]:
    """Return those of all drafts whose question is unambiguous.

    A term that several sections define is dropped. Another question that several sections answer
    is prefixed with the title of its note, if that distinguishes them.
    """
    places: dict[tuple[str, ...], set[tuple[str, str]]] = defaultdict(set)
    for draft in drafts:
        places[words(draft.question)].add((draft.rel_path, draft.heading_path))
    kept = []
    for draft in drafts:
        found = places[words(draft.question)]
        title = titles.get(draft.rel_path, "")
        notes = {path for path, _ in found}
        same = {path for path in notes if titles.get(path, "") == title}
        if len(found) == 1:
            kept.append(draft)
        elif draft.kind != "definition" and len(notes) == len(found) and len(same) == 1 and title:
            kept.append(replace(draft, question=f"{title}: {draft.question}"))
        else:
            dropped["ambiguous"] += 1
    return kept


def distinct(cases: Sequence[Case], known: Sequence[Case], dropped: Counter[str]) -> list[Case]:
    """Return the cases that are not near-duplicates of an earlier or a known case."""
    everything = [*known, *cases]
    asked = {words(case.question) for case in known}
    out: set[int] = set()
    for index, case in enumerate(cases, len(known)):
        if (key := words(case.question)) in asked:
            out.add(index)
        asked.add(key)
    for found in find_alike(everything):
        if found.index >= len(known) and found.earlier not in out:
            out.add(found.index)
    for _ in out:
        dropped["duplicate"] += 1
    return [case for index, case in enumerate(cases, len(known)) if index not in out]
