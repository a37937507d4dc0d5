"""A draft decision about one case. Pure; every change returns a new draft."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_rageval.authoring.labelling.anchors import Gold
from pytest_rageval.values.case import Review

Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The fields of a case that labelling decides."""

    golds: tuple[Gold, ...] = ()
    answerable: bool = True
    groups: Groups | None = None
    """Indices into ``golds``: OR over groups, AND within one."""
    notes: str = ""
    review: Review = "reviewed"

    def with_golds(self, added: Sequence[Gold], *, at: int | None = None) -> Draft:
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
                rest = f"needs only {groups_text((left,))} now" if left else "is gone"
                found.append(f"the group {groups_text((group,))} {rest}")
        return tuple(found)

    @property
    def ungrouped(self) -> tuple[int, ...]:
        """Indices of the golds that are in no group; empty if there are no groups."""
        if self.groups is None:
            return ()
        needed = {i for group in self.groups for i in group}
        return tuple(i for i in range(len(self.golds)) if i not in needed)

    def with_gold(self, index: int, gold: Gold) -> Draft:
        """Replace a gold."""
        return replace(self, golds=(*self.golds[:index], gold, *self.golds[index + 1 :]))

    def with_answerable(self, answerable: bool) -> Draft:
        """Set whether the documents contain an answer; if not, evidence is removed."""
        if answerable:
            return replace(self, answerable=True)
        return replace(self, answerable=False, golds=(), groups=None)

    def changes_from(self, before: Draft) -> dict[str, Any]:
        """Return the changed fields of a case, as written to a case file."""
        changes: dict[str, Any] = {}
        if self.answerable != before.answerable:
            changes["answerable"] = self.answerable
        if self.golds != before.golds:
            changes["gold_supports"] = [dict(gold) for gold in self.golds]
        if self.groups != before.groups:
            groups = self.groups
            changes["required_support_groups"] = None if groups is None else [*map(list, groups)]
        if self.notes != before.notes:
            changes["notes"] = self.notes
        if self.review != before.review:
            changes["review"] = self.review
        return changes


def _renumbered(groups: Groups | None, place: Any) -> Groups | None:
    if groups is None:
        return None
    moved = (tuple(p for i in group if (p := place(i)) is not None) for group in groups)
    kept = tuple(dict.fromkeys(group for group in moved if group))
    return kept or None


def parse_groups(text: str, n_golds: int) -> Groups:
    """Parse groups as typed by a user: gold numbers, ``+`` within, ``,`` between groups.

    Args:
        text: such as ``1+2, 3``.
        n_golds: number of golds.

    Raises:
        ValueError: it cannot be read; the text says what was expected.

    >>> parse_groups("1+2, 3", 3)
    ((0, 1), (2,))
    """
    groups = []
    for part in text.split(","):
        numbers = [number.strip() for number in part.split("+")]
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
