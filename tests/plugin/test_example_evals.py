"""The example cases of the repository point at evidence that is really there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from pytest_rageval.metrics.matching import norm_heading, norm_text
from pytest_rageval.project.case_reader import LoadedSet, load_cases
from pytest_rageval.values.case import Anchor, Case

EVALS = Path(__file__).resolve().parents[2] / "evals"


@cache
def loaded() -> LoadedSet:
    return load_cases(EVALS / "eval_set.jsonl")


def cases() -> list[Case]:
    return [located.case for located in loaded().cases]


@cache
def sections(rel_path: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Heading segments and text of every section of a note; a section holds its subsections."""
    text = (EVALS / "vault" / rel_path).read_text(encoding="utf-8")
    return tuple(_sections(text))


def _sections(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    lines = text.splitlines()
    tokens = MarkdownIt().parse(text)
    headings = [
        (int(token.tag[1:]), tokens[index + 1].content, token.map[0])
        for index, token in enumerate(tokens)
        if token.type == "heading_open" and token.map is not None and token.level == 0
    ]
    yield (), norm_text(text)
    trail: list[tuple[int, str]] = []
    for index, (level, title, first) in enumerate(headings):
        trail = [(depth, name) for depth, name in trail if depth < level] + [(level, title)]
        after = [line for depth, _, line in headings[index + 1 :] if depth <= level]
        body = "\n".join(lines[first : after[0] if after else len(lines)])
        yield tuple(norm_text(name) for _, name in trail), norm_text(body)


def anchors() -> Iterator[tuple[str, Anchor]]:
    for case in cases():
        for anchor in (*case.gold_supports, *case.irrelevant_supports):
            yield case.id, anchor


def find_lost(anchor: Anchor) -> str | None:
    """Say what of an anchor is not in the vault; None: everything is."""
    if not (EVALS / "vault" / anchor.rel_path).is_file():
        return f"no note {anchor.rel_path}"
    wanted = norm_heading(anchor.heading_path)
    texts = [text for segments, text in sections(anchor.rel_path) if segments == wanted]
    if not texts:
        return f"no section {anchor.heading_path} in {anchor.rel_path}"
    for snippet in anchor.snippets:
        if not any(norm_text(snippet) in text for text in texts):
            return f"not in {anchor.rel_path} {anchor.heading_path}: {snippet}"
    return None


def test_every_anchor_and_snippet_is_in_the_vault() -> None:
    lost = [f"{case_id}: {fault}" for case_id, anchor in anchors() if (fault := find_lost(anchor))]
    assert lost == []


@pytest.mark.parametrize(
    "anchor",
    [
        Anchor(rel_path="runbooks/none.md"),
        Anchor(rel_path="runbooks/lantern-failover.md", heading_path="# None"),
        Anchor(rel_path="runbooks/lantern-failover.md", snippets=("Nobody wrote this.",)),
    ],
    ids=["note", "section", "snippet"],
)
def test_an_anchor_that_is_not_there_would_be_found(anchor: Anchor) -> None:
    assert find_lost(anchor) is not None


def test_the_set_loads_without_warnings() -> None:
    assert loaded().warnings == ()


def test_every_anchor_bears_a_section_and_a_snippet_that_proves_it() -> None:
    golds = [gold for case in cases() for gold in case.gold_supports]
    assert [gold for gold in golds if not gold.heading_path or not gold.snippets] == []


def test_the_set_is_large_enough_to_gate() -> None:
    assert len(cases()) >= 80
    assert sum(not case.answerable for case in cases()) >= 12


def test_all_three_recency_rules_are_shown() -> None:
    rules = {case.recency_conflict_rule for case in cases()} - {None}
    assert rules == {"cite_newer", "acknowledge_both", "cite_both"}


def test_alternative_groups_of_evidence_are_shown() -> None:
    assert any(len(case.required_support_groups or ()) > 1 for case in cases())


def test_evidence_that_must_not_be_found_is_shown() -> None:
    assert any(case.irrelevant_supports for case in cases())
