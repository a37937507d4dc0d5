"""The unit of inference of a comparison: what its cases are grouped by. Pure.

Defined and chosen by simulation in docs/statistics.md#which-unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.settings import ClusterSetting

Unit = Literal["document", "section", "case"]
_UNITS: Final[tuple[Unit, ...]] = ("document", "section", "case")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """Grouping of the cases of a comparison."""

    by: Unit = "document"
    """Property that the cases of one group share."""
    whole: bool = False
    """Whether the groups are taken for a sample of others, as the setting ``document`` asks."""
    n_documents: int | None = None
    """Documents that the cases are about; None: some are about none or are turns of conversations,
    or it is unknown."""
    note: str = ""
    """Reason why another unit than the one asked for decides; empty: none does."""

    def ids(self, cases: Iterable[CaseRecord]) -> list[str | None]:
        """Return the group of each case; None: the case is its own."""
        return [cluster_of(case, self.by) for case in cases]


BY_DOCUMENT: Final = Clustering()
"""The unit unless a project or the cases ask for another."""


def cluster_of(case: CaseRecord, by: Unit) -> str | None:
    """Return the document or section of the first gold; None if absent, or by case.

    The turns of a conversation are never apart.
    """
    if case.case.talk is not None:
        return case.cluster
    if by == "case" or case.cluster is None:
        return None
    golds = case.case.gold_supports
    heading = golds[0].heading_path if by == "section" and golds else None
    return f"{case.cluster} > {heading}" if heading else case.cluster


def choose_clustering(cases: Sequence[CaseRecord], setting: ClusterSetting) -> Clustering:
    """Choose the unit of the paired cases.

    One document is no sample of documents: its sections decide, and those of one section by case.

    Args:
        cases: one record of each pair.
        setting: ``auto`` groups by document and weighs the groups by their number.
    """
    documents = {case.cluster for case in cases}
    apart = any(case.case.talk is not None for case in cases)
    n_documents = None if apart or None in documents else len(documents)
    wanted: Unit = "document" if setting == "auto" else setting
    for by in _UNITS[_UNITS.index(wanted) :]:
        groups = [cluster_of(case, by) for case in cases]
        # A case of no group is its own.
        if by == "case" or len(set(groups)) + max(groups.count(None) - 1, 0) > 1:
            break
    note = ""
    if by != wanted and len(cases) > 1:
        note = f"all cases are about one {_UNITS[_UNITS.index(by) - 1]}: its {by}s decide"
    whole = by != "case" and setting != "auto"
    return Clustering(by=by, whole=whole, n_documents=n_documents, note=note)
