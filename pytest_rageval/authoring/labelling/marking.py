"""Marking of one case: its rows, and each change of its draft. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_rageval.authoring.keyed.session import place_of
from pytest_rageval.authoring.labelling.draft import (
    Draft,
    Fetched,
    LabelCase,
    ProposedGold,
    gold_for,
    matches,
    parse_groups,
    quotable,
    same_section,
    unusable,
    written,
)
from pytest_rageval.authoring.labelling.snippets import SnippetChoice, split_passages
from pytest_rageval.metrics.matching import norm_text
from pytest_rageval.project.case_fields import anchor_identity
from pytest_rageval.support.text import counted, part, plural
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import RetrievedChunk


class CaseMarking:
    """State of one case of the queue: its rows with a cursor, and the decisions about them.

    Methods that change something return its effect in one sentence, or the reason why nothing
    changed.

    Args:
        item: the case.
        settings: ``path_case`` and ``coarse_chunks`` decide which chunk a gold names.
        fetched: chunks of the target; None: not yet asked.
    """

    def __init__(
        self, item: LabelCase, settings: ScoreSettings, fetched: Fetched | None = None
    ) -> None:
        self.item = item
        self.draft = self.untouched = item.proposal or item.start
        self.saved = item.start
        self.doubted: Draft | None = None
        """Draft that needs a second confirmation before it is saved."""
        self._past: list[Draft] = []
        self._future: list[Draft] = []
        self._settings = settings
        self.show(fetched)

    def show(self, fetched: Fetched | None) -> None:
        """Show the case with what the target retrieved, from the first row on."""
        self.fetched = fetched
        self.cursor = 0
        """Index of the row that keys act on, among ``rows``."""
        self.filter = ""
        self._holding: list[int] = []
        """Indices of the chunks that contain ``filter``, found once: they may be documents."""
        self.choice: SnippetChoice | None = None
        """Set while sentences of the current chunk are chosen."""
        self._loose: tuple[Draft, tuple[ProposedGold, ...]] | None = None
        self._matched: dict[tuple[Anchor, int], bool] = {}

    @property
    def changed(self) -> bool:
        """Whether the decision is unlike the one shown first or saved last."""
        return self.draft != self.untouched

    @property
    def doubt(self) -> str:
        """Reason to confirm the decision again before saving; empty: none."""
        ungrouped = self.draft.ungrouped
        if ungrouped:
            numbers = ", ".join(str(i + 1) for i in ungrouped)
            noun = plural(len(ungrouped), f"gold {numbers} is", f"golds {numbers} are")
            return f"{noun} in no group and so not needed (g sets groups)"
        if self.item.proposal is None:
            return ""
        if self.item.doubt and self.draft == self.untouched == self.item.proposal:
            return self.item.doubt
        bare = self.draft.answerable and not self.draft.golds
        return "the case is answerable and nothing is marked as its evidence" if bare else ""

    @property
    def chunks(self) -> tuple[RetrievedChunk, ...]:
        """Chunks that the target retrieved."""
        return self.fetched.chunks if self.fetched is not None else ()

    @property
    def known_golds(self) -> tuple[ProposedGold, ...]:
        """Saved golds, and golds of other annotators."""
        named = self.item.candidates
        before = (
            next((known for known in named if known.gold == gold), ProposedGold(gold=gold))
            for gold in self.item.start.golds
        )
        return (*before, *named)

    # --- rows ----------------------------------------------------------------------------------

    @property
    def loose_golds(self) -> tuple[ProposedGold, ...]:
        """Golds that match none of the retrieved chunks; kept unless removed."""
        draft = self.draft
        # Cached, because every row uses them; safe, because a draft is never mutated.
        if self._loose is None or self._loose[0] is not draft:
            self._loose = draft, self._find_loose()
        return self._loose[1]

    def _find_loose(self) -> tuple[ProposedGold, ...]:
        every_chunk = range(len(self.chunks))
        everything = (*self.known_golds, *(ProposedGold(gold=gold) for gold in self.draft.golds))
        golds = [candidate.gold for candidate in everything]
        return tuple(
            candidate
            for place, candidate in enumerate(everything)
            if candidate.gold not in golds[:place]
            and not any(self._matches(candidate.gold, chunk) for chunk in every_chunk)
        )

    def _matches(self, gold: Anchor, chunk: int) -> bool:
        """Whether a chunk, by its index, contains the evidence of a gold."""
        # Kept, because each key needs all of them, and a text of 2 MB takes 50 ms to read.
        key = gold, chunk
        if key not in self._matched:
            self._matched[key] = matches(gold, self.chunks[chunk], self._settings)
        return self._matched[key]

    @property
    def rows(self) -> tuple[int, ...]:
        """Numbers of the rows that are shown, from 0: the chunks, then the loose golds."""
        n_chunks = len(self.chunks)
        if not self.filter:
            return tuple(range(n_chunks + len(self.loose_golds)))
        wanted = norm_text(self.filter)
        loose = enumerate(self.loose_golds, n_chunks)
        found = [row for row, candidate in loose if wanted in norm_text(place_of(candidate.gold))]
        return (*self._holding, *found)

    @property
    def row(self) -> int | None:
        """The row that keys act on; None: nothing is shown."""
        rows = self.rows
        return rows[min(self.cursor, len(rows) - 1)] if rows else None

    def golds_of_row(self, row: int) -> tuple[int, ...]:
        """Return the indices of the marked golds of a row; empty: it is not marked."""
        golds = enumerate(self.draft.golds)
        if row < len(self.chunks):
            return tuple(i for i, gold in golds if self._matches(gold, row))
        wanted = self.loose_golds[row - len(self.chunks)].gold
        return tuple(i for i, gold in golds if gold == wanted)

    def irrelevant(self, row: int) -> bool:
        """Whether the case names a chunk as evidence that must not be retrieved."""
        if row >= len(self.chunks):
            return False
        bad = self.item.case.irrelevant_supports
        return any(self._matches(anchor, row) for anchor in bad)

    def names_of(self, row: int) -> list[str]:
        """Return the annotators who marked a chunk, or who proposed a loose gold."""
        if row >= len(self.chunks):
            return list(self.loose_golds[row - len(self.chunks)].names)
        found = [c.names for c in self.item.candidates if self._matches(c.gold, row)]
        return list(dict.fromkeys(name for names in found for name in names))

    def move_to(self, place: int) -> None:
        """Move the cursor to a place among ``rows``, or to the nearest one."""
        self.cursor = max(0, min(place, len(self.rows) - 1))

    def goto(self, number: str) -> str:
        """Move the cursor to the row of a number as typed; empty: there is one."""
        row = int(number) - 1 if number.isascii() and number.isdigit() and len(number) < 6 else -1
        if row not in self.rows:
            return f"no row {number[:6]}"
        self.cursor = self.rows.index(row)
        return ""

    def search(self, text: str) -> str:
        """Show only the rows that contain a text, ignoring spelling; empty: all."""
        wanted = norm_text(text)
        self.filter, self.cursor = text if wanted else "", 0
        self._holding = [
            row
            for row, chunk in enumerate(self.chunks)
            if wanted and wanted in norm_text(f"{place_of(chunk)}\n{chunk.text or ''}")
        ]
        return part("{:row} with the text; escape shows all", text and len(self.rows))

    # --- decisions -----------------------------------------------------------------------------

    def decide(self, draft: Draft) -> None:
        """Replace the draft; the earlier one can be had back by ``undo``."""
        if draft != self.draft:
            self._past.append(self.draft)
            self._future.clear()
            self.draft = draft

    def undo(self) -> str:
        """Return to the draft before the last decision."""
        return self._step("undo", self._past, self._future)

    def redo(self) -> str:
        """Return to the draft before the last ``undo``."""
        return self._step("redo", self._future, self._past)

    def _step(self, verb: str, source: list[Draft], other: list[Draft]) -> str:
        """Take the last draft of one list, and keep the current one in the other."""
        if not source:
            return f"nothing to {verb}"
        other.append(self.draft)
        self.draft = source.pop()
        return f"{verb}ne"

    def toggle_answerable(self) -> str:
        """Decide that the documents contain an answer, or that they contain none."""
        draft = self.draft
        answerable = not draft.answerable
        self.decide(draft.with_answerable(answerable))
        if answerable:
            return "answerable"
        lost = part("; {:mark} taken out", len(draft.golds))
        return f"unanswerable: the right answer is to abstain{lost}"

    def toggle(self) -> str:
        """Mark or unmark the current row."""
        row = self.row
        if row is None:
            return "nothing to mark"
        marked = self.golds_of_row(row)
        return self._unmark(row, marked) if marked else self._mark(row)

    def _unmark(self, row: int, marked: tuple[int, ...]) -> str:
        draft = self.draft
        others = [
            other + 1
            for other in range(len(self.chunks))
            if other != row and set(self.golds_of_row(other)) & set(marked)
        ]
        notice = f"row {row + 1} is no longer evidence"
        if others:
            rows = plural(len(others), "row", "rows")
            notice += f", nor is {rows} {', '.join(map(str, others))} by the same anchor"
        notice += self._losses(marked)
        if self.item.case.recency_conflict_rule is not None and 0 in marked:
            notice += "; gold 1, the newer source of recency_conflict_rule, is another one now"
        self.decide(draft.without_golds(marked))
        return notice

    def _losses(self, removed: Sequence[int]) -> str:
        """Return the end of a sentence about the groups that lose golds; empty: none does."""
        losses = self.draft.losses(removed)
        return part("; {}; g sets groups again", "; ".join(losses))

    def _mark(self, row: int) -> str:
        draft, chunks = self.draft, self.chunks
        if row >= len(chunks):
            self._add([self.loose_golds[row - len(chunks)].gold])
            return f"gold of row {row + 1} kept"
        chunk = chunks[row]
        if (problem := self._problem(row)) is not None:
            return f"row {row + 1} cannot be marked: {problem}"
        known = [c.gold for c in self.known_golds if self._matches(c.gold, row)]
        distinct = [known[i] for i in dict.fromkeys(map(known.index, known))]
        self._add(distinct or [gold_for(chunk)])
        notice = f"row {row + 1} is evidence"
        if not chunk.heading_path:
            notice += ", and so is its whole document: s narrows it to a sentence"
        if not draft.answerable:
            notice += "; the case is answerable again"
        return notice

    def _problem(self, row: int) -> str | None:
        """Return the reason why no gold can name a chunk; None: one can."""
        against = "irrelevant_supports of the case names it as evidence against"
        return unusable(self.chunks[row]) or (against if self.irrelevant(row) else None)

    def _add(self, golds: Sequence[Anchor]) -> None:
        """Add golds, at their earlier position if they had one."""
        draft = self.draft
        start = self.item.start.golds
        for gold in golds:
            at = None
            if gold in start:
                earlier = start[: start.index(gold)]
                at = sum(other in earlier for other in draft.golds)
            draft = draft.with_golds([gold], at=at)
        self.decide(draft)

    def note(self, text: str) -> str:
        """Replace the note; empty: no change, ``-``: none."""
        if not text:
            return ""
        written = "" if text == "-" else text
        clean = written.encode("utf-8", "ignore").decode()  # lone surrogates cannot be written
        self.decide(replace(self.draft, notes=clean))
        return "noted" if written else "note taken out"

    def group(self, text: str) -> str:
        """Replace the groups, typed as for ``parse_groups``; empty: no change, ``-``: none."""
        draft = self.draft
        if not text:
            return ""
        if text == "-":
            self.decide(replace(draft, groups=None))
            return "groups taken out"
        try:
            groups = parse_groups(text, len(draft.golds))
        except ValueError as error:
            return f"groups: {error}"
        self.decide(replace(draft, groups=groups))
        named = ", or ".join(
            " + ".join(f"{i + 1} {draft.golds[i].rel_path}" for i in group) for group in groups
        )
        return f"enough together: {named}"

    # --- snippets ------------------------------------------------------------------------------

    def open_choice(self) -> str:
        """Begin to choose sentences of the current chunk; empty: ``choice`` holds them."""
        row, chunks = self.row, self.chunks
        if row is None or row >= len(chunks):
            return "no text here to quote from"
        chunk = chunks[row]
        problem = self._problem(row)
        quotes = quotable(chunk, split_passages(chunk.text or ""))
        if problem is not None or not quotes:
            return f"row {row + 1}: {problem or 'no sentence to quote'}"
        own = self._own_gold(row)
        held = () if own is None else self.draft.golds[own].snippets
        self.choice = SnippetChoice(quotes, held)
        return ""

    def _own_gold(self, row: int) -> int | None:
        """Return the gold that quotes the chunk of a row, or names its section without quotes."""
        golds, chunk = self.draft.golds, self.chunks[row]
        own = [
            i
            for i, gold in enumerate(golds)
            if same_section(gold, chunk, self._settings) and self._matches(gold, row)
        ]
        return max(own, key=lambda i: len(golds[i].snippets), default=None)

    def quote(self) -> str:
        """End the choice of sentences, and quote those that are picked."""
        row, choice, self.choice = self.row, self.choice, None
        assert row is not None  # the cursor cannot move while sentences are chosen
        assert choice is not None
        chunk, draft = self.chunks[row], self.draft
        own, snippets = self._own_gold(row), choice.snippets()
        if own is None and not snippets:
            return ""
        notice = f"row {row + 1}: {counted(len(snippets), 'sentence')} quoted"
        if own is None:
            self._add([gold_for(chunk, snippets)])
            return notice
        gold = replace(draft.golds[own], snippets=tuple(snippets))
        others = (written(one) for i, one in enumerate(draft.golds) if i != own)
        if anchor_identity(written(gold)) in map(anchor_identity, others):
            notice += self._losses([own])
            self.decide(draft.without_golds([own]))
        else:
            self.decide(draft.with_gold(own, gold))
        return notice
