"""Cases from notes: drafts, conversations, checks, and a share of unanswerable questions."""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice, permutations, zip_longest
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.authoring.generation.drafts import (
    DraftQuestion,
    count_words,
    drafts_of,
    title_of,
)
from pytest_rageval.authoring.generation.model import (
    MIN_WORDS,
    PROMPT_VERSION,
    ask_about,
    ask_on,
    comparable,
    distinct,
    grounded,
    unambiguous,
)
from pytest_rageval.authoring.interchange.ids import id_from_question
from pytest_rageval.authoring.linting.duplicates import words
from pytest_rageval.metrics.matching import norm_text
from pytest_rageval.project.case_reader import case_fields
from pytest_rageval.values.case import Case, Turn

if TYPE_CHECKING:
    from pytest_rageval.authoring.notes import NoteFile, NoteSection
    from pytest_rageval.judges.model.chat import ChatModel

_ABOVE: Final = " > "
_LEAST_CHARS: Final = 4
"""Of a word that two questions share where the second may leave it out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftTalk:
    """Two drafts, of which the second is asked in the context of the first."""

    first: DraftQuestion
    second: DraftQuestion
    """With its question in full."""
    asked: str
    """The question of the second as it follows the first."""


def talks_of(
    drafts: Sequence[DraftQuestion],
    titles: Mapping[str, str],
    count: int,
    rng: random.Random,
    rewritten: Callable[[DraftQuestion, DraftQuestion], str] | None = None,
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
    used: set[DraftQuestion] = set()
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


def _neighbours(drafts: Sequence[DraftQuestion]) -> Iterator[tuple[DraftQuestion, DraftQuestion]]:
    """Yield drafts with one before them in their note, of the heading beside or above theirs."""
    before: list[DraftQuestion] = []
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


def _titled(first: DraftQuestion, second: DraftQuestion, title: str) -> DraftTalk | None:
    asked = second.question.removeprefix(f"{title}: ")
    if not title or asked == second.question:
        return None
    if title.casefold() not in first.question.casefold():
        first = replace(first, question=f"{title}: {first.question}")
    return DraftTalk(first=first, second=second, asked=asked)


def _pronoun(first: DraftQuestion, second: DraftQuestion) -> DraftTalk | None:
    if not first.term or not first.question.startswith("What is"):
        return None
    bare = re.escape(re.sub(r"^(the|an?) ", "", first.term))
    named = re.compile(rf"(?<= )(the|an?) {bare}(?![\w'’-])", re.I)
    asked, n = named.subn("it", second.question)
    return DraftTalk(first=first, second=second, asked=asked) if n == 1 else None


def _checked(
    first: DraftQuestion,
    second: DraftQuestion,
    rewritten: Callable[[DraftQuestion, DraftQuestion], str],
) -> str:
    """Return a rewritten question that leaves out what both questions name, or an empty one.

    Drafts that name nothing together are not rewritten.
    """
    shared = {*words(first.question)} & {*words(second.question)}
    shared = {word for word in shared if len(word) >= _LEAST_CHARS}
    asked = rewritten(first, second) if shared else ""
    return asked if shared - {*words(asked)} else ""


SHARE: Final = 5
"""Answerable questions per unanswerable one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Options of the generation."""

    seed: int = 0
    limit: int | None = None
    """Maximum number of cases; None: all."""
    talks: int = 0
    """Maximum number of conversations among them, which take the place of two cases each."""
    unanswerable: int | None = None
    """Number of questions about invented names; None: one per ``SHARE`` answerable ones."""
    withheld: tuple[str, ...] = ()
    """Patterns of paths of notes that will not be served."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """Result of the generation."""

    cases: tuple[Case, ...]
    n_notes: int
    n_used: int
    """Number of notes that have a case."""
    withheld: tuple[str, ...]
    """Paths of notes that must not be indexed."""
    dropped: Mapping[str, int]
    """Number of drafts by the reason why they are no case, a row of ``DROPPED``."""


DROPPED: Final = {
    "snippet_lost": "the snippet is not in its section",
    "facts_lost": "no key fact is in its section",
    "ambiguous": "several sections answer the question",
    "duplicate": "nearly the same question is there already",
    "held_elsewhere": "withheld, but another note has it",
    "reply_unparseable": "the reply of the model was unparseable",
    "reply_truncated": "the reply of the model was cut by length",
    "reply_refused": "the model declined",
    "case_incomplete": "the case of the model lacks a question, a quote or key facts",
    "no_question": "the model asked no question",
    "quote_lost": "the quote of the model is not in its section",
    "quote_without_fact": "no key fact of the model is in its quote",
}


def generate(
    notes: Sequence[NoteFile],
    wish: Wish,
    *,
    known: Sequence[Case] = (),
    model: ChatModel | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Generated:
    """Generate cases from notes; the same notes, wish and known cases give the same result.

    Args:
        notes: of a vault, in order of path.
        wish: options.
        known: existing cases, which are not repeated.
        model: writes further questions; None: only questions from the structure of the notes.
        progress: called with the number of sections done and their total.

    Raises:
        JudgeError: the model cannot be reached.
    """
    rng = random.Random(wish.seed)
    dropped: Counter[str] = Counter()
    held_back = [note for note in notes if is_withheld(note, wish.withheld)]
    served = [note for note in notes if not is_withheld(note, wish.withheld)]
    titles = {note.rel_path: title_of(note) for note in notes}
    drafts = list(_structured(served, dropped))
    if model is not None:
        sections = _sections(served, None if wish.limit is None else 2 * wish.limit, rng)
        for number, (note, section) in enumerate(sections, 1):
            drafts += ask_about(model, note, section, dropped)
            progress(number, len(sections))
    drafts = unambiguous(drafts, titles, dropped)
    made_by = f"{model.identity} {PROMPT_VERSION}" if model is not None else ""
    by_id = {one.id: (one, draft) for draft in drafts for one in [_case(draft, made_by)]}
    fresh = distinct([one for one, _ in by_id.values()], known, dropped)
    n_without = _n_without(wish, len(fresh))
    drafts = [by_id[one.id][1] for one in fresh]
    most = wish.talks if wish.limit is None else min(wish.talks, wish.limit - n_without)
    asks = None if model is None else partial(ask_on, model, dropped=dropped)
    talks = talks_of(drafts, titles, most, rng, asks) if most else []
    within = {draft.anchor for talk in talks for draft in (talk.first, talk.second)}
    room = None if wish.limit is None else wish.limit - n_without - len(talks)
    chosen = spread([draft for draft in drafts if draft.anchor not in within], room, rng)
    without = [
        *withhold(_structured(held_back, dropped), served, dropped),
        *swap_subjects(chosen, notes, n_without, rng),
    ]
    room = None if wish.limit is None else wish.limit - len(talks)
    cases = [*(_case(draft, made_by) for draft in chosen), *without][:room]
    kept = [*(_talk_case(one, made_by) for one in talks), *distinct(cases, known, dropped)]
    sources = {str(case.metadata["source"]).rpartition(":")[0] for case in kept}
    return Generated(
        cases=tuple(kept),
        n_notes=len(notes),
        n_used=len(sources),
        withheld=tuple(note.rel_path for note in held_back),
        dropped=dict(sorted(dropped.items())),
    )


def is_withheld(note: NoteFile, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns matches the path of a note."""
    return any(fnmatchcase(note.rel_path, pattern) for pattern in patterns)


def _structured(notes: Sequence[NoteFile], dropped: Counter[str]) -> Iterator[DraftQuestion]:
    for note in notes:
        yield from grounded(drafts_of(note), note, dropped)


def _sections(
    notes: Sequence[NoteFile], limit: int | None, rng: random.Random
) -> list[tuple[NoteFile, NoteSection]]:
    """Return the sections to ask about, in order; with a limit, a sample."""
    found = [
        (note, section)
        for note in notes
        for section in note.sections
        if count_words(section.text) >= MIN_WORDS
    ]
    if limit is None or limit >= len(found):
        return found
    return [found[index] for index in sorted(rng.sample(range(len(found)), limit))]


def _n_without(wish: Wish, n_answerable: int) -> int:
    """Return the number of questions about invented names to make."""
    if wish.limit is None:
        return n_answerable // SHARE if wish.unanswerable is None else wish.unanswerable
    share = min(wish.limit, n_answerable) // (SHARE + 1)
    return min(share if wish.unanswerable is None else wish.unanswerable, wish.limit)


_STRUCTURE: Final = "structure/1"
"""Name of the generator that uses no model."""


def _case(draft: DraftQuestion, model: str) -> Case:
    """Return a draft as a case that must be reviewed; the model made those of its kind."""
    by = model if draft.kind == "model" else _STRUCTURE
    return Case(
        id=id_from_question(draft.question, draft.rel_path, draft.heading_path),
        question=draft.question,
        **_expected(draft),
        category="factual",
        tags=("generated", draft.kind),
        review="generated",
        metadata={"generated_by": by, "source": f"{draft.rel_path}:{draft.line}"},
    )


def _expected(draft: DraftQuestion) -> dict[str, Any]:
    return {
        "expected_key_facts": draft.facts,
        "expected_answer": draft.answer,
        "gold_supports": (draft.anchor,),
    }


def _talk_case(talk: DraftTalk, model: str) -> Case:
    """Return a conversation as a case that must be reviewed."""
    first, second = talk.first, talk.second
    turns = (
        Turn(question=first.question, **_expected(first)),
        Turn(question=talk.asked, standalone=second.question, **_expected(second)),
    )
    return Case(
        id=id_from_question(first.question, first.rel_path, second.heading_path),
        turns=turns,
        category="factual",
        tags=("generated", "talk"),
        review="generated",
        metadata={
            "generated_by": model or _STRUCTURE,
            "source": f"{first.rel_path}:{first.line}",
        },
    )


def _unanswerable_case(question: str, draft: DraftQuestion, why: str) -> Case:
    """Return a question without an answer, made of a draft, as a case that must be reviewed."""
    return Case(
        id=id_from_question(question, draft.rel_path, "unanswerable"),
        question=question,
        answerable=False,
        category="unanswerable",
        tags=("generated", "unanswerable"),
        notes=why,
        review="generated",
        metadata={"generated_by": _STRUCTURE, "source": f"{draft.rel_path}:{draft.line}"},
    )


def spread(
    drafts: Sequence[DraftQuestion], limit: int | None, rng: random.Random
) -> list[DraftQuestion]:
    """Choose drafts up to a limit, from as many notes as possible, in their order."""
    if limit is None or limit >= len(drafts):
        return list(drafts)
    by_note: dict[str, list[int]] = defaultdict(list)
    for index, draft in enumerate(drafts):
        by_note[draft.rel_path].append(index)
    piles = [rng.sample(indices, len(indices))[::-1] for indices in by_note.values()]
    rng.shuffle(piles)
    in_turn = (index for row in zip_longest(*piles) for index in row if index is not None)
    return [drafts[index] for index in sorted(islice(in_turn, limit))]


def case_file(cases: Iterable[Case]) -> str:
    """Return the text of a case file."""
    return "".join(f"{json.dumps(case_fields(case), ensure_ascii=False)}\n" for case in cases)


NAMES: Final = (
    "Brenholt", "Quillmere", "Tarvik", "Ossendra", "Mirabeck", "Feldspan", "Jorvale", "Kestrom",
    "Lunthorpe", "Vexley", "Zandmoor", "Harrowick", "Pellucia", "Drumgate", "Ysmere", "Corvanta",
    "Wexholm", "Thessaly-9", "Nordquist", "Gantry-X", "Ostrava-Lite", "Bellanmar", "Ravensel",
    "Underhay", "Sablefin", "Marlowen", "Cindermoor", "Holbrix", "Tessarine", "Aldermoss",
)  # fmt: skip
"""Invented names; names that occur in a note are not used."""
_SUBJECT: Final = re.compile(r"(?<=[a-z,] )(?:[A-Z][\w-]*[\w]|\w*\d[\w.-]*\w)(?: [A-Z][\w-]*\w)*")
"""Names, and words with a digit, that do not begin the question, not even after a title."""


def swap_subjects(
    drafts: Sequence[DraftQuestion], notes: Iterable[NoteFile], count: int, rng: random.Random
) -> Iterator[Case]:
    """Yield at most ``count`` questions about invented names that are in none of the notes."""
    held = " ".join(f"{note.normal_path} {note.normal_text}" for note in notes).casefold()
    names = [name for name in NAMES if norm_text(name) not in held]
    names += [f"{one} {other}" for one, other in permutations(names, 2)]
    able = [(draft, subject) for draft in drafts if (subject := _subject(draft))]
    chosen = rng.sample(able, min(count, len(able), len(names)))
    for (draft, subject), name in zip(chosen, rng.sample(names, len(chosen)), strict=True):
        question = re.sub(rf"(?<!\w){re.escape(subject)}(?!\w)", name, draft.question)
        if name in question and norm_text(question) not in held:
            why = f"asks of {name} instead of {subject}; no note holds {name}"
            yield _unanswerable_case(question, draft, why)


def _subject(draft: DraftQuestion) -> str:
    if draft.term and draft.term in draft.question:
        return draft.term
    found = _SUBJECT.search(draft.question)
    return found[0] if found else ""


def withhold(
    drafts: Iterable[DraftQuestion], kept: Sequence[NoteFile], dropped: Counter[str]
) -> Iterator[Case]:
    """Yield the questions of withheld notes that the notes which are kept do not answer."""
    texts = [comparable("\n".join(note.lines)) for note in kept]
    for draft in drafts:
        sought = [comparable(text) for text in (*draft.facts, draft.snippet, draft.term) if text]
        asked = comparable(draft.question).rstrip("?")
        if any(part in text for part in [*sought, asked] if part for text in texts):
            dropped["held_elsewhere"] += 1
            continue
        why = f"only {draft.rel_path} answers it, which is withheld"
        yield _unanswerable_case(draft.question, draft, why)
