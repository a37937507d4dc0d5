"""The rules between the fields of a case: what is refused and what is only warned about.

What fields mean is told in docs/cases.md; types and limits of single fields are in
``case_fields``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Final

from pytest_rageval.metrics.matching import norm_heading, norm_path, norm_text
from pytest_rageval.values.case import Anchor, Case

if TYPE_CHECKING:
    from pytest_rageval.project.case_fields import AnchorLine, CaseLine
    from pytest_rageval.support.json_text import Loc

CASE_WARNINGS: Final = {
    "blank_fact": "expected_key_facts: a blank one says nothing about the answer",
    "no_golds": "gold_supports: none though answerable, so retrieval is not scored",
    "nested_golds": "gold_supports: one gold lies within another, so one chunk can match both",
    "recency_rule": "recency_conflict_rule: fewer than two gold_supports, so it is not scored",
}
"""Kind of a warning and its text; the ids of the cases follow."""

_DOTS: Final = frozenset({".", ".."})
_Identity = tuple[str, tuple[str, ...], frozenset[str], str | None]


def find_faults(line: CaseLine) -> Iterator[tuple[Loc, str]]:
    """Yield the place and the message of each rule that a line breaks."""
    if not _DOTS.isdisjoint(line["id"].split("/")):
        yield ("id",), f"{line['id']!r}, expected an id without a '.' or '..' segment"
    golds = line.get("gold_supports", [])
    irrelevant = line.get("irrelevant_supports", [])
    if golds and not line.get("answerable", True):
        message = f"{len(golds)} of them though answerable is false, expected none"
        yield ("gold_supports",), message
    yield from _path_faults("gold_supports", golds)
    yield from _path_faults("irrelevant_supports", irrelevant)
    yield from _group_faults(line.get("required_support_groups") or [], len(golds))
    if len(golds) + len(irrelevant) > 1:
        yield from _equal_anchors(golds, irrelevant)


def _path_faults(kind: str, anchors: Sequence[AnchorLine]) -> Iterator[tuple[Loc, str]]:
    for index, anchor in enumerate(anchors):
        if not norm_path(anchor["rel_path"]):
            yield (kind, index, "rel_path"), f"{anchor['rel_path']!r}, expected a file's path"


def _group_faults(groups: Sequence[Sequence[int]], n_golds: int) -> Iterator[tuple[Loc, str]]:
    for i, group in enumerate(groups):
        for j, index in enumerate(group):
            if index >= n_golds:
                loc = ("required_support_groups", i, j)
                yield loc, f"{index}, expected the index of one of the {n_golds} gold_supports"


def _equal_anchors(
    golds: Sequence[AnchorLine], irrelevant: Sequence[AnchorLine]
) -> Iterator[tuple[Loc, str]]:
    first: dict[_Identity, int] = {}
    for index, anchor in enumerate(golds):
        same = first.setdefault(_identity(anchor), index)
        if same != index:
            message = f"the same path, heading and snippets as [{same}], expected another anchor"
            yield ("gold_supports", index), message
    for index, anchor in enumerate(irrelevant):
        gold = first.get(_identity(anchor))
        if gold is not None:
            message = f"equal to gold_supports[{gold}], expected evidence that is not gold"
            yield ("irrelevant_supports", index), message


def _identity(anchor: AnchorLine) -> _Identity:
    return (
        norm_path(anchor["rel_path"]),
        tuple(norm_heading(anchor.get("heading_path")) or ()),
        frozenset(map(norm_text, anchor.get("snippets", ()))),
        anchor.get("vault"),
    )


def find_warnings(case: Case) -> Iterator[str]:
    """Yield the kind (a key of ``CASE_WARNINGS``) of each thing that is odd about a case."""
    golds = case.gold_supports
    if not all(map(str.strip, case.expected_key_facts)):
        yield "blank_fact"
    if case.answerable and not golds:
        yield "no_golds"
    if case.recency_conflict_rule and len(golds) < 2:
        yield "recency_rule"
    if any(_holds(outer, inner) for outer, inner in permutations(golds, 2)):
        yield "nested_golds"


def _holds(outer: Anchor, inner: Anchor) -> bool:
    if norm_path(outer.rel_path) != norm_path(inner.rel_path):
        return False
    if outer.vault is not None and inner.vault is not None and outer.vault != inner.vault:
        return False
    prefix = tuple(norm_heading(outer.heading_path) or ())
    return tuple(norm_heading(inner.heading_path) or ())[: len(prefix)] == prefix
