"""The visible state of a session: as plain values, and as lines for a terminal. Pure.

The values hold texts unchanged from the target, the case file and the user: each interface escapes
them. The lines fit any width and hold no control characters; marked rows show ``[x]`` and the
cursor is ``>``, so that colour is never needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.authoring.labelling.draft import Draft, Gold, groups_text, place_of
from pytest_rageval.authoring.labelling.marking import CaseMarking
from pytest_rageval.authoring.labelling.session import LabelSession, Mode
from pytest_rageval.authoring.labelling.snippets import SnippetChoice
from pytest_rageval.report.faces.terminal import cut_columns, draw, wrap
from pytest_rageval.report.view.blocks import Note
from pytest_rageval.support.text import clean, counted, shortened
from pytest_rageval.values.case import Case
from pytest_rageval.values.reply import RetrievedChunk

WHOLE: Final = 50_000
"""Most characters of a row that a screen shows; it is laid out again with each key."""

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
    """At most 2,000 characters, and the number of the others."""


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
    rows: tuple[RowView, ...]
    golds: tuple[str, ...]
    """Path, heading and quotes of each marked gold."""
    groups: str
    filter: str
    mode: str
    prompt: str
    """Prompt in a text mode; empty in other modes."""
    typed: str
    passages: tuple[PassageView, ...]
    """Not empty while a snippet is chosen; at most ``snippets.SHOWN``."""
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
    def current(self) -> RowView | None:
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
        return f"{found}; / searches all of them" if self.n_passages > n_shown else ""


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


def _row_view(marking: CaseMarking, row: int, current: bool) -> RowView:
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
        text = "\n".join(gold.get("snippets", ()))
        tags = ["not retrieved", *names]
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


def _scores(chunk: RetrievedChunk) -> tuple[tuple[str, float], ...]:
    values = ((name, getattr(chunk, f"score_{name}")) for name in ("final", "vector", "lexical"))
    return tuple((name, value) for name, value in values if value is not None)


def _gold_text(gold: Gold) -> str:
    quotes = "; ".join(f'"{snippet}"' for snippet in gold.get("snippets", ()))
    return f"{place_of(gold)}  {quotes}".rstrip()


def _passage_views(choice: SnippetChoice) -> tuple[PassageView, ...]:
    return tuple(
        PassageView(
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


def key_line(view: SessionView, width: int) -> str:
    """Return the keys of the current mode."""
    browse = REVIEW_LINE if view.reviewing else KEY_LINE
    return cut_columns(_KEYS_BY_MODE.get(view.keys, browse), width)


def head_lines(view: SessionView, width: int, *, most: int | None = None) -> list[str]:
    """Return the case: position in the queue, question and known facts about the answer.

    Where there is room for at most some lines, the first ones are kept.
    """
    state = ["answerable" if view.draft.answerable else "UNANSWERABLE"]
    state += ["NOT REVIEWED"] if view.draft.review == "generated" else []
    state += ["not saved"] if view.unsaved else []
    title = f"{view.position}/{view.total} {clean(view.case.id)}  [{', '.join(state)}]"
    lines = [cut_columns(title, width)]
    for label, text in _facts(view):
        lines += wrap_text(f"{label}: {text}" if label else text, width)
    if most is not None and len(lines) > most:
        lines = [*lines[: most - 1], cut_columns(f"{lines[most - 1]} ...", width)]
    return lines


def _facts(view: SessionView) -> Iterator[tuple[str, str]]:
    yield "", view.case.question
    if view.case.expected_key_facts:
        yield "facts", "; ".join(view.case.expected_key_facts)
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


def wrap_text(text: str, width: int) -> list[str]:
    """Return a text as lines of at most ``width`` columns, without control characters."""
    return wrap(clean(text), max(width, 10))


def row_line(row: RowView, width: int) -> str:
    """Return one row: cursor, mark, number, place and further details."""
    number = f"{row.number:>2}"
    start = f"{'>' if row.current else ' '} [{'x' if row.marked else ' '}] {number} "
    tags = [clean(tag, 30) for tag in row.tags]
    if row.golds:
        tags.insert(0, f"gold {', '.join(map(str, row.golds))}")
    tail = f"  ({'; '.join(tags)})" if tags else ""
    score = f"  {row.scores[0][1]:.3f}" if row.scores else ""
    place = clean(row.place, 400)
    room = width - len(start) - len(score)
    if len(tail) > room - 20:
        tail = cut_columns(tail, max(room - 20, 0))
    room -= len(tail)
    if cut_columns(place, room) != place:
        # Heading paths of one document begin alike: the last heading distinguishes them.
        path, _, last = place.rpartition(" > ")
        last = cut_columns(last, room // 2)
        place = f"{cut_columns(path, max(room - len(last) - 3, 0))} > {last}" if path else place
    return cut_columns(f"{start}{cut_columns(place, room)}{tail}{score}", width)


def row_text(row: RowView, width: int, *, most: int) -> list[str]:
    """Return the text of a row with its scores, paragraph by paragraph.

    Of a text of more than ``most`` characters, the beginning.
    """
    lines = wrap_text(row.place, width)
    if row.scores:
        lines += wrap_text(", ".join(f"{name} {value:.4f}" for name, value in row.scores), width)
    for paragraph in shortened(row.text, most).splitlines():
        lines += wrap_text(paragraph, width) or [""]
    return lines


def passage_lines(passage: PassageView, width: int) -> list[str]:
    """Return a sentence with its mark."""
    start = f"{'>' if passage.current else ' '} [{'x' if passage.marked else ' '}] "
    start += f"{passage.number:>2} "
    return [*draw([Note(((start, ""),), ((clean(passage.text), ""),))], width=width)]


def gold_lines(view: SessionView, width: int) -> list[str]:
    """Return the marked golds, with the numbers used for groups."""
    if not view.golds:
        return ["golds: none"]
    golds = (f"{number} {clean(gold)}" for number, gold in enumerate(view.golds, 1))
    notes = [Note((("  ", ""),), ((gold, ""),)) for gold in golds]
    return ["golds:", *draw(notes, width=max(width, 10))]


def conflict_lines(view: SessionView, width: int) -> list[str]:
    """Return the line that another program changed, and the options."""
    lines = wrap_text("CONFLICT: another program changed the line of this case. It is now:", width)
    return lines + wrap_text(view.conflict, width)


def help_of(view: SessionView) -> tuple[tuple[str, str], ...]:
    """Return the keys of a session and their actions."""
    return (REVIEW_HELP, *HELP) if view.reviewing else HELP


def help_lines(view: SessionView, width: int) -> list[str]:
    """Return the keys and what they do."""
    column = max(len(keys) for keys, _ in HELP) + 2
    return [cut_columns(f"{keys:<{column}}{what}", width) for keys, what in help_of(view)]


def window(rows: Sequence[RowView], height: int) -> Sequence[RowView]:
    """Return the part of a list that fits ``height`` lines and contains the current row."""
    current = next((i for i, row in enumerate(rows) if row.current), 0)
    start = max(0, min(current - height // 2, len(rows) - height))
    return rows[start : start + max(height, 1)]
