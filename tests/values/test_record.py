"""Access to the parts of a record."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_rageval.values.reply import AskResponse, is_empty_answer
from tests.build.records import changed, record

PLAIN = record("a", {"mrr": 0.5}, answer="Yes.", category="facts", parameters="[small]")


def test_facts_of_the_parts_are_read_from_the_record() -> None:
    assert (PLAIN.case.id, PLAIN.case.category, PLAIN.answer) == ("a", "facts", "Yes.")
    assert PLAIN.scores.metrics == {"mrr": 0.5}
    assert (PLAIN.name, PLAIN.nodeid) == ("a[small]", "evals/set.jsonl::a[small]")


def test_without_a_response_every_field_of_it_is_none() -> None:
    silent = record("a")
    assert silent.response is None
    assert (silent.answer, silent.reply.references, silent.reply.retrieved_chunks) == (
        None,
        None,
        None,
    )
    assert silent.reply.models == {}


def test_a_case_counts_unless_nobody_reviewed_it() -> None:
    draft = dataclasses.replace(PLAIN.case, review="generated")
    assert PLAIN.counted
    assert not changed(PLAIN, case=draft).counted


@pytest.mark.parametrize(
    ("answer", "abstained", "empty"),
    [
        ("", None, True),
        (" \n\t", False, True),
        ("", True, False),
        ("x", None, False),
    ],
)
def test_an_answer_of_blanks_is_empty_unless_it_abstains(
    answer: str, abstained: bool | None, empty: bool
) -> None:
    assert is_empty_answer(AskResponse(answer=answer, abstained=abstained)) is empty
