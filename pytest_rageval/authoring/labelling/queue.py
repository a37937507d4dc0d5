"""What a session works on, and the desk that it asks and saves through. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from pytest_rageval.authoring.labelling.anchors import Gold
from pytest_rageval.authoring.labelling.draft import Draft
from pytest_rageval.values.case import Case
from pytest_rageval.values.reply import RetrievedChunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A gold that somebody named, and who."""

    gold: Gold
    names: tuple[str, ...] = ()
    """Annotators; empty: the case file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCase:
    """One case of the queue."""

    case: Case
    start: Draft
    """What was decided before, and is kept already."""
    proposal: Draft | None = None
    """What to begin with in its place; it is kept only once the person confirms or changes it."""
    candidates: tuple[Candidate, ...] = ()
    """Golds to choose from besides those of ``start``."""
    doubt: str = ""
    """Why ``proposal`` is nobody's decision as long as it is untouched; empty: it is agreed on."""
    remarks: tuple[str, ...] = ()
    """What the person should know, such as how annotators differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What came of asking the target for a case."""

    chunks: tuple[RetrievedChunk, ...] = ()
    problem: str = ""
    """Why there is no chunk; empty: nothing went wrong."""
    show_scores: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveResult:
    """What came of saving."""

    ok: bool
    message: str = ""
    written: bool = True
    """Whether there was something to write, where it is ``ok``."""
    conflict: str = ""
    """The line as another program left it; empty: there is no conflict."""


class Desk(Protocol):
    """Asks and saves; the one side of a session that touches the world."""

    def fetch(self, case: LabelCase) -> Fetched:
        """Ask the target for the chunks of a case."""
        ...

    def save(
        self, case: LabelCase, before: Draft, after: Draft, *, confirmed: bool, over: bool
    ) -> SaveResult:
        """Keep what was decided.

        Args:
            case: of the queue.
            before: what was kept last.
            after: what is to be kept.
            confirmed: the person said that this is the decision, even if nothing changed.
            over: write over a change that another program made, which the person has seen.
        """
        ...

    def reload(self, case: LabelCase) -> LabelCase:
        """Read a case again after another program changed it."""
        ...


@dataclass(slots=True)
class Work:
    """Everything about one case of the queue during a session."""

    item: LabelCase
    draft: Draft
    saved: Draft
    """What is kept."""
    untouched: Draft
    """What the person was shown first or kept last: only another draft is worth saving."""
    fetched: Fetched | None = None
    doubted: Draft | None = None
    """What the person was asked about before it is kept; confirmed again, it is."""
    past: list[Draft] = field(default_factory=list)
    future: list[Draft] = field(default_factory=list)

    @classmethod
    def on(cls, item: LabelCase, fetched: Fetched | None = None) -> Work:
        """Begin with a case."""
        shown = item.proposal or item.start
        return cls(item=item, draft=shown, saved=item.start, untouched=shown, fetched=fetched)

    @property
    def changed(self) -> bool:
        """Whether the person decided something that is not kept yet."""
        return self.draft != self.untouched

    @property
    def doubt(self) -> str:
        """Why the decision is worth a second look before it is kept; empty: it is not."""
        ungrouped = self.draft.ungrouped
        if ungrouped:
            numbers = ", ".join(str(i + 1) for i in ungrouped)
            noun = f"gold {numbers} is" if len(ungrouped) == 1 else f"golds {numbers} are"
            return f"{noun} in no group and so not needed (g sets groups)"
        if self.item.proposal is None:
            return ""
        if self.item.doubt and not self.changed and self.untouched == self.item.proposal:
            return self.item.doubt
        bare = self.draft.answerable and not self.draft.golds
        return "the case is answerable and nothing is marked as its evidence" if bare else ""

    @property
    def chunks(self) -> tuple[RetrievedChunk, ...]:
        """What the target retrieved."""
        return self.fetched.chunks if self.fetched is not None else ()

    @property
    def known_golds(self) -> tuple[Candidate, ...]:
        """Golds that were there before and golds of others."""
        named = self.item.candidates
        before = (
            next((known for known in named if known.gold == gold), Candidate(gold=gold))
            for gold in self.item.start.golds
        )
        return (*before, *named)
