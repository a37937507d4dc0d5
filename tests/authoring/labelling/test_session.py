from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.authoring.labelling.draft import (
    Fetched,
    LabelCase,
    SaveResult,
)
from pytest_rageval.authoring.labelling.session import LabelSession, Mode
from pytest_rageval.authoring.labelling.view import key_line, view_of
from pytest_rageval.project.case_reader import parse_case
from tests.authoring.labelling.builders import (
    CASES,
    MAIL,
    FakeDesk,
    golds,
    label_case,
    press,
    session_of,
    without_own_keys,
)

# --- the queue and saving ------------------------------------------------------------------------


def test_enter_saves_and_goes_on_until_the_last_case() -> None:
    desk = FakeDesk()
    session = press(session_of(desk=desk), "3", "enter", "enter", "enter")
    assert desk.saved[0] == ("retries", {"gold_supports": [MAIL]}, False)
    assert [case for case, _, _ in desk.saved] == ["retries", "marked", "other"]
    assert "last of 3 cases" in session.notice
    assert session.index == 2
    alone = press(session_of(CASES[0]), "p")
    assert alone.notice == "this is the only case (q leaves)"


def test_a_case_that_cannot_be_saved_is_not_left() -> None:
    desk = FakeDesk(results=[SaveResult(ok=False, message="disk full")])
    session = press(session_of(desk=desk), "3", "q", "y")
    assert (session.closed, session.notice, session.unsaved) == (False, "disk full", ("retries",))
    assert press(session, "q", "y").closed


CONFLICT = SaveResult(ok=False, message="not saved", conflict='{"id": "retries"}')


def test_a_conflict_waits_for_a_decision_and_mine_is_written_over_it_once_seen() -> None:
    desk = FakeDesk(results=[CONFLICT])
    session = press(session_of(desk=desk), "3", "enter")
    assert view_of(session).conflict == '{"id": "retries"}'
    assert press(session, "x", "q", "enter").index == 0
    assert press(session, "m").index == 1
    assert desk.saved == [("retries", {"gold_supports": [MAIL]}, True)]


MADE = {"id": "a", "question": "q", "review": "generated"}


def review_of(*ids: str, desk: FakeDesk) -> LabelSession:
    return LabelSession([label_case({**MADE, "id": i}) for i in ids], desk, review=desk)


def test_a_rejected_case_is_removed_once_it_is_confirmed_and_leaves_the_queue() -> None:
    desk = FakeDesk()
    session = press(review_of("a", "b", "c", desk=desk), "enter", "3", "d", "d", "enter", "3")
    assert (session.mode, desk.removed) == (Mode.REMOVE, [])
    assert "escape keeps it" in session.notice
    press(session, "escape")
    assert (session.mode, session.total, golds(session)) == (Mode.BROWSE, 3, [MAIL])
    press(session, "d", "y")
    assert (desk.removed, session.total, session.marking.item.case.id) == (["b"], 2, "c")
    assert (session.result, session.unsaved) == ("1 saved, 1 removed", ())


@pytest.mark.parametrize("keys", [["q", "n"], ["q", "Q"], ["Q"]], ids="-".join)
def test_leaving_saves_nothing_unless_told_to(keys: list[str]) -> None:
    desk = FakeDesk()
    assert press(session_of(desk=desk), "3", *keys).closed
    assert desk.saved == []


def test_q_asks_before_it_leaves_a_case_that_is_not_saved() -> None:
    desk = FakeDesk()
    session = press(session_of(desk=desk), "3", "q")
    assert session.notice == "retries is not saved: y saves and leaves, n leaves, escape stays"
    assert key_line(view_of(session)) == "y save and leave  n leave, not saving  escape stay"
    press(session, "j", "enter")
    assert (session.closed, desk.saved) == (False, [])
    press(session, "escape", "j")
    assert (session.mode, session.unsaved) == (Mode.BROWSE, ("retries",))
    assert press(session, "q", "y").closed
    assert [case_id for case_id, _, _ in desk.saved] == ["retries"]


# --- a target that fails -------------------------------------------------------------------------


def test_golds_can_be_edited_though_the_target_is_down_and_it_can_be_asked_again() -> None:
    class Down(FakeDesk):
        n = 0

        def fetch(self, case: LabelCase) -> Fetched:
            self.n += 1
            return Fetched(problem="503") if self.n == 1 else super().fetch(case)

    session = session_of(CASES[1], desk=Down())
    view = view_of(session)
    assert (view.problem, [row.tags for row in view.rows]) == ("503", [("not retrieved",)] * 2)
    assert len(golds(press(session, "2"))) == 1
    assert len(view_of(press(session, "R")).rows) == 5


# --- at random -----------------------------------------------------------------------------------

KEYS = [
    *"jkasgtu/rwnpRm?1234567", "down", "space", "enter", "escape", "backspace", "home", "end", "-",
    "+", "x", "goto:2", "goto:x", "", "\x00", "½", "²",
]  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(KEYS), max_size=40))
def test_whatever_is_pressed_only_sound_cases_are_saved(keys: list[str]) -> None:
    desk = FakeDesk()
    session = session_of(desk=desk)
    for key in keys:
        session.press(key)
        view_of(session)
    fields = {case["id"]: dict(case) for case in CASES}
    for case_id, changes, _ in desk.saved:
        fields[case_id] |= changes
        assert parse_case(without_own_keys(fields[case_id])).id == case_id
