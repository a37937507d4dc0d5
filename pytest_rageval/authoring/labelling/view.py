"""The visible state of a session as plain values. Pure.

The values hold texts unchanged from the target, the case file and the user: each interface escapes
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pytest_rageval.authoring.keyed.session import ListRow, place_of
from pytest_rageval.authoring.labelling.draft import Draft, groups_text
from pytest_rageval.authoring.labelling.marking import CaseMarking
from pytest_rageval.authoring.labelling.session import LabelSession, Mode
from pytest_rageval.authoring.labelling.snippets import SnippetChoice
from pytest_rageval.support.text import counted, cut, part, shortened
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.reply import RetrievedChunk

_MESSAGES: Final = 2
"""Most messages before a question that a terminal shows, with at most ``_MESSAGE`` characters."""
_MESSAGE: Final = 160
_PASSAGE: Final = 2_000
"""Most characters of a sentence that are shown."""

PROMPTS = {
    Mode.SEARCH: "show rows that hold (empty: all)",
    Mode.NOTE: "note (replaces the old one; empty: no change, -: none)",
    Mode.GROUPS: "golds that are enough together, such as 1+2, 3 (empty: no change, -: none)",
}

HELP = (
    ("j k up down", "move"),
    ("space, 1 to 9", "mark or unmark as evidence"),
    ("s", "quote the sentences that hold the evidence"),
    ("a", "answerable or not"),
    ("g", "groups: the numbers of golds that are needed together"),
    ("t", "note"),
    ("/", "filter the rows, or the sentences to quote; escape shows all"),
    ("u r", "undo, redo"),
    ("enter", "decide: save and go to the next case"),
    ("n p", "next, previous case; changes are saved"),
    ("w", "save and stay"),
    ("R", "ask the target again"),
    ("q", "leave; asks first if this case is not saved"),
    ("Q", "leave without saving this case"),
)
"""Keys and their actions, most used first."""
REVIEW_HELP = ("d e", "reject: remove the case; e shows the command that edits it")
"""Further keys while generated cases are reviewed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """Everything that a user interface shows."""

    position: int
    """Position of the case in the queue, from 1."""
    total: int
    n_saved: int
    """Cases with saved changes."""
    case: Case
    draft: Draft
    unsaved: bool
    remarks: tuple[str, ...]
    problem: str
    """Reason for missing chunks; empty: there are chunks."""
    rows: tuple[ListRow, ...]
    golds: tuple[str, ...]
    """Path, heading and quotes of each marked gold."""
    groups: str
    filter: str
    mode: str
    prompt: str
    """Prompt in a text mode; empty in other modes."""
    typed: str
    passages: tuple[ListRow, ...]
    """Sentences that can be quoted, each of at most 2,000 characters.

    Not empty while a snippet is chosen; at most ``snippets.SHOWN``."""
    n_passages: int
    """Sentences that can be quoted and contain ``passage_filter``, shown or not."""
    passage_filter: str
    conflict: str
    """The line as changed by another program; empty: there is no conflict."""
    help: bool
    reviewing: bool
    """Whether the keys of a review are offered."""
    notice: str

    @property
    def before(self) -> tuple[tuple[str, str], ...]:
        """Role and text of each expected message before the question; empty: it is no turn."""
        messages = self.case.talk.gold if self.case.talk else ()
        return tuple([(one.role, shortened(one.content, _PASSAGE)) for one in messages])

    @property
    def current(self) -> ListRow | None:
        """The row that keys act on."""
        return next((row for row in self.rows if row.current), None)

    @property
    def keys(self) -> str:
        """Name of the keys that are offered: the mode, or ``found`` among sentences found."""
        return "found" if self.mode == "snippet" and self.passage_filter else self.mode

    @property
    def part(self) -> str:
        """Which sentences of the chunk are shown, in words; empty: all, or none are chosen."""
        n_shown = len(self.passages)
        found = counted(self.n_passages, "sentence")
        if self.n_passages > n_shown:
            found = f"{n_shown} of {found}"
        if self.passage_filter:
            return f'{found} with "{self.passage_filter}"; escape shows all'
        return part("{}; / searches all of them", self.n_passages > n_shown and found)


def view_of(session: LabelSession) -> SessionView:
    """Return the visible state of a session; asks the target if that has not been done."""
    marking = session.marking
    draft = marking.draft
    current = marking.row
    choice = marking.choice
    prompt = PROMPTS.get(session.mode, "")
    return SessionView(
        position=session.index + 1,
        total=session.total,
        n_saved=session.n_saved,
        case=marking.item.case,
        draft=draft,
        unsaved=marking.changed,
        remarks=marking.item.remarks,
        problem=marking.fetched.problem if marking.fetched is not None else "",
        rows=tuple(_row_view(marking, row, row == current) for row in marking.rows),
        golds=tuple(map(_gold_text, draft.golds)),
        groups=groups_text(draft.groups),
        filter=marking.filter,
        mode=session.mode.value,
        prompt=prompt if choice is None else prompt.replace("rows", "sentences"),
        typed=session.typed,
        passages=() if choice is None else _passage_views(choice),
        n_passages=0 if choice is None else len(choice.found),
        passage_filter="" if choice is None else choice.filter,
        conflict=session.conflict,
        help=session.help,
        reviewing=session.reviewing,
        notice=session.notice,
    )


def _row_view(marking: CaseMarking, row: int, current: bool) -> ListRow:
    marked = marking.golds_of_row(row)
    names = marking.names_of(row)
    if row < len(marking.chunks):
        chunk = marking.chunks[row]
        place, text = place_of(chunk), chunk.text or ""
        tags = ["irrelevant", *names] if marking.irrelevant(row) else names
        shown = marking.fetched is None or marking.fetched.show_scores
        scores = _scores(chunk) if shown else ()
    else:
        gold = marking.loose_golds[row - len(marking.chunks)].gold
        place, scores = place_of(gold), ()
        text = "\n".join(gold.snippets)
        tags = ["not retrieved", *names]
    return ListRow(
        number=row + 1,
        marked=bool(marked),
        current=current,
        place=place,
        golds=tuple(i + 1 for i in marked),
        tags=tuple(tags),
        scores=scores,
        text=text,
    )


def _scores(chunk: RetrievedChunk) -> tuple[tuple[str, float], ...]:
    values = ((name, getattr(chunk, f"score_{name}")) for name in ("final", "vector", "lexical"))
    return tuple((name, value) for name, value in values if value is not None)


def _gold_text(gold: Anchor) -> str:
    quotes = "; ".join(f'"{snippet}"' for snippet in gold.snippets)
    return f"{place_of(gold)}  {quotes}".rstrip()


def _passage_views(choice: SnippetChoice) -> tuple[ListRow, ...]:
    return tuple(
        ListRow(
            number=i + 1,
            marked=i in choice.picked,
            current=i == choice.cursor,
            text=shortened(choice.passages[i], _PASSAGE),
        )
        for i in choice.shown
    )


KEY_LINE = "space mark  s quote  enter save+next  ? help  q leave"
"""The keys that are always shown."""
REVIEW_LINE = "space mark  enter reviewed  d reject  e edit  ? help  q leave"
"""The keys that are always shown in a review."""
_KEYS_BY_MODE = {
    "snippet": "space pick  / search  enter keep  escape leave",
    "found": "space pick  / search  enter keep  escape show all",
    "search": "enter filter  escape leave",
    "note": "enter keep  escape leave",
    "groups": "enter keep  escape leave",
    "remove": "y remove the case from the file  escape keep it",
    "leave": "y save and leave  n leave, not saving  escape stay",
    "conflict": "m write mine over it  t take theirs  escape decide later",
}


def key_line(view: SessionView) -> str:
    """Return the keys of the current mode."""
    return _KEYS_BY_MODE.get(view.keys, REVIEW_LINE if view.reviewing else KEY_LINE)


def facts_of(view: SessionView) -> Iterator[tuple[str, str]]:
    """Yield the question, and what is known about the answer, each with its label."""
    for role, text in view.before[-_MESSAGES:]:
        yield role, cut(text, _MESSAGE)
    yield "", view.case.question
    if view.case.standalone:
        yield "in full", view.case.standalone
    if view.case.expected_key_facts:
        yield "facts", "; ".join(view.case.key_facts)
    if view.case.expected_answer:
        yield "answer", view.case.expected_answer
    for remark in view.remarks:
        yield "note", remark
    if view.problem:
        yield "no chunks", view.problem
    if view.groups:
        yield "groups", view.groups
    if view.draft.notes:
        yield "notes", view.draft.notes


def help_of(view: SessionView) -> tuple[tuple[str, str], ...]:
    """Return the keys of a session and their actions."""
    return (REVIEW_HELP, *HELP) if view.reviewing else HELP
