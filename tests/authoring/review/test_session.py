"""Keys in, verdicts and categories out, without any interface."""

from __future__ import annotations

import pytest

from pytest_rageval.authoring.review.view import view_of
from tests.authoring.review.builders import Written, press, session_of


def verdicts(written: Written) -> list[tuple[str, str | None, str, str]]:
    """Verdicts as they were written, in their order."""
    found = [line.review for line in written.lines if line.review is not None]
    return [(one.case_id, one.verdict, one.note, one.category) for one in found]


def test_a_verdict_is_written_at_once_and_the_next_unread_answer_follows() -> None:
    written = Written()
    session = press(session_of(written=written), "p", "f")
    assert verdicts(written) == [("c-0", "pass", "", ""), ("c-1", "fail", "", "")]
    assert (session.index, session.typing) == (1, True)
    press(session, "'wrong  date")
    assert verdicts(written)[-1] == ("c-1", "fail", "wrong date", "")
    assert session.index == 1
    press(session, "enter")
    assert session.index == 2
    press(session, "b", "b", "s")
    assert session.index == 2  # c-1 is read already


def test_a_verdict_leads_back_to_an_answer_that_was_passed_over() -> None:
    session = press(session_of(), "n", "p")
    assert session.index == 0
    assert "no verdict yet" in session.notice
    press(session, "enter")
    assert session.index == 0
    press(session, "s")
    assert session.index == 2


@pytest.mark.parametrize("before", [[], ["p", "b"], ["s", "b"]])
@pytest.mark.parametrize(("key", "written"), [("t", ("pf", "")), ("c", ("", "pf"))])
def test_what_is_typed_is_never_taken_for_keys(
    before: list[str], key: str, written: tuple[str, str]
) -> None:
    session = press(session_of(), *before, key)
    was = session.reviews.copy()
    press(session, "p", "f")
    assert session.reviews == was
    press(session, "enter")
    assert session.review is not None
    assert (session.review.note, session.review.category) == written
    kept = "fail" if key == "c" or not before else {"p": "pass", "s": "skip"}[before[0]]
    assert session.review.verdict == kept
    assert session.index == 0


def test_text_that_is_left_changes_nothing() -> None:
    for key in ("t", "c"):
        written = Written()
        press(session_of(written=written), key, "x", "escape")
        assert written.lines == []


def test_a_session_goes_on_where_the_reader_left() -> None:
    written = Written()
    press(session_of(written=written), "p", "f", "'late", "enter", "q")
    again = session_of(written=written)
    assert again.index == 2
    assert {key[1]: one.verdict for key, one in again.reviews.items()} == {
        "c-0": "pass",
        "c-1": "fail",
    }


def test_a_verdict_that_cannot_be_written_is_not_shown_as_given() -> None:
    written = Written(full=True)
    session = press(session_of(written=written), "p")
    assert session.reviews == {}
    assert session.index == 0
    assert "no space left" in session.notice
    written.full = False
    press(session, "p")
    assert session.index == 1


def test_a_verdict_is_changed_and_taken_back() -> None:
    session = press(session_of(), "f", "'x", "p", "b")
    assert session.review is not None
    assert (session.review.verdict, session.review.note) == ("pass", "x")
    press(session, "u")
    assert session.review is None
    assert session.index == 0


def test_the_place_of_a_fault_turns_only_on_a_failed_answer() -> None:
    session = press(session_of(), "w")
    assert session.review is None
    press(session, "f", "'x")
    parts: list[str | None] = []
    for _ in range(3):
        press(session, "w")
        assert session.review is not None
        parts.append(session.review.part)
    assert parts == ["retrieval", "answer", None]


def test_a_category_is_named_or_chosen_by_its_number() -> None:
    session = press(session_of(), "f", "'x", "c", "'Wrong date", "enter", "f", "'y")
    press(session, "c", "'1")
    assert session.categories == {"Wrong date": 2}
    press(session, "c", "'-")
    assert session.categories == {"Wrong date": 1}
    press(session, "c", "'7")
    assert session.categories == {"Wrong date": 1}


def test_notes_are_grouped_renamed_and_merged() -> None:
    notes = ["f", "'old", "enter", "f", "'older", "enter", "f", "'rude", "enter"]
    session = press(session_of(), *notes, "p", "g")
    assert [row.text for row in view_of(session).rows] == ["old", "older", "rude"]
    press(session, "space", "2", "c", "'stale")
    assert session.categories == {"stale": 2}
    press(session, "r", "'")  # one without a category asks for its first
    press(session, "c", "'tone")  # the cursor is on the one without a category
    assert session.categories == {"stale": 2, "tone": 1}
    press(session, "r", "'manners")
    assert session.categories == {"stale": 2, "manners": 1}
    press(session, "r", "'stale")
    assert session.categories == {"stale": 3}


def test_an_answer_of_a_category_is_opened() -> None:
    session = press(session_of(), "p", "f", "'x", "enter", "p", "g", "enter")
    assert session.answer.case.id == "c-1"
    assert view_of(session).rows == ()


def test_blind_readers_see_the_expected_answer_and_nothing_of_ours() -> None:
    assert [label for label, _ in view_of(session_of(blind=True)).facts] == ["expected"]
    labels = [label for label, _ in view_of(session_of()).facts]
    assert labels == ["expected", "our stage", "scores", "doubts"]
    written = Written()
    press(session_of(blind=True, written=written), "p")
    assert [line.review.blind for line in written.lines if line.review] == [True]


@pytest.mark.parametrize("keys", ["x", "u", "w", "g", "enter", "goto:9", "goto:-1", "goto:²", "b"])
def test_a_key_that_can_do_nothing_says_so_and_writes_nothing(keys: str) -> None:
    written = Written()
    session = press(session_of(written=written), keys)
    assert session.notice
    assert written.lines == []


def test_passages_are_read_one_by_one() -> None:
    session = press(session_of(), "j", "j")
    assert [row.current for row in view_of(session).passages] == [False, True]
    press(session, "goto:1")
    assert session.passage == 0
