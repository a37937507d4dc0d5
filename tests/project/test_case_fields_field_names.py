from __future__ import annotations

from dataclasses import fields

import pytest

from pytest_rageval.project.case_fields import ALIASES, ANCHOR_COLUMNS, MEANT
from pytest_rageval.project.case_reader import parse_case
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.errors import DatasetError

OURS = {one.name for kind in (Case, Anchor) for one in fields(kind)}


def test_every_name_means_a_field_of_a_case_or_an_anchor() -> None:
    assert ALIASES.keys() <= OURS
    assert {name for names in MEANT.values() for name in names} <= OURS
    assert {name for names in ANCHOR_COLUMNS.values() for name in names} <= MEANT.keys()


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("golds", "gold_supports"),
        ("gold", "gold_supports"),
        ("context", "gold_supports"),
        ("contexts", "gold_supports"),
        ("sources", "gold_supports"),
        ("rel_path", "gold_supports"),
        ("expected", "expected_answer"),
        ("ground_truth", "expected_answer"),
        ("Reference", "expected_answer"),
        ("answer", "expected_answer"),
        ("facts", "expected_key_facts"),
        ("top_k", "k"),
        ("topK", "k"),
        ("query", "question"),
    ],
)
def test_a_name_of_another_tool_is_answered_with_the_field_it_means(name: str, field: str) -> None:
    with pytest.raises(DatasetError, match=f'{name}: unknown field, did you mean "{field}"'):
        parse_case({"id": "a", "question": "b?", name: []})


@pytest.mark.parametrize(("name", "field"), [("path", "rel_path"), ("section", "heading_path")])
def test_so_is_a_name_within_an_anchor(name: str, field: str) -> None:
    golds = [{"rel_path": "a.md", name: "A"}]
    with pytest.raises(DatasetError, match=rf'\[0\]\.{name}: .* did you mean "{field}"'):
        parse_case({"id": "a", "question": "b?", "gold_supports": golds})
