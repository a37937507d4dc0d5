"""The rules between the fields of a case: what is refused and what is only warned about.

METRICS 1.1 ("Refused at load", "Warned about"). Types and limits of single fields are in
``case_fields``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Final

from pytest_rageval.matching import norm_heading, norm_path, norm_text
from pytest_rageval.models import Anchor, Case

if TYPE_CHECKING:
    from pytest_rageval.case_fields import AnchorLine, CaseLine
    from pytest_rageval.strict_json import Loc

CASE_WARNINGS: Final = {
    "blank_fact": "expected_key_facts: a blank one says nothing about the answer",
    "no_golds": "gold_supports: none though answerable, so retrieval is not scored",
    "nested_golds": "gold_supports: one gold lies within another, so one chunk can match both",
    "recency_rule": "recency_conflict_rule: fewer than two gold_supports, so it is not scored",
}
"""Kind of a warning and its text; the ids of the cases follow."""

_Identity = tuple[str, tuple[str, ...], frozenset[str], str | None]


def find_faults(line: CaseLine) -> Iterator[tuple[Loc, str]]:
    """Yield the place and the message of each rule that a line breaks."""
    if not {".", ".."}.isdisjoint(line.id.split("/")):
        yield ("id",), f"{line.id!r}, expected an id without a '.' or '..' segment"
    golds = line.gold_supports
    if golds and not line.answerable:
        yield (
            ("gold_supports",),
            f"{len(golds)} of them though answerable is false, expected none",
        )
    for kind in ("gold_supports", "irrelevant_supports"):
        for index, anchor in enumerate(getattr(line, kind)):
            if not norm_path(anchor.rel_path):
                yield (kind, index, "rel_path"), f"{anchor.rel_path!r}, expected the path of a file"
    yield from _group_faults(line.required_support_groups or [], len(golds))
    if len(golds) + len(line.irrelevant_supports) > 1:
        yield from _equal_anchors(golds, line.irrelevant_supports)


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
        norm_path(anchor.rel_path),
        tuple(norm_heading(anchor.heading_path) or ()),
        frozenset(map(norm_text, anchor.snippets)),
        anchor.vault,
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
