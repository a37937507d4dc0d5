"""The group of cases with most of what a run has lost: a document, a folder, a tag. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from pytest_rageval.analysis.compare.units import cluster_of
from pytest_rageval.values.record import CaseRecord

LossKind = Literal["document", "section", "folder", "category", "tag"]
_KINDS: Final[tuple[LossKind, ...]] = ("document", "section", "folder", "category", "tag")
"""Of equally telling groups, the first is named."""
_LEAST: Final = 3
_MOST: Final = 0.5
"""Share of what was lost, and of the cases of the group, above which it explains the loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A group with most of the cases that were good and became worse."""

    kind: LossKind
    name: str
    lost: int
    """Cases of the group that fail and have an answer."""
    n: int
    """Cases of the group that could be lost: the base met their expectation, or they are worse."""
    lost_in_all: int
    """Cases of all groups that became worse."""

    @property
    def where(self) -> str:
        """Name the group: ``about billing.md``, ``in category multi_hop``, ``with tag urgent``."""
        if self.kind in {"document", "section"}:
            return f"about {self.name}"
        return f"{'with' if self.kind == 'tag' else 'in'} {self.kind} {self.name}"


def find_loss(lost: Collection[str], at_stake: Iterable[CaseRecord]) -> Loss | None:
    """Return the group that explains most of what was lost; None: none does.

    Of those groups it is the one with the largest product of two shares: of the loss that is in
    it, and of its cases that are lost.

    Args:
        lost: node ids of the cases that fail.
        at_stake: one record of each of them, and of the others that could have failed.
    """
    sizes: dict[tuple[LossKind, str], int] = {}
    found: dict[tuple[LossKind, str], int] = {}
    total = 0
    for case in at_stake:
        total += 1
        for group in _groups(case):
            sizes[group] = sizes.get(group, 0) + 1
            found[group] = found.get(group, 0) + (case.nodeid in lost)
    losses = [
        Loss(kind=kind, name=name, lost=found[kind, name], n=n, lost_in_all=len(lost))
        for (kind, name), n in sizes.items()
        if found[kind, name] >= _LEAST
        and found[kind, name] > _MOST * max(len(lost), n)
        and n < total
    ]
    return min(losses, key=_place, default=None)


def _place(loss: Loss) -> tuple[float, int, str]:
    share = loss.lost / loss.lost_in_all * loss.lost / loss.n
    return -share, _KINDS.index(loss.kind), loss.name


def _groups(case: CaseRecord) -> Iterator[tuple[LossKind, str]]:
    document, section = (cluster_of(case, by) for by in ("document", "section"))
    if document is not None:
        yield "document", document
        if section is not None and section != document:
            yield "section", section
        folders = document.split("/")[:-1]
        for depth in range(1, len(folders) + 1):
            yield "folder", "/".join(folders[:depth]) + "/"
    yield "category", case.case.category
    for tag in dict.fromkeys(case.case.tags):
        yield "tag", tag
