"""Fields of a case: names that other tools give to them, and rules between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations, starmap
from typing import Any, Final

from pytest_rageval.metrics.matching import norm_heading, norm_path, norm_text
from pytest_rageval.metrics.scoring import case_weight
from pytest_rageval.support.patterns import PatternError, compile_pattern
from pytest_rageval.support.reading import field_text, unfit_at
from pytest_rageval.values.case import CASE_FIELDS, RULE_KINDS, TURN_FIELDS, Anchor, Case
from pytest_rageval.values.errors import Fault

_OTHERS: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("case_id", "test_id", "qid", "query_id", "question_id", "name"),
    "question": ("query", "input", "user_input", "prompt", "text"),
    "expected_answer": (
        "reference", "reference_answer", "ground_truth", "expected_output", "ideal", "expected",
        "answer", "answers", "golden_answers", "possible_answers", "generation_gt",
    ),
    "expected_key_facts": ("key_facts", "facts", "must_contain"),
    "gold_supports": (
        "expected_references", "gold", "golds", "references", "sources", "relevant_documents",
        "expected_sources",
    ),
    "irrelevant_supports": ("must_not_retrieve",),
    "answerable": ("is_answerable",),
    "category": ("type", "question_type"),
    "difficulty": ("level",),
    "tags": ("labels",),
    "vaults": ("vault",),
    "folders": ("folder",),
    "k": ("top_k", "topK"),
    "language": ("lang",),
    "notes": ("note", "comment", "comments", "description"),
}  # fmt: skip
ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    name: (name, *_OTHERS.get(name, ())) for name in [*_OTHERS, *CASE_FIELDS]
}
"""Names by case field, in the order of reading; the first one present is used."""

ANCHOR_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "rel_path": ("rel_path", "path", "source_file", "file", "document", "source"),
    "heading_path": ("heading_path", "heading", "section"),
    "snippet": ("snippet", "snippets", "quote"),
    "pages": ("pages", "page", "page_number", "page_numbers"),
}
"""Columns of a table that together define one gold."""

_ONLY_MEANT: Final[Mapping[str, tuple[str, ...]]] = {
    "expected_answer": ("gold_answer", "expected_response"),
    "gold_supports": (
        "context", "contexts", "expected_context", "expected_contexts", "reference_contexts",
        "gold_contexts", "evidence", "source", "documents", "gold_support",
        *(name for names in ANCHOR_COLUMNS.values() for name in names),
    ),
    "irrelevant_supports": ("negatives", "distractors", "irrelevant"),
}  # fmt: skip
"""Names whose values need not be those of the field, so that no import takes them for it."""


def _meant() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for table in (ANCHOR_COLUMNS, ALIASES, _ONLY_MEANT):
        for field, names in table.items():
            for name in names:
                key = "snippets" if field == "snippet" else field
                found[name.lower()] = (*found.get(name.lower(), ()), key)
    return found


MEANT: Final[Mapping[str, tuple[str, ...]]] = _meant()
"""Fields of an anchor or a case that a name in lower case may mean, the most likely first."""


_Line = Mapping[str, Any]
CASE_WARNINGS: Final = {
    "blank_fact": "expected_key_facts: a blank one says nothing about the answer",
    "no_golds": "gold_supports: none though answerable, so retrieval is not scored",
    "nested_golds": "gold_supports: one gold lies within another, so one chunk can match both",
    "recency_rule": "recency_conflict_rule: fewer than two gold_supports, so it is not scored",
    "weight": "metadata.weight: not a number above 0, so the case counts once in means by traffic",
}
"""Kind of a warning and its text; the ids of the cases follow."""

_DOTS: Final = frozenset({".", ".."})
_NO_PAGES: Final = frozenset[int]()
_Identity = tuple[str, tuple[str, ...], frozenset[str], frozenset[int], str | None]


def find_faults(line: _Line) -> Iterator[Fault]:
    """Yield the fault of each rule that a line breaks."""
    if not _DOTS.isdisjoint(line["id"].split("/")):
        yield unfit_at(("id",), repr(line["id"]), "an id without a '.' or '..' segment")
    turns = line.get("turns")
    if not turns:
        if line.get("standalone") is not None:
            yield unfit_at(("standalone",), "a case without turns", "it in a later turn")
        yield from _asked_faults(line)
        return
    for name in (one for one in TURN_FIELDS if line.get(one) is not None):
        yield unfit_at((name,), f"{name} beside turns", "it in a turn")
    for index, turn in enumerate(turns):
        for fault in _asked_faults(turn):
            loc = ("turns", index, *fault.loc)
            yield replace(fault, loc=loc, field=field_text(loc))


def _asked_faults(line: _Line) -> Iterator[Fault]:
    if line.get("question") is None:
        yield Fault(code="missing", loc=("question",), field="question")
    golds = line.get("gold_supports", [])
    irrelevant = line.get("irrelevant_supports", [])
    if golds and not line.get("answerable", True):
        found = f"{len(golds)} of them though answerable is false"
        yield unfit_at(("gold_supports",), found, "none")
    yield from _path_faults("gold_supports", golds)
    if irrelevant:
        yield from _path_faults("irrelevant_supports", irrelevant)
    if rules := line.get("answer_rules"):
        yield from _answer_rule_faults(rules)
    if groups := line.get("required_support_groups"):
        yield from _group_faults(groups, len(golds))
    if _share_a_document([anchor["rel_path"] for anchor in (*golds, *irrelevant)]):
        yield from _equal_anchors(golds, irrelevant)


def _share_a_document(paths: Sequence[str]) -> bool:
    """Return whether two of several anchors are in one document.

    Most are not, and need not be compared by their headings and snippets, which takes longer.
    """
    return len({norm_path(path) for path in paths}) < len(paths)


def _path_faults(kind: str, anchors: Sequence[_Line]) -> Iterator[Fault]:
    for index, anchor in enumerate(anchors):
        if not norm_path(anchor["rel_path"]):
            yield unfit_at((kind, index, "rel_path"), repr(anchor["rel_path"]), "a file's path")


def _answer_rule_faults(rules: Sequence[_Line]) -> Iterator[Fault]:
    for index, rule in enumerate(rules):
        kinds = [kind for kind in RULE_KINDS if rule.get(kind) is not None]
        if len(kinds) != 1:
            expected = f"one of {', '.join(RULE_KINDS)}"
            yield unfit_at(("answer_rules", index), " and ".join(kinds) or "no rule", expected)
        elif kinds == ["matches"]:
            try:
                compile_pattern(rule["matches"], ignore_case=bool(rule.get("ignore_case")))
            except PatternError as error:
                loc = ("answer_rules", index, "matches")
                yield replace(error.faults[0], loc=loc, field=field_text(loc))


def _group_faults(groups: Sequence[Sequence[int]], n_golds: int) -> Iterator[Fault]:
    for i, group in enumerate(groups):
        for j, index in enumerate(group):
            if index >= n_golds:
                expected = f"the index of one of the {n_golds} gold_supports"
                yield unfit_at(("required_support_groups", i, j), str(index), expected)


def _equal_anchors(golds: Sequence[_Line], irrelevant: Sequence[_Line]) -> Iterator[Fault]:
    first: dict[_Identity, int] = {}
    for index, anchor in enumerate(golds):
        same = first.setdefault(anchor_identity(anchor), index)
        if same != index:
            parts = "heading, snippets and pages" if anchor.get("pages") else "heading and snippets"
            found = f"the same path, {parts} as [{same}]"
            yield unfit_at(("gold_supports", index), found, "another anchor")
    for index, anchor in enumerate(irrelevant):
        gold = first.get(anchor_identity(anchor))
        if gold is not None:
            found = f"an anchor equal to gold_supports[{gold}]"
            yield unfit_at(("irrelevant_supports", index), found, "evidence that is not gold")


def anchor_identity(anchor: _Line) -> _Identity:
    """Return what no two golds of a case share."""
    return (
        norm_path(anchor["rel_path"]),
        tuple(norm_heading(anchor.get("heading_path")) or ()),
        frozenset(map(norm_text, anchor.get("snippets", ()))),
        frozenset(anchor["pages"]) if "pages" in anchor else _NO_PAGES,
        anchor.get("vault"),
    )


def find_warnings(case: Case) -> Iterator[str]:
    """Yield the kind (a key of ``CASE_WARNINGS``) of each warning about a case."""
    golds = case.gold_supports
    if not all(map(str.strip, case.key_facts)):
        yield "blank_fact"
    if case.answerable and not golds:
        yield "no_golds"
    if case.recency_conflict_rule and len(golds) < 2:
        yield "recency_rule"
    if case.metadata.get("weight") is not None and case_weight(case) is None:
        yield "weight"
    paths = [gold.rel_path for gold in golds]
    if _share_a_document(paths) and any(starmap(_holds, permutations(golds, 2))):
        yield "nested_golds"


def _holds(outer: Anchor, inner: Anchor) -> bool:
    if norm_path(outer.rel_path) != norm_path(inner.rel_path):
        return False
    if outer.vault is not None and inner.vault is not None and outer.vault != inner.vault:
        return False
    if outer.pages and not set(inner.pages) <= set(outer.pages):
        return False
    prefix = tuple(norm_heading(outer.heading_path) or ())
    return tuple(norm_heading(inner.heading_path) or ())[: len(prefix)] == prefix
