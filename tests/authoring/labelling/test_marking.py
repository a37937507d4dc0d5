from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.authoring.labelling.draft import Draft, quotable
from pytest_rageval.authoring.labelling.session import LabelSession, Mode
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


def test_a_number_marks_its_row_and_unmarks_it_again() -> None:
    session = press(session_of(), "3")
    assert (golds(session), session.marking.row) == ([MAIL], 2)
    assert golds(press(session, "3")) == []


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


def test_a_vault_is_part_of_the_anchor_where_the_target_reports_one() -> None:
    session = press(session_of(desk=FakeDesk([replace(CHUNKS[2], vault="work")])), "space")
    assert golds(session) == [{**MAIL, "vault": "work"}]


def test_golds_of_the_file_are_marked_already() -> None:
    session = press(session_of(), "n")
    assert marked(session) == [3, 5]


def test_golds_that_are_not_retrieved_are_listed_and_kept_unless_removed() -> None:
    desk = FakeDesk()
    session = press(session_of(desk=desk), "n")
    row = view_of(session).rows[-1]
    assert (row.place, row.tags) == ("gone.md  # Gone", ("not retrieved",))
    press(session, "1", "w")
    assert desk.saved[-1][1]["gold_supports"][:2] == [*CASES[1]["gold_supports"]]
    press(session, "5", "w")
    assert desk.saved[-1][1]["gold_supports"] == [CASES[1]["gold_supports"][0], RETRIES]
    press(session, "5", "w")
    assert desk.saved[-1][1]["gold_supports"][1] == CASES[1]["gold_supports"][1]


def test_a_gold_that_is_taken_out_and_marked_again_is_as_it_was() -> None:
    session = press(session_of(), "n", "3", "3")
    assert golds(session) == CASES[1]["gold_supports"]


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


def test_each_chunk_of_a_section_can_be_quoted_by_a_gold_of_its_own() -> None:
    session = press(session_of(), "s", "1", "enter", "j", "s", "2", "enter")
    assert golds(session) == [
        {**RETRIES, "snippets": ["The queue retries five times."]},
        {**RETRIES, "snippets": ["It ends at one hour."]},
    ]
    assert marked(session) == [1, 2]


def test_a_snippet_can_be_taken_back() -> None:
    session = press(session_of(), "1", "s", "1", "3", "enter", "s", "1", "enter")
    assert golds(session) == [{**RETRIES, "snippets": ["an item"]}]
    press(session, "s", "3", "enter")
    assert golds(session) == [{**RETRIES, "snippets": []}]


def test_two_golds_of_a_section_that_quote_nothing_any_more_become_one() -> None:
    session = press(session_of(), "s", "1", "enter", "j", "s", "2", "enter")
    press(session, "s", "2", "enter", "k", "s", "1", "enter")
    assert golds(session) == [{**RETRIES, "snippets": []}]


def test_escape_leaves_snippets_as_they_were() -> None:
    session = press(session_of(), "s", "space", "escape")
    assert (golds(session), session.mode, session.marking.choice) == ([], Mode.BROWSE, None)
    assert session.notice == "the quotes stay as they were: enter keeps what is picked"
    assert press(session, "s", "escape").notice == ""


def test_a_part_of_a_sentence_that_is_quoted_already_stays_as_it_is() -> None:
    gold = {**RETRIES, "snippets": ["retries FIVE"]}
    session = press(session_of({"id": "a", "question": "q", "gold_supports": [gold]}), "s")
    assert [p.marked for p in view_of(session).passages] == [True, False, False]
    press(session, "2", "enter")
    assert golds(session)[0]["snippets"] == ["retries FIVE", "After that it gives up."]


@pytest.mark.parametrize(
    ("quote", "picked"),
    [
        ("retries five times. After that it gives", [1, 2]),
        ("The queue retries five times. After that it gives up. an item", [1, 2, 3]),
        ("it gives up. an", [2, 3]),
        ("it gives up and stops", []),
    ],
)
def test_a_quote_of_several_sentences_is_shown_and_dropped_with_all_of_them(
    quote: str, picked: list[int]
) -> None:
    gold = {**RETRIES, "snippets": [quote]}
    chunk = replace(CHUNKS[0], text_truncated=True)
    case = {"id": "a", "question": "q", "gold_supports": [gold]}
    session = press(session_of(case, desk=FakeDesk([chunk])), "s")
    assert [p.number for p in view_of(session).passages if p.marked] == picked
    first, *rest = picked or [0]
    press(session, *map(str, rest), "enter")
    assert golds(session)[0]["snippets"] == [quote]
    press(session, "s", *map(str, picked), "enter")
    assert golds(session)[0]["snippets"] == ([] if first else [quote])


def test_a_chunk_without_sentences_has_nothing_to_quote() -> None:
    session = session_of(desk=FakeDesk([replace(CHUNKS[0], text="# Heading\n---\n")]))
    assert "no sentence to quote" in press(session, "s").notice
    session = session_of(desk=FakeDesk([replace(CHUNKS[0], text=None)]))
    assert "no sentence to quote" in press(session, "s").notice


LONG = " ".join(f"Item {i} is kept." for i in range(1, 451))


def long_session() -> LabelSession:
    """One document of 450 sentences, of which some are to be quoted."""
    chunk = RetrievedChunk(rel_path="all.md", text=LONG)
    return press(session_of(desk=FakeDesk(chunks=[chunk])), "s")


def shown(session: LabelSession) -> tuple[int, int, int]:
    """First, last and current sentence."""
    passages = view_of(session).passages
    current = next(passage.number for passage in passages if passage.current)
    return passages[0].number, passages[-1].number, current


def test_of_a_long_document_the_sentences_around_the_cursor_are_shown() -> None:
    session = long_session()
    assert shown(session) == (1, 200, 1)
    assert view_of(session).part == "200 of 450 sentences; / searches all of them"
    assert shown(press(session, "end")) == (401, 450, 450)
    assert view_of(session).part == "50 of 450 sentences; / searches all of them"
    assert shown(press(session, "down")) == (401, 450, 450)
    assert shown(press(session, "201", "up")) == (1, 200, 200)
    assert shown(press(session, "home", "up")) == (1, 200, 1)
    assert golds(press(session, "enter")) == [
        {"rel_path": "all.md", "snippets": ["Item 201 is kept."]},
    ]  # fmt: skip
    assert shown(press(session, "s")) == (201, 400, 201)


def test_sentences_picked_in_several_searches_are_quoted_together() -> None:
    session = long_session()
    typed(press(session, "/"), "ITEM 44")
    assert [p.number for p in view_of(session).passages] == [44, *range(440, 450)]
    assert view_of(session).part == '11 sentences with "ITEM 44"; escape shows all'
    press(session, "j", "space", "449")
    assert press(session, "3").notice == "no sentence 3"
    typed(press(session, "/"), "item 31 ")
    press(session, "space", "enter")
    assert golds(session)[0]["snippets"] == [
        "Item 31 is kept.", "Item 440 is kept.", "Item 449 is kept.",
    ]  # fmt: skip
    assert (session.mode, session.marking.filter) == (Mode.BROWSE, "")


def test_escape_ends_a_search_among_sentences_and_stays_on_the_sentence() -> None:
    session = typed(press(long_session(), "/"), "item 333")
    press(session, "space", "escape")
    assert (session.mode, shown(session)) == (Mode.SNIPPET, (201, 400, 333))
    assert session.unsaved == ("retries",)
    typed(press(session, "/"), "is kept")
    assert shown(session) == (201, 400, 333)
    typed(press(session, "/"), "")
    assert view_of(session).part == "200 of 450 sentences; / searches all of them"
    assert press(session, "/", "x", "escape").mode is Mode.SNIPPET
    press(session, "escape")
    assert (session.mode, golds(session)) == (Mode.BROWSE, [])


def test_a_sentence_without_an_end_is_shown_by_its_beginning_and_quoted_whole() -> None:
    text = "word " * 1_000 + "end."
    session = press(
        session_of(desk=FakeDesk(chunks=[RetrievedChunk(rel_path="a", text=text)])), "s"
    )
    [passage] = view_of(session).passages
    assert passage.text.endswith(" [3,004 more characters]")
    assert golds(press(session, "1", "enter"))[0]["snippets"] == [text]


def test_a_search_that_no_sentence_contains_changes_nothing() -> None:
    session = typed(press(long_session(), "end", "/"), "nowhere")
    assert session.notice == "no sentence with the text"
    assert shown(session) == (401, 450, 450)


def test_every_passage_is_found_in_its_chunk_wherever_the_one_before_it_was() -> None:
    chunk = RetrievedChunk(rel_path="a.md", text="b c. a b c. d")
    passages = ["a b c.", "b c.", "c. d", "gone", " ", "a b"]
    assert quotable(chunk, passages) == ["a b c.", "b c.", "c. d", "a b"]


# --- groups, notes, filter -----------------------------------------------------------------------


class _Document(str):
    """A text that counts how often it is read as a whole."""

    n_read = 0

    def translate(self, table: Any, /) -> str:
        self.n_read += 1
        return super().translate(table)

    def __format__(self, spec: str, /) -> str:
        self.n_read += 1
        return super().__format__(spec)


def test_a_whole_document_is_not_read_again_for_each_sentence_and_move() -> None:
    document = _Document("".join(f"Item {i} is kept. " for i in range(100)))
    desk = FakeDesk(chunks=[RetrievedChunk(rel_path="all.md", text=document)])
    session = press(session_of(desk=desk), "s")
    assert session.marking.choice is not None
    assert len(session.marking.choice.passages) == 100
    assert document.n_read == 1
    press(session, "escape", "down", "up")
    view_of(session)
    assert document.n_read == 1
    typed(press(session, "/"), "item 7")
    n_read = document.n_read
    assert n_read > 1
    view_of(press(session, "down", "up", "home", "end"))
    assert document.n_read == n_read


def test_a_document_is_read_once_for_each_gold_that_quotes_it() -> None:
    document = _Document("".join(f"Item {i} is kept. " for i in range(100)))
    session = session_of(desk=FakeDesk(chunks=[RetrievedChunk(rel_path="a.md", text=document)]))
    view_of(press(session, "s", "3", "enter"))
    n_read = document.n_read
    for key in ("down", "up", "u", "r", "a", "u"):
        view_of(press(session, key))
    assert marked(session) == [1]
    assert document.n_read == n_read


def test_groups_are_written_as_numbers_of_golds() -> None:
    session = typed(press(session_of(), "1", "3", "g"), "1+2, 2")
    assert session.marking.draft.groups == ((0, 1), (1,))
    assert view_of(session).groups == "1+2, 2"
    assert typed(press(session, "g"), "-").marking.draft.groups is None


@pytest.mark.parametrize("text", ["3", "0", "1+", "x", "1;2", "-1", "1 2"])
def test_groups_that_cannot_be_read_change_nothing(text: str) -> None:
    session = typed(press(session_of(), "1", "3", "g"), text)
    assert session.marking.draft.groups is None
    assert "expected the numbers of golds from 1 to 2" in session.notice


def test_groups_need_two_golds() -> None:
    session = press(session_of(), "1", "g")
    assert (session.mode, session.notice) == (Mode.BROWSE, "groups need at least two golds")


def test_a_gold_that_goes_leaves_its_groups() -> None:
    session = press(session_of(), "n", "5")
    assert session.marking.draft.groups == ((0,),)
    assert "the group 1+2 needs only 1 now; g sets groups again" in session.notice
    session.press("3")
    assert session.marking.draft.groups is None
    assert "the group 1 is gone" in session.notice


def test_what_is_left_of_a_group_is_told_by_the_numbers_golds_have_now() -> None:
    session = press(session_of(), "n", "1")
    typed(press(session, "g"), "1+2+3, 3")
    assert "the group 1+2+3 needs only 1+2 now; g sets" in press(session, "3").notice
    assert session.marking.draft.groups == ((0, 1), (1,))


def test_a_gold_in_no_group_is_asked_about_once_before_it_is_saved() -> None:
    desk = FakeDesk()
    session = press(session_of(desk=desk), "n", "1", "enter")
    assert session.notice.startswith("gold 3 is in no group and so not needed (g sets groups)")
    assert (desk.saved, session.index) == ([], 1)
    assert press(session, "enter").index == 2
    assert [case for case, _, _ in desk.saved] == ["marked"]


def test_groups_set_after_the_question_are_saved_by_one_enter() -> None:
    session = press(session_of(), "n", "1", "enter", "g")
    assert press(typed(session, "1+2+3"), "enter").index == 2


def test_groups_are_confirmed_with_the_documents_they_name() -> None:
    session = typed(press(session_of(), "1", "3", "g"), "1+2, 2")
    assert session.notice == "enough together: 1 ops/queue.md + 2 ops/mail.md, or 2 ops/mail.md"


def test_a_note_replaces_the_old_one() -> None:
    session = press(session_of(), "n", "t")
    assert typed(session, "a  new one").marking.draft.notes == "a new one"
    assert typed(press(session, "t"), "").marking.draft.notes == "a new one"
    assert typed(press(session, "t"), "-").marking.draft.notes == ""


def test_keys_of_other_modes_are_text_where_text_is_typed() -> None:
    session = press(session_of(), "t", "q", "u", "x", "backspace", "1", "down", "enter")
    assert session.marking.draft.notes == "qu1"
    assert press(session, "t", "z", "escape").marking.draft.notes == "qu1"


def test_pasted_text_is_typed_only_where_text_is_asked_for() -> None:
    session = session_of()
    session.type("q")
    session.press("t")
    session.type("two\nlines \ud800")
    session.press("enter")
    assert (session.marking.draft.notes, session.closed) == ("two lines ", False)


def test_a_filter_shows_the_rows_that_hold_a_text_under_their_numbers() -> None:
    session = typed(press(session_of(), "/"), "MAIL")
    assert session.notice == "1 row with the text; escape shows all"
    assert [row.number for row in view_of(session).rows] == [3]
    assert golds(press(session, "space")) == [MAIL]
    assert press(session, "1").notice == "no row 1"
    assert len(view_of(press(session, "escape")).rows) == 4


def test_a_filter_finds_what_is_decomposed_or_hyphenated_for_its_line() -> None:
    chunks = [replace(CHUNKS[2], text=unicodedata.normalize("NFD", "Die Über\u00adgröße"))]
    session = typed(press(session_of(desk=FakeDesk(chunks)), "/"), "übergröße")
    assert [row.number for row in view_of(session).rows] == [1]


def test_a_filter_without_a_hit_leaves_nothing_to_mark() -> None:
    session = typed(press(session_of(), "/"), "nowhere")
    assert press(session, "space").notice == "nothing to mark"
    assert view_of(press(session, "j", "end", "s")).rows == ()


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


def test_a_new_decision_ends_what_could_be_redone() -> None:
    session = press(session_of(), "1", "u", "3", "r")
    assert golds(session) == [MAIL]


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
    from pytest_rageval.authoring.labelling.draft import anchor_of
    from pytest_rageval.metrics.matching import matches_anchor
    from pytest_rageval.values.record import ScoreSettings

    session = press(session_of(CASES[0], desk=FakeDesk(chunks)), *keys)
    for gold in session.marking.draft.golds:
        anchor = anchor_of(gold)
        for kind in ("off", "any", "all"):
            settings_ = ScoreSettings(snippets=kind)
            assert any(matches_anchor(anchor, chunk, settings_) for chunk in chunks)


def test_a_mark_of_a_paged_chunk_names_its_pages_and_no_other_page() -> None:
    from pytest_rageval.authoring.labelling.draft import gold_for, matches, same_section
    from pytest_rageval.values.record import ScoreSettings

    settings = ScoreSettings()
    twelve, forty = (
        RetrievedChunk(rel_path="m.pdf", text=f"page {page}", pages=(page,)) for page in (12, 40)
    )
    gold = gold_for(twelve)
    assert gold == {"rel_path": "m.pdf", "pages": [12]}
    assert matches(gold, twelve, settings)
    assert same_section(gold, twelve, settings)
    assert not matches(gold, forty, settings)
    assert not same_section(gold, forty, settings)
