"""The group of cases with most of what a run has lost: a document, a folder, a tag. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pytest_rageval.analysis.compare.flips import CaseFlip
from pytest_rageval.analysis.compare.pairs import MET, CasePair
from pytest_rageval.analysis.compare.units import cluster_of
from pytest_rageval.values.record import CaseRecord

LossKind = Literal["document", "section", "folder", "category", "tag"]
_KINDS: Final[tuple[LossKind, ...]] = ("document", "section", "folder", "category", "tag")
"""Of equally telling groups, the first is named."""
_MOST: Final = 0.5
"""Share of what was lost, and of the cases of the group, above which it explains the loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A group with most of the cases that were good and became worse."""

    kind: LossKind
    name: str
    lost: int
    """Cases of the group that became worse and still have an answer."""
    n: int
    """Cases of the group that could be lost: the base met their expectation, or they are worse."""
    lost_in_all: int
    """Cases of all groups that became worse."""

    @property
    def sentence(self) -> str:
        """Say which cases were lost, as every report does."""
        where = self.name if self.kind == "document" else f"{self.kind} {self.name}"
        rest = f", of {self.lost_in_all} lost in all" if self.lost_in_all > self.lost else ""
        return f"{self.lost} of {self.n} cases of {where} lost{rest}"


def find_loss(pairs: Sequence[CasePair], flips: Iterable[CaseFlip]) -> Loss | None:
    """Return the group that explains most of what was lost; None: none does.

    Of those groups it is the one with the largest product of two shares: of the loss that is in
    it, and of its cases that are lost.

    Args:
        pairs: cases of both runs.
        flips: the cases of them that changed.
    """
    worse = {f.nodeid for f in flips if f.direction == "worse" and f.new_outcome != "error"}
    at_stake: dict[tuple[LossKind, str], int] = {}
    lost: dict[tuple[LossKind, str], int] = {}
    total = 0
    for pair in pairs:
        case = pair.new.first
        is_lost = case.nodeid in worse
        if not is_lost and pair.base.outcome not in MET:
            continue
        total += 1
        for group in _groups(case):
            at_stake[group] = at_stake.get(group, 0) + 1
            lost[group] = lost.get(group, 0) + is_lost
    found = [
        Loss(kind=kind, name=name, lost=lost[kind, name], n=n, lost_in_all=len(worse))
        for (kind, name), n in at_stake.items()
        if lost[kind, name] >= 3 and lost[kind, name] > _MOST * max(len(worse), n) and n < total
    ]
    return min(found, key=_place, default=None)


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
