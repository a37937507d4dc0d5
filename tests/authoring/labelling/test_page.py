"""Keys in, parts of the page out, without a browser."""

from __future__ import annotations

import html
from pathlib import Path

from pytest_rageval.authoring.keyed.page import STALE, Key, Shown
from pytest_rageval.authoring.labelling.page import (
    CONFLICT,
    CONTROLS,
    WebFace,
)
from pytest_rageval.authoring.labelling.session import Mode
from pytest_rageval.authoring.labelling.view import HELP
from tests.authoring.labelling.builders import (
    CASES,
    HOSTILE,
    file_session,
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


def test_a_turn_is_shown_with_the_messages_before_it_as_text(tmp_path: Path) -> None:
    harm = "<img src=x onerror=alert(1)>"
    turns = [{"question": f"Where {harm}?", "expected_answer": harm}, {"question": "And when?"}]
    session = file_session(write_cases(tmp_path / "t.jsonl", [{"id": "t", "turns": turns}]))
    shown = pressed(WebFace(session), "n").html
    assert session.marking.item.case.id == "t#2"
    text = html.escape(harm)
    assert f"user: Where {text}?" in shown
    assert f"assistant: {text}" in shown
    assert harm not in shown
