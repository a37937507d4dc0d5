"""Keys in, parts of the page out, without a browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rageval.authoring.labelling.session import LabelSession, Mode
from pytest_rageval.authoring.labelling.view import HELP, view_of
from pytest_rageval.authoring.labelling.web.page import (
    CONFLICT,
    CONTROLS,
    STALE,
    Key,
    Shown,
    WebFace,
    announcement,
)
from tests.authoring.labelling.builders import (
    CASES,
    HOSTILE,
    file_session,
    press,
    session_of,
    write_cases,
)


def pressed(face: WebFace, *keys: str, text: str = "", revision: int | None = None) -> Shown:
    """Press keys on a page that is up to date, or on one of some revision."""
    shown = None
    for key in keys:
        at = face._revision if revision is None else revision
        shown = face.press(Key(key=key, text=text, revision=at))
    assert shown is not None
    return shown


def test_every_key_raises_the_revision_that_the_next_must_name() -> None:
    face = WebFace(session_of())
    face.page()
    first = pressed(face, "j", revision=0)
    assert (first.revision, first.stale) == (1, False)
    assert 'data-revision="1"' in first.html


def test_a_page_that_shows_something_older_changes_nothing_and_is_told() -> None:
    session = session_of()
    face = WebFace(session)
    pressed(face, "space")
    before = session.marking.draft
    stale = pressed(face, "space", revision=0)
    assert session.marking.draft == before
    assert (stale.stale, stale.alarm, stale.revision) == (True, STALE, 1)
    assert "✓</span> 1" in stale.html  # as it stands now
    assert pressed(face, "u", revision=stale.revision).alarm == ""


@pytest.mark.parametrize("revision", [-1, 5, 10**30])
def test_a_revision_that_never_was_is_stale(revision: int) -> None:
    assert pressed(WebFace(session_of()), "space", revision=revision).stale


def test_text_is_taken_only_where_text_is_asked_for() -> None:
    session = session_of()
    face = WebFace(session)
    pressed(face, "enter", text="not asked for")
    pressed(face, "t", text="not this either")
    pressed(face, "x", text="nor this")
    pressed(face, "backspace", "enter", text="a note")
    assert session.marking.draft.notes == "a note"


def test_text_that_is_too_long_is_cut() -> None:
    session = session_of()
    face = WebFace(session)
    pressed(face, "t")
    pressed(face, "enter", text="x" * 20_000)
    assert len(session.marking.draft.notes) == 10_000


def test_what_changed_is_said() -> None:
    face = WebFace(session_of())
    face.page()
    assert "row 1 is evidence" in pressed(face, "space").said
    assert pressed(face, "down").said == ""
    assert pressed(face, "n").said.endswith("case 2 of 3: What of mail?")
    pressed(face, "k", "s")
    assert pressed(face, "space").said == "sentence 1 picked"
    assert pressed(face, "space").said == "sentence 1 dropped"


def test_what_is_said_first_is_the_notice_alone() -> None:
    view = view_of(press(session_of(), "z"))
    assert announcement(view, None) == view.notice
    long = replace(view, notice="", case=replace(view.case, question="q" * 999), position=2)
    assert announcement(long, view) == f"case 2 of 3: {'q' * 200} [799 more characters]"


def test_hidden_characters_are_written_out_in_what_is_said() -> None:
    face = WebFace(session_of(CASES[0], {"id": "b", "question": HOSTILE}))
    face.page()
    said = pressed(face, "n").said
    assert "[U+202E]gnorw" in said
    assert "\x1b" not in said


def test_a_conflict_is_told_with_the_line_and_the_keys_for_it(tmp_path: Path) -> None:
    path = write_cases(tmp_path / "cases.jsonl")
    face = WebFace(file_session(path))
    pressed(face, "3")
    path.write_bytes(path.read_bytes().replace(b"retry?", b"RETRY <b>?"))
    shown = pressed(face, "w")
    assert shown.alarm == CONFLICT
    assert "RETRY &lt;b&gt;?" in shown.html
    assert CONFLICT in face.page()
    for key in "mt":
        assert f'data-key="{key}"' in shown.html
    assert pressed(face, "m").alarm == ""
    assert b"RETRY <b>?" in path.read_bytes()
    assert b"ops/mail.md" in path.read_bytes().splitlines()[0]


def test_the_end_says_what_was_saved_and_what_was_not(tmp_path: Path) -> None:
    face = WebFace(file_session(write_cases(tmp_path / "cases.jsonl")))
    pressed(face, "1", "w", "3")
    shown = pressed(face, "Q")
    assert "1 saved" in shown.html
    assert "retries" in shown.html
    assert "Done" in face.page()
    assert "Done" in pressed(face, "space").html


def test_a_row_that_the_cursor_is_not_on_is_shortened() -> None:
    long = "word " * 30_000
    session = session_of()
    assert session.marking.fetched is not None
    first, *rest = session.marking.fetched.chunks
    chunks = (replace(first, text=long), *(replace(chunk, text=long) for chunk in rest))
    session.marking.fetched = replace(session.marking.fetched, chunks=chunks)
    html = WebFace(session).page()
    assert html.count("100,000 more characters") == 1
    assert html.count("149,720 more characters") == 3


def test_a_gold_of_long_quotes_leaves_room_for_the_actions() -> None:
    session = session_of()
    gold = {"rel_path": "a.md", "snippets": ["word " * 200]}
    session.marking.decide(session.marking.draft.with_golds([gold]))
    html = WebFace(session).page().partition('<section id="golds"')[2].partition("</section>")[0]
    assert "more characters]" in html
    assert len(html) < 600


def test_every_mode_has_its_controls_and_every_key_of_the_help_one() -> None:
    assert set(CONTROLS) == {mode.value for mode in Mode} - {"closed"} | {"found"}
    keys = set(CONTROLS["browse"])
    named = {key.strip(",") for keys_, _ in HELP for key in keys_.split()}
    assert named - keys == {"j", "k", "up", "down", "1", "to", "9"}


def test_a_review_has_buttons_to_reject_and_to_edit_a_case(tmp_path: Path) -> None:
    path = write_cases(tmp_path / "cases.jsonl")
    face = WebFace(file_session(path, review=True))
    page = face.page()
    assert "Reject the case" in page
    assert "How to edit the case" in page
    assert "Reject the case" not in WebFace(session_of()).page()
    assert "rageval case edit" in pressed(face, "e").said
    asked = pressed(face, "d")
    assert "Remove this case from the file?" in asked.html
    assert all(f'data-key="{key}"' in asked.html for key in ("y", "escape"))
    assert "case 1 of 2" in pressed(face, "y").said
    assert b'"retries"' not in path.read_bytes()
    assert "0 saved, 1 removed" in pressed(face, "Q").html


def test_every_control_does_something() -> None:
    assert len(CONTROLS["browse"]) > 10
    for key in CONTROLS["browse"]:
        session = session_of()
        session.press(key)
        assert "no key" not in session.notice


def test_a_search_among_sentences_is_announced_and_so_is_its_end() -> None:
    face = WebFace(session_of())
    face.page()
    assert [pressed(face, key).said for key in ("s", "/")] == ["", ""]
    found = pressed(face, "enter", text="gives up")
    assert found.said == '1 sentence with "gives up"; escape shows all'
    assert "Show all sentences" in found.html
    assert pressed(face, "escape").said == "all sentences"
    assert pressed(face, "escape").said == ""


def test_a_filter_that_nothing_holds_shows_no_list() -> None:
    session: LabelSession = session_of()
    press(session, "/", "q", "q", "q", "enter")
    html = WebFace(session).page()
    assert "No row is shown." in html
    assert "listbox" not in html.partition("<script>")[0].partition("</style>")[2]
