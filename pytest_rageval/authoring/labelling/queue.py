"""The cases of a session, and the desk through which it asks and saves. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from pytest_rageval.authoring.labelling.anchors import Gold
from pytest_rageval.authoring.labelling.draft import Draft
from pytest_rageval.values.case import Case
from pytest_rageval.values.reply import RetrievedChunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A gold with the names of those who proposed it."""

    gold: Gold
    names: tuple[str, ...] = ()
    """Annotators; empty: the case file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCase:
    """One case of the queue."""

    case: Case
    start: Draft
    """Decision that is already saved."""
    proposal: Draft | None = None
    """Initial draft instead of ``start``; saved only when the user confirms or changes it."""
    candidates: tuple[Candidate, ...] = ()
    """Further golds to choose from."""
    doubt: str = ""
    """Reason why an unchanged ``proposal`` needs confirmation; empty: annotators agree on it."""
    remarks: tuple[str, ...] = ()
    """Remarks for the user, such as differences between annotators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """Result of asking the target for a case."""

    chunks: tuple[RetrievedChunk, ...] = ()
    problem: str = ""
    """Reason for missing chunks; empty: no error."""
    show_scores: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveResult:
    """Result of saving."""

    ok: bool
    message: str = ""
    written: bool = True
    """Whether a change was written, if it is ``ok``."""
    conflict: str = ""
    """The line as another program left it; empty: there is no conflict."""


class Desk(Protocol):
    """Asks the target and saves decisions: the input and output of a session."""

    def fetch(self, case: LabelCase) -> Fetched:
        """Ask the target for the chunks of a case."""
        ...

    def save(
        self, case: LabelCase, before: Draft, after: Draft, *, confirmed: bool, over: bool
    ) -> SaveResult:
        """Save a decision.

        Args:
            case: of the queue.
            before: decision saved last.
            after: decision to save.
            confirmed: the user confirmed the decision, even if nothing changed.
            over: overwrite a change by another program that the user has seen.
        """
        ...

    def reload(self, case: LabelCase) -> LabelCase:
        """Read a case again after another program changed it."""
        ...


@dataclass(slots=True)
class Work:
    """State of one case of the queue during a session."""

    item: LabelCase
    draft: Draft
    saved: Draft
    """Saved draft."""
    untouched: Draft
    """Draft shown first or saved last; only a different one needs saving."""
    fetched: Fetched | None = None
    doubted: Draft | None = None
    """Draft that needs a second confirmation before it is saved."""
    past: list[Draft] = field(default_factory=list)
    future: list[Draft] = field(default_factory=list)

    @classmethod
    def on(cls, item: LabelCase, fetched: Fetched | None = None) -> Work:
        """Return the initial state of a case."""
        shown = item.proposal or item.start
        return cls(item=item, draft=shown, saved=item.start, untouched=shown, fetched=fetched)

    @property
    def changed(self) -> bool:
        """Whether there is an unsaved decision."""
        return self.draft != self.untouched

    @property
    def doubt(self) -> str:
        """Reason to confirm the decision again before saving; empty: none."""
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
        """Chunks that the target retrieved."""
        return self.fetched.chunks if self.fetched is not None else ()

    @property
    def known_golds(self) -> tuple[Candidate, ...]:
        """Saved golds, and golds of other annotators."""
        named = self.item.candidates
        before = (
            next((known for known in named if known.gold == gold), Candidate(gold=gold))
            for gold in self.item.start.golds
        )
        return (*before, *named)
