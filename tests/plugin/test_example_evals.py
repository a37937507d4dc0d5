"""The cases of the repository, the example and the hard set, point at evidence that is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from pytest_rageval.metrics.matching import norm_heading, norm_text
from pytest_rageval.project.case_reader import LoadedSet, load_cases
from pytest_rageval.values.case import Anchor, Case

ROOT = Path(__file__).resolve().parents[2]
VAULT = ROOT / "evals" / "vault"
SETS = {
    "example": ROOT / "evals" / "eval_set.jsonl",
    "hard": ROOT / "tests" / "data" / "hard_set" / "eval_set.jsonl",
}
each_set = pytest.mark.parametrize("name", SETS)


@cache
def loaded(name: str) -> LoadedSet:
    return load_cases(SETS[name])


def cases(name: str) -> list[Case]:
    return [located.case for located in loaded(name).cases]


@cache
def sections(rel_path: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Heading segments and text of every section of a note; a section holds its subsections."""
    text = (VAULT / rel_path).read_text(encoding="utf-8")
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


def anchors(name: str) -> Iterator[tuple[str, Anchor]]:
    for case in cases(name):
        for anchor in (*case.gold_supports, *case.irrelevant_supports):
            yield case.id, anchor


def find_lost(anchor: Anchor) -> str | None:
    """Say what of an anchor is not in the vault; None: everything is."""
    if not (VAULT / anchor.rel_path).is_file():
        return f"no note {anchor.rel_path}"
    wanted = norm_heading(anchor.heading_path)
    texts = [text for segments, text in sections(anchor.rel_path) if segments == wanted]
    if not texts:
        return f"no section {anchor.heading_path} in {anchor.rel_path}"
    for snippet in anchor.snippets:
        if not any(norm_text(snippet) in text for text in texts):
            return f"not in {anchor.rel_path} {anchor.heading_path}: {snippet}"
    return None


@each_set
def test_every_anchor_and_snippet_is_in_the_vault(name: str) -> None:
    lost = [f"{id_}: {fault}" for id_, anchor in anchors(name) if (fault := find_lost(anchor))]
    assert lost == []


@each_set
def test_every_anchor_bears_a_section_and_a_snippet_that_proves_it(name: str) -> None:
    golds = [gold for case in cases(name) for gold in case.gold_supports]
    assert [gold for gold in golds if not gold.heading_path or not gold.snippets] == []


def test_the_example_is_small_and_has_some_cases_of_each_category() -> None:
    counts = Counter(case.category for case in cases("example"))
    assert 30 <= counts.total() <= 45
    assert min(counts.values()) >= 5
    assert set(counts) == {
        "adversarial",
        "factual",
        "multi_hop",
        "reasoning",
        "recency",
        "specificity",
        "unanswerable",
    }


def test_the_hard_set_is_large_enough_to_gate() -> None:
    assert len(cases("hard")) >= 80
    assert sum(not case.answerable for case in cases("hard")) >= 12
