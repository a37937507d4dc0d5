from __future__ import annotations

import doctest

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_rageval.authoring.interchange import fields, ids, parsing
from pytest_rageval.authoring.interchange.ids import (
    DocumentPaths,
    UniqueIds,
    id_from_question,
)
from pytest_rageval.project.case_reader import parse_case
from pytest_rageval.project.documents import is_plain_path
from tests.authoring.interchange.strategies import TEXTS

ANY = st.text(max_size=20)


def test_examples_of_the_docstrings_hold() -> None:
    for module in (ids, fields, parsing):
        assert doctest.testmod(module).failed == 0


@given(ANY, TEXTS)
@example(":", "0")
def test_any_foreign_id_becomes_one_that_is_allowed(wanted: str, question: str) -> None:
    taken = UniqueIds()
    found = [taken.take(wanted, question) for _ in range(3)]
    assert len(set(found)) == 3
    for case_id in found:
        assert parse_case({"id": case_id, "question": "?"}).id == case_id


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Wie groß?", "wie-gross-"),
        ("बेटे का नाम क्या है?", "बेटे-का-नाम-क्या-है-"),
        ("ข้าวราคาเท่าไร", "ข้าวราคาเท่าไร-"),
        ("什么是茶？", "什么是茶-"),
        ("?!", "case-"),
    ],
)
def test_an_id_from_a_question_has_its_words(question: str, expected: str) -> None:
    assert id_from_question(question)[:-6] == expected


@given(st.lists(ANY, min_size=1, max_size=5, unique=True), st.sampled_from(["", "eval:x:"]))
def test_ids_of_documents_become_paths_that_stay_below_their_folder(
    names: list[str], prefix: str
) -> None:
    paths = DocumentPaths(prefix, "eval/x/")
    found = [paths.path(f"{prefix}{name}") for name in names]
    assert len(set(found)) == len(names)
    for path in found:
        assert is_plain_path(path)
        assert path.startswith("eval/x/")
        assert path.lower().endswith((".md", ".markdown"))
    assert [paths.path(f"{prefix}{name}") for name in names] == found
