"""The visible state of a session, as plain values for every user interface. Pure.

Texts are unchanged from the target, the case file and the user: each interface escapes them.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_rageval.authoring.labelling import anchors
from pytest_rageval.authoring.labelling.draft import groups_text
from pytest_rageval.authoring.labelling.session import TEXT_MODES, LabelSession, Mode
from pytest_rageval.authoring.labelling.snippets import SnippetChoice
from pytest_rageval.values.reply import RetrievedChunk

PROMPTS = {
    Mode.SEARCH: "show rows that hold (empty: all)",
    Mode.NOTE: "note (replaces the old one; empty: no change, -: none)",
    Mode.GROUPS: "golds that are enough together, such as 1+2, 3 (empty: no change, -: none)",
}
"""Prompt of each text mode."""

HELP = (
    ("j k up down", "move"),
    ("space, 1 to 20", "mark or unmark as evidence"),
    ("s", "quote the sentences that hold the evidence"),
    ("a", "answerable or not"),
    ("g", "groups: the numbers of golds that are needed together"),
    ("t", "note"),
    ("/", "filter the rows; escape shows all"),
    ("u r", "undo, redo"),
    ("enter", "decide: save and go to the next case"),
    ("n p", "next, previous case; changes are saved"),
    ("w", "save and stay"),
    ("R", "ask the target again"),
    ("q Q", "leave; Q without saving this case"),
)
"""Keys and their actions, most used first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowView:
    """One chunk, or one gold that matches none of the chunks."""

    number: int
    """From 1; the key that marks it."""
    marked: bool
    current: bool
    place: str
    """Path and heading."""
    golds: tuple[int, ...]
    """Numbers of its golds, from 1."""
    tags: tuple[str, ...]
    """Such as ``not retrieved``, ``irrelevant`` or the names of annotators who marked it."""
    scores: tuple[tuple[str, float], ...]
    """Name and value as the target reports them."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageView:
    """One sentence that can be quoted."""

    number: int
    marked: bool
    current: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """Everything that a user interface shows."""

    position: int
    """Position of the case in the queue, from 1."""
    total: int
    case_id: str
    question: str
    key_facts: tuple[str, ...]
    expected_answer: str
    answerable: bool
    unreviewed: bool
    """Whether the case is generated and not reviewed."""
    unsaved: bool
    remarks: tuple[str, ...]
    problem: str
    """Reason for missing chunks; empty: there are chunks."""
    rows: tuple[RowView, ...]
    golds: tuple[str, ...]
    """Path, heading and quotes of each marked gold."""
    groups: str
    notes: str
    filter: str
    mode: str
    prompt: str
    """Prompt in a text mode; empty in other modes."""
    typed: str
    passages: tuple[PassageView, ...]
    """Not empty while a snippet is chosen."""
    conflict: str
    """The line as changed by another program; empty: there is no conflict."""
    help: bool
    notice: str

    @property
    def current(self) -> RowView | None:
        """The row that keys act on."""
        return next((row for row in self.rows if row.current), None)


def view_of(session: LabelSession) -> SessionView:
    """Return the visible state of a session; asks the target if that has not been done."""
    work = session.work
    case, draft = work.item.case, work.draft
    current = session.row
    return SessionView(
        position=session.index + 1,
        total=session.total,
        case_id=case.id,
        question=case.question,
        key_facts=case.expected_key_facts,
        expected_answer=case.expected_answer or "",
        answerable=draft.answerable,
        unreviewed=draft.review == "generated",
        unsaved=work.changed,
        remarks=work.item.remarks,
        problem=work.fetched.problem if work.fetched is not None else "",
        rows=tuple(_row_view(session, row, row == current) for row in session.rows),
        golds=tuple(map(_gold_text, draft.golds)),
        groups=groups_text(draft.groups),
        notes=draft.notes,
        filter=session.filter,
        mode=session.mode.value,
        prompt=PROMPTS[session.mode] if session.mode in TEXT_MODES else "",
        typed=session.typed,
        passages=() if session.choice is None else _passage_views(session.choice),
        conflict=session.conflict,
        help=session.help,
        notice=session.notice,
    )


def _row_view(session: LabelSession, row: int, current: bool) -> RowView:
    work = session.work
    marked = session.golds_of_row(row)
    tags = []
    if row < len(work.chunks):
        chunk = work.chunks[row]
        place, text = anchors.place_of(chunk), chunk.text or ""
        if session.irrelevant(row):
            tags.append("irrelevant")
        tags += _names(session, chunk)
        shown = work.fetched is None or work.fetched.show_scores
        scores = _scores(chunk) if shown else ()
    else:
        candidate = session.loose_golds[row - len(work.chunks)]
        place, scores = anchors.place_of(candidate.gold), ()
        text = "\n".join(candidate.gold.get("snippets", ()))
        tags = ["not retrieved", *candidate.names]
    return RowView(
        number=row + 1,
        marked=bool(marked),
        current=current,
        place=place,
        golds=tuple(i + 1 for i in marked),
        tags=tuple(tags),
        scores=scores,
        text=text,
    )


def _names(session: LabelSession, chunk: RetrievedChunk) -> list[str]:
    """Return the annotators who marked a chunk."""
    found: dict[str, None] = {}
    for candidate in session.work.item.candidates:
        if anchors.matches(candidate.gold, chunk, session.settings):
            found.update(dict.fromkeys(candidate.names))
    return list(found)


def _scores(chunk: RetrievedChunk) -> tuple[tuple[str, float], ...]:
    values = (
        ("final", chunk.score_final),
        ("vector", chunk.score_vector),
        ("lexical", chunk.score_lexical),
    )
    return tuple((name, value) for name, value in values if value is not None)


def _gold_text(gold: anchors.Gold) -> str:
    quotes = "; ".join(f'"{snippet}"' for snippet in gold.get("snippets", ()))
    return f"{anchors.place_of(gold)}  {quotes}".rstrip()


def _passage_views(choice: SnippetChoice) -> tuple[PassageView, ...]:
    return tuple(
        PassageView(number=i + 1, marked=i in choice.picked, current=i == choice.cursor, text=text)
        for i, text in enumerate(choice.passages)
    )
