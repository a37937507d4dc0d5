"""The cases of a session: their golds, the draft of a decision, and the desk that saves it. Pure.

Every change of a draft returns a new one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Protocol

from pytest_rageval.metrics.matching import matches_anchor, norm_path, norm_text
from pytest_rageval.support.text import part
from pytest_rageval.values.case import Anchor, Case, Review
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import RetrievedChunk

_HALF_CHARACTER: Final = re.compile("[\ud800-\udfff]")


def matches(gold: Anchor, chunk: RetrievedChunk, settings: ScoreSettings) -> bool:
    """Whether a chunk contains the evidence of a gold, including its snippets.

    If the text of the chunk is not known completely, the section decides.

    Args:
        gold: the anchor.
        chunk: as retrieved.
        settings: only ``path_case`` is used; snippets are always compared here, to distinguish two
            chunks of one section.
    """
    if gold.pages and chunk.pages and set(gold.pages).isdisjoint(chunk.pages):
        return False
    known = chunk.text is not None and not chunk.text_truncated
    strict = ScoreSettings(
        path_case=settings.path_case,
        snippets="all" if known else "off",
        coarse_chunks=known and settings.coarse_chunks,
    )
    return matches_anchor(gold, chunk, strict)


def unusable(chunk: RetrievedChunk) -> str | None:
    """Return the reason why an anchor cannot refer to a chunk; None: it can."""
    if not norm_path(chunk.rel_path):
        return "the target reports no path for this chunk"
    place = chunk.rel_path + (chunk.heading_path or "") + (chunk.vault or "")
    if _HALF_CHARACTER.search(place):
        return "its path or heading holds half of a character, which no file can"
    return None


def gold_for(chunk: RetrievedChunk, snippets: Sequence[str] = ()) -> Anchor:
    """Return the anchor of a chunk: path, heading path and quotes."""
    return Anchor(
        rel_path=chunk.rel_path,
        heading_path=chunk.heading_path or "",
        snippets=tuple(snippets),
        pages=chunk.pages or (),
        vault=chunk.vault,
    )


def written(gold: Anchor) -> dict[str, Any]:
    """Return an anchor as a case file holds it, without what is so by default."""
    bare, values = Anchor(rel_path=""), asdict(gold)
    return {
        name: [*value] if isinstance(value, tuple) else value
        for name, value in values.items()
        if value != getattr(bare, name)
    }


def same_section(gold: Anchor, chunk: RetrievedChunk, settings: ScoreSettings) -> bool:
    """Whether a gold names exactly the section of a chunk, ignoring snippets."""
    own = gold_for(chunk)
    if own.pages and gold.pages and set(gold.pages) != set(own.pages):
        return False
    section = RetrievedChunk(
        rel_path=gold.rel_path, heading_path=gold.heading_path, vault=gold.vault
    )
    plain = ScoreSettings(path_case=settings.path_case)
    without = replace(gold, snippets=())
    return matches_anchor(without, chunk, plain) and matches_anchor(own, section, plain)


def quotable(chunk: RetrievedChunk, passages: Iterable[str]) -> list[str]:
    """Return the passages that as snippets match the chunk that they are from, in its order."""
    text = norm_text(chunk.text or "")  # once: it may be a whole document
    found = []
    end = 0
    for passage in passages:
        wanted = norm_text(passage)
        # After the one before it: reading from the start takes a quarter of a minute for 2 MB.
        place = text.find(wanted, end)
        if place < 0:
            place = text.find(wanted)
        if wanted and place >= 0 and not _HALF_CHARACTER.search(passage):
            found.append(passage)
            end = place + len(wanted)
    return found


Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The fields of a case that labelling decides."""

    golds: tuple[Anchor, ...] = ()
    answerable: bool = True
    groups: Groups | None = None
    """Indices into ``golds``: OR over groups, AND within one."""
    notes: str = ""
    review: Review = "reviewed"

    def with_golds(self, added: Sequence[Anchor], *, at: int | None = None) -> Draft:
        """Add golds, before the one at an index or last; a case with golds is answerable."""
        at = len(self.golds) if at is None else at
        groups = _renumbered(self.groups, lambda i: i + len(added) if i >= at else i)
        golds = (*self.golds[:at], *added, *self.golds[at:])
        return replace(self, golds=golds, groups=groups, answerable=True)

    def without_golds(self, removed: Iterable[int]) -> Draft:
        """Remove golds by index, also from groups; empty groups are removed."""
        gone = set(removed)
        kept = [i for i in range(len(self.golds)) if i not in gone]
        place = {old: new for new, old in enumerate(kept)}
        return replace(
            self,
            golds=tuple(self.golds[i] for i in kept),
            groups=_renumbered(self.groups, place.get),
        )

    def losses(self, removed: Iterable[int]) -> tuple[str, ...]:
        """Describe which groups would lose golds, with the numbers after the removal."""
        gone = set(removed)
        kept = [i for i in range(len(self.golds)) if i not in gone]
        found = []
        for group in self.groups or ():
            left = tuple(kept.index(i) for i in group if i not in gone)
            if len(left) < len(group):
                rest = part("needs only {} now", left and groups_text((left,))) or "is gone"
                found.append(f"the group {groups_text((group,))} {rest}")
        return tuple(found)

    @property
    def ungrouped(self) -> tuple[int, ...]:
        """Indices of the golds that are in no group; empty if there are no groups."""
        if self.groups is None:
            return ()
        needed = {i for group in self.groups for i in group}
        return tuple(i for i in range(len(self.golds)) if i not in needed)

    def with_gold(self, index: int, gold: Anchor) -> Draft:
        """Replace a gold."""
        return replace(self, golds=(*self.golds[:index], gold, *self.golds[index + 1 :]))

    def with_answerable(self, answerable: bool) -> Draft:
        """Set whether the documents contain an answer; if not, evidence is removed."""
        if answerable:
            return replace(self, answerable=True)
        return replace(self, answerable=False, golds=(), groups=None)

    def fields(self) -> dict[str, Any]:
        """Return the fields as written to a case file."""
        groups = self.groups
        return {
            "answerable": self.answerable,
            "gold_supports": [*map(written, self.golds)],
            "required_support_groups": None if groups is None else [*map(list, groups)],
            "notes": self.notes,
            "review": self.review,
        }

    def changes_from(self, before: Draft) -> dict[str, Any]:
        """Return the changed fields of a case, as written to a case file."""
        old = before.fields()
        return {name: value for name, value in self.fields().items() if value != old[name]}


def _renumbered(groups: Groups | None, place: Any) -> Groups | None:
    if groups is None:
        return None
    moved = (tuple(p for i in group if (p := place(i)) is not None) for group in groups)
    kept = tuple(dict.fromkeys(group for group in moved if group))
    return kept or None


def parse_groups(text: str, n_golds: int) -> Groups:
    """Parse groups as typed by a user: gold numbers, ``+`` within, ``,`` between groups.

    Raises:
        ValueError: it cannot be read; the text says what was expected.

    >>> parse_groups("1+2, 3", 3)
    ((0, 1), (2,))
    """
    groups = []
    for group in text.split(","):
        numbers = [number.strip() for number in group.split("+")]
        for number in numbers:
            if not re.fullmatch(r"[0-9]{1,4}", number) or not 1 <= int(number) <= n_golds:
                raise ValueError(
                    f"{number!r}, expected the numbers of golds from 1 to {n_golds}, such as 1+2"
                )
        groups.append(tuple(dict.fromkeys(int(number) - 1 for number in numbers)))
    return tuple(dict.fromkeys(groups))


def groups_text(groups: Groups | None) -> str:
    """Write groups as ``parse_groups`` reads them."""
    return ", ".join("+".join(str(i + 1) for i in group) for group in groups or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedGold:
    """A gold with the names of those who proposed it."""

    gold: Anchor
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
    candidates: tuple[ProposedGold, ...] = ()
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

    def save(self, case: LabelCase, before: Draft, after: Draft, *, over: bool) -> SaveResult:
        """Save a decision.

        Args:
            case: of the queue.
            before: decision saved last.
            after: decision to save.
            over: overwrite a change by another program that the user has seen.
        """

    def reload(self, case: LabelCase) -> LabelCase:
        """Read a case again after another program changed it."""


class ReviewDesk(Desk, Protocol):
    """A desk that can also reject or fix generated cases."""

    def remove(self, case: LabelCase) -> SaveResult:
        """Remove a case from the case file."""

    def edit_command(self, case: LabelCase) -> str:
        """Return the shell command that changes the fields of a case."""
