"""Turns of conversations: carried context, and answers that ask back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.context import asks_alone, found_evidence
from pytest_rageval.metrics.scoring import case_cluster, score_case
from pytest_rageval.metrics.view import CaseView, view_case
from pytest_rageval.values.case import Anchor, Case, Turn
from pytest_rageval.values.record import AskedAlone, CaseScores, ScoreSettings
from tests.build.scores import TIMEOUT, case, chunk, response

GOLD = (Anchor(rel_path="a.md"),)


def turns(**fields: object) -> tuple[Case, ...]:
    """A conversation whose second turn has a gold, a question in full, and further fields."""
    second = replace(Turn(question="?", standalone="Why?", gold_supports=GOLD), **fields)  # type: ignore[arg-type]
    return Case(id="talk", turns=(Turn(question="!", gold_supports=GOLD), second)).expanded()


def view(case: Case, *chunks: str, alone: AskedAlone | None = None, answer: str = "-") -> CaseView:
    found = view_case(case, response(*chunks, answer=answer), ScoreSettings())
    found.alone = alone
    return found


def carry(found: CaseScores) -> float | str | None:
    """Return the value, ``n/a``, or None for an error."""
    value = found.metrics["context_carry"]
    return "n/a" if "context_carry" in found.not_applicable else value


@pytest.mark.parametrize(
    ("asked", "alone", "value", "stage"),
    [
        (["a.md"], ["a.md"], 1.0, None),
        (["b.md"], ["a.md"], 0.0, "lost_context"),
        (["b.md"], ["b.md"], "n/a", "not_retrieved"),
        (["a.md"], ["b.md"], "n/a", None),
        (["b.md"], None, "n/a", "not_retrieved"),
    ],
)
def test_a_turn_carries_its_context_if_it_finds_what_its_question_in_full_finds(
    asked: list[str], alone: list[str] | None, value: float | str, stage: str | None
) -> None:
    reply = None if alone is None else AskedAlone(chunks=tuple(map(chunk, alone)))
    found = score_case(view(turns()[1], *asked, alone=reply))
    assert (carry(found), found.failure_stage) == (value, stage)


@pytest.mark.parametrize(
    ("case", "alone", "value"),
    [
        (turns(standalone=None)[1], None, "n/a"),
        (turns(answerable=False, gold_supports=())[1], None, "n/a"),
        (turns()[1], AskedAlone(error=TIMEOUT), None),
        (turns()[1], AskedAlone(chunks=None), "n/a"),
    ],
)
def test_a_turn_that_cannot_be_compared_is_outside_or_an_error_never_0(
    case: Case, alone: AskedAlone | None, value: str | None
) -> None:
    assert carry(score_case(view(case, "b.md", alone=alone))) == value


def test_only_later_turns_have_the_figure() -> None:
    first = turns()[0]
    for one in (first, replace(first, talk=None)):
        assert carry(score_case(view(one, "b.md"))) == "n/a"


def test_the_question_in_full_of_a_later_turn_with_golds_is_asked_alone() -> None:
    first, second = turns()
    asked = {
        "first": replace(first, standalone="Why?"),
        "second": second,
        "without a question in full": replace(second, standalone=None),
        "without golds": replace(second, gold_supports=()),
        "of no conversation": replace(second, talk=None),
    }
    assert [name for name, one in asked.items() if asks_alone(one)] == ["second"]


@pytest.mark.parametrize(
    ("of", "chunks", "settings", "found"),
    [
        (case("a.md", "b.md"), ["a.md"], {}, 1.0),
        (case("a.md", "b.md", required_support_groups=((0, 1),)), ["a.md"], {}, 0.0),
        (case("a.md", "b.md", required_support_groups=((0, 1),)), ["a.md", "b.md"], {}, 1.0),
        (case("a.md | # A"), ["a.md | # B"], {}, 0.0),
        (case("a.md | # A"), ["a.md"], {"headings_reported": False}, 1.0),
        (case("a.md | # A"), ["b.md"], {"headings_reported": False}, 0.0),
    ],
)
def test_evidence_is_found_by_anchors_and_where_they_are_unknown_by_documents(
    of: Case, chunks: list[str], settings: dict[str, Any], found: float
) -> None:
    assert found_evidence(view_case(of, response(*chunks), ScoreSettings(**settings))) == found


@pytest.mark.parametrize(
    ("answer", "outcome", "asks"),
    [
        ("Which order do you mean?", "passed", True),
        ("Hello. Which order do you mean, and when was it?", "passed", True),
        ("It takes about five days from the day of your order. More?", "missed", False),
        ("Five days.", "missed", False),
        ("Five. Why?", "passed", True),  # half
        ("Fives. Why?", "missed", False),
    ],
)
def test_an_answer_that_asks_back_passes_where_the_case_allows_it(
    answer: str, outcome: str, asks: bool
) -> None:
    both = ("answer", "clarify")
    found = score_case(view(turns(expected_behavior=both)[1], "b.md", answer=answer))
    assert (found.outcome, found.clarifies, found.unchecked) == (outcome, asks, False)
    side = [key for key, info in BUILT_IN.cases.items() if info.answer_side]
    assert (len({found.not_applicable.get(key) for key in side}) == 1) is asks
    assert score_case(view(turns()[1], "b.md", answer=answer)).outcome == "missed"


def test_a_case_that_wants_a_question_back_does_not_pass_with_an_answer() -> None:
    case = turns(expected_behavior=("clarify",))[1]
    found = score_case(view(case, "a.md", answer="Five days."))
    assert (found.outcome, found.failure_stage) == ("flawed", "incorrect")


def test_the_turns_of_a_conversation_are_one_cluster() -> None:
    assert {case_cluster(one) for one in turns()} == {"conversation:talk"}
