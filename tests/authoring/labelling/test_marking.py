from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.authoring.labelling.draft import Draft, quotable
from pytest_rageval.authoring.labelling.view import view_of
from pytest_rageval.values.reply import RetrievedChunk
from tests.authoring.labelling.builders import (
    CASES,
    CHUNKS,
    MAIL,
    RETRIES,
    FakeDesk,
    golds,
    marked,
    press,
    session_of,
    typed,
)

# --- marking -------------------------------------------------------------------------------------


def test_a_mark_is_an_anchor_of_path_and_heading_and_never_a_chunk_id() -> None:
    chunks = [replace(CHUNKS[2], chunk_id="f00d")]
    session = press(session_of(desk=FakeDesk(chunks)), "space")
    assert golds(session) == [MAIL]


def test_chunks_of_one_section_are_marked_by_one_anchor() -> None:
    session = press(session_of(), "1")
    assert (golds(session), marked(session)) == ([RETRIES], [1, 2])
    session.press("2")
    assert (golds(session), marked(session)) == ([], [])
    assert "nor is row 1 by the same anchor" in session.notice


def test_a_chunk_without_heading_marks_its_document_and_says_so() -> None:
    session = press(session_of(), "4")
    assert golds(session) == [{"rel_path": "plain.txt"}]
    assert "whole document" in session.notice


def test_golds_that_are_not_retrieved_are_listed_and_kept_unless_removed() -> None:
    desk = FakeDesk()
    session = press(session_of(desk=desk), "n")
    row = view_of(session).rows[-1]
    assert (row.place, row.tags) == ("gone.md  # Gone", ("not retrieved",))
    press(session, "1", "w")
    gone = {"rel_path": "gone.md", "heading_path": "# Gone"}
    assert desk.saved[-1][1]["gold_supports"][:2] == [MAIL, gone]
    press(session, "5", "w")
    assert desk.saved[-1][1]["gold_supports"] == [MAIL, RETRIES]
    press(session, "5", "w")
    assert desk.saved[-1][1]["gold_supports"][1] == gone


def test_evidence_against_is_never_marked() -> None:
    case = {"id": "a", "question": "q", "irrelevant_supports": [MAIL]}
    session = press(session_of(case), "3")
    assert golds(session) == []
    assert "irrelevant_supports" in session.notice
    assert view_of(session).rows[2].tags == ("irrelevant",)
    assert "irrelevant_supports" in press(session, "s").notice


@pytest.mark.parametrize("path", ["", "./", "a\ud800.md"])
def test_a_chunk_without_a_usable_path_is_not_marked(path: str) -> None:
    session = press(session_of(desk=FakeDesk([replace(CHUNKS[0], rel_path=path)])), "space")
    assert golds(session) == []
    assert "cannot be marked" in session.notice


# --- answerable ----------------------------------------------------------------------------------


def test_an_unanswerable_case_has_no_evidence_and_one_with_evidence_is_answerable() -> None:
    session = press(session_of(), "n", "a")
    assert session.marking.draft == Draft(answerable=False, notes="old")
    assert session.notice.endswith("; 2 marks taken out")
    session.press("3")
    assert session.marking.draft.answerable
    assert press(session, "a").notice.endswith("; 1 mark taken out")


# --- snippets ------------------------------------------------------------------------------------


def test_a_snippet_is_a_sentence_of_the_chunk_and_tells_it_from_its_neighbour() -> None:
    session = press(session_of(), "s")
    assert [p.text for p in view_of(session).passages] == [
        "The queue retries five times.", "After that it gives up.", "an item",
    ]  # fmt: skip
    press(session, "j", "space", "enter")
    assert golds(session) == [{**RETRIES, "snippets": ["After that it gives up."]}]
    assert marked(session) == [1]


def test_every_passage_is_found_in_its_chunk_wherever_the_one_before_it_was() -> None:
    chunk = RetrievedChunk(rel_path="a.md", text="b c. a b c. d")
    passages = ["a b c.", "b c.", "c. d", "gone", " ", "a b"]
    assert quotable(chunk, passages) == ["a b c.", "b c.", "c. d", "a b"]


# --- groups, notes, filter -----------------------------------------------------------------------


def test_groups_are_written_as_numbers_of_golds() -> None:
    session = typed(press(session_of(), "1", "3", "g"), "1+2, 2")
    assert session.marking.draft.groups == ((0, 1), (1,))
    assert view_of(session).groups == "1+2, 2"
    assert typed(press(session, "g"), "-").marking.draft.groups is None


def test_a_gold_that_goes_leaves_its_groups() -> None:
    session = press(session_of(), "n", "5")
    assert session.marking.draft.groups == ((0,),)
    assert "the group 1+2 needs only 1 now; g sets groups again" in session.notice
    session.press("3")
    assert session.marking.draft.groups is None
    assert "the group 1 is gone" in session.notice


def test_a_filter_shows_the_rows_that_hold_a_text_under_their_numbers() -> None:
    session = typed(press(session_of(), "/"), "MAIL")
    assert session.notice == "1 row with the text; escape shows all"
    assert [row.number for row in view_of(session).rows] == [3]
    assert golds(press(session, "space")) == [MAIL]
    assert press(session, "1").notice == "no row 1"
    assert len(view_of(press(session, "escape")).rows) == 4


# --- undo ----------------------------------------------------------------------------------------


def test_undo_and_redo_walk_through_every_decision() -> None:
    session = session_of()
    drafts = [session.marking.draft]
    for keys in (["1"], ["3"], ["s", "space", "enter"], ["a"], ["a"], ["t", "x", "enter"]):
        drafts.append(press(session, *keys).marking.draft)
    for draft in reversed(drafts[:-1]):
        assert press(session, "u").marking.draft == draft
    assert press(session, "u").notice == "nothing to undo"
    for draft in drafts[1:]:
        assert press(session, "r").marking.draft == draft
    assert press(session, "r").notice == "nothing to redo"


def test_what_was_saved_can_be_undone_and_saved_again() -> None:
    desk = FakeDesk()
    session = press(session_of(desk=desk), "3", "w", "u", "w")
    assert [changes for _, changes, _ in desk.saved] == [
        {"gold_supports": [MAIL]}, {"gold_supports": []},
    ]  # fmt: skip
    assert golds(session) == []


# --- what the matcher finds -----------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.builds(
            RetrievedChunk,
            rel_path=st.text(min_size=1, max_size=6),
            heading_path=st.none() | st.text(max_size=12),
            text=st.none() | st.text(max_size=60),
            vault=st.none() | st.just("v"),
        ),
        min_size=1,
        max_size=3,
    ),
    st.lists(st.sampled_from(["1", "2", "s", "space", "enter", "j"]), max_size=12),
)
def test_what_is_marked_is_what_the_matcher_finds(
    chunks: list[RetrievedChunk], keys: list[str]
) -> None:
    """Of whatever chunks, under every setting of snippets."""
    from pytest_rageval.metrics.matching import matches_anchor
    from pytest_rageval.values.record import ScoreSettings

    session = press(session_of(CASES[0], desk=FakeDesk(chunks)), *keys)
    for gold in session.marking.draft.golds:
        for kind in ("off", "any", "all"):
            settings_ = ScoreSettings(snippets=kind)
            assert any(matches_anchor(gold, chunk, settings_) for chunk in chunks)
