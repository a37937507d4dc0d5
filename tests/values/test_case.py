"""A case of several turns as cases of one turn each."""

from __future__ import annotations

from pytest_rageval.values.case import Anchor, Case, Message, Turn

TALK = Case(
    id="talk",
    category="shop",
    vaults=("shop",),
    translation_of="gespraech",
    turns=(
        Turn(question="Do you ship?", expected_answer="Yes."),
        Turn(question="How fast?", standalone="How fast do you ship?"),
        Turn(question="Who drives?", answerable=False, gold_supports=(Anchor(rel_path="a.md"),)),
    ),
)


def test_each_turn_is_a_case_with_the_fields_of_its_conversation() -> None:
    first, second, third = TALK.expanded()
    assert [one.id for one in (first, second, third)] == ["talk#1", "talk#2", "talk#3"]
    assert {one.item for one in (first, second, third)} == {"talk"}
    assert {(one.category, one.vaults, one.turns) for one in (first, third)} == {
        ("shop", ("shop",), ())
    }
    assert second.translation_of == "gespraech#2"
    assert (second.standalone, second.turn) == ("How fast do you ship?", 2)
    assert (third.answerable, third.gold_supports[0].rel_path) == (False, "a.md")


def test_a_turn_knows_the_expected_conversation_before_it() -> None:
    talks = [one.talk for one in TALK.expanded()]
    assert [(one.turn, one.turns, len(one.gold)) for one in talks if one] == [
        (1, 3, 0),
        (2, 3, 2),
        (3, 3, 3),  # the second turn has no expected answer
    ]
    assert talks[1] is not None
    assert talks[1].gold[1] == Message(role="assistant", content="Yes.")


def test_a_case_of_one_question_is_itself() -> None:
    case = Case(id="a", question="?")
    assert case.expanded() == (case,)
    assert (case.item, case.turn) == ("a", None)


def test_the_whole_question_of_a_turn_reads_alone() -> None:
    assert [one.whole_question for one in TALK.expanded()] == [
        "Do you ship?",
        "How fast do you ship?",
        "Do you ship?\nHow fast?\nWho drives?",
    ]
