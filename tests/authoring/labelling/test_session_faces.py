"""The same keys write the same bytes, whatever the face."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual.app import App

from pytest_rageval.authoring.labelling.plain import run_plain
from pytest_rageval.authoring.labelling.session import TEXT_MODES, LabelSession
from pytest_rageval.authoring.labelling.view import view_of
from tests.authoring.labelling.builders import CASES, HOSTILE, file_session, write_cases
from tests.authoring.labelling.web.serving import press, serving
from tests.build.browser import chromium

Drive = Callable[[LabelSession, LabelSession, Sequence[str]], str]
"""Presses keys through a face and returns what it showed; the second session is a copy on another
file, to look ahead with."""

KEY_LOGS: dict[str, list[str]] = {
    "marks": ["space", "3", "j", "enter", "q"],
    "snippets": ["s", "j", "space", "enter", "down", "s", "2", "enter", "w", "q"],
    "groups": ["1", "3", "g", "1", "+", "2", "enter", "n", "5", "q", "y"],
    "notes": ["t", "a", "space", "é", "x", "backspace", "!", "enter", "enter", "enter", "q"],
    "filter": ["/", "m", "a", "i", "l", "enter", "space", "escape", "a", "u", "q", "y"],
    "undo": ["1", "3", "u", "u", "r", "enter", "p", "u", "n", "a", "Q"],
    "answerable": ["n", "a", "n", "a", "4", "s", "space", "enter", "q", "y"],
    "nothing": ["j", "k", "?", "escape", "z", "R", "Q"],
}


def drive_directly(session: LabelSession, copy: LabelSession, keys: Sequence[str]) -> str:
    for key in keys:
        session.press(key)
    return ""


def drive_plain(session: LabelSession, copy: LabelSession, keys: Sequence[str]) -> str:
    shown: list[str] = []
    run_plain(session, plain_lines(copy, keys), shown.append)
    return "\n".join(shown)


def plain_lines(copy: LabelSession, keys: Sequence[str]) -> list[str]:
    """Write keys as a person would type them: text where text is asked for is one line."""
    lines = [""]
    for key in keys:
        if copy.mode in TEXT_MODES:
            if key == "backspace":
                lines[-1] = lines[-1][:-1]
            elif key == "enter":
                lines.append("")
            elif key == "space" or len(key) == 1:
                lines[-1] += " " if key == "space" else key
        else:
            lines[-1] = "" if key == "enter" and not copy.marking.choice else key
            lines.append("")
        copy.press(key)
    return lines[:-1]


def drive_terminal(session: LabelSession, copy: LabelSession, keys: Sequence[str]) -> str:
    from pytest_rageval.authoring.labelling.app import LabelApp

    app = LabelApp(session)

    async def run() -> str:
        shown = ""
        async with app.run_test(size=(80, 24)) as pilot:
            for key in keys:
                while app.waiting and app.is_running:
                    await pilot.pause(0.005)
                shown += screen_text(app)
                await pilot.press(key)
            while app.waiting and app.is_running and not session.closed:
                await pilot.pause(0.005)
        return shown

    shown = asyncio.run(run())
    if app.failure is not None:
        raise app.failure
    return shown


def screen_text(app: App[None]) -> str:
    strips = app.screen._compositor.render_strips()
    return "".join("".join(part.text for part in strip).rstrip() + "\n" for strip in strips)


def drive_web(session: LabelSession, copy: LabelSession, keys: Sequence[str]) -> str:
    with serving(session) as served, chromium() as browser:
        tab = browser.new_page()
        tab.goto(served.address)
        press(tab, keys)
        tab.wait_for_selector("main[data-mode=closed]")
        return tab.inner_text("body")


TERMINALS = [
    pytest.param(drive_plain, id="plain"),
    pytest.param(drive_terminal, id="terminal"),
]


def bytes_after(tmp_path: Path, drive: Drive, keys: Sequence[str]) -> tuple[bytes, str]:
    paths = [tmp_path / f"{name}.jsonl" for name in ("worked-on", "copy")]
    session, copy = (file_session(write_cases(path)) for path in paths)
    shown = drive(session, copy, keys)
    return paths[0].read_bytes(), shown


@pytest.mark.parametrize("log", KEY_LOGS)
@pytest.mark.parametrize("drive", TERMINALS)
def test_the_same_keys_write_the_same_bytes(tmp_path: Path, drive: Drive, log: str) -> None:
    expected, _ = bytes_after(tmp_path, drive_directly, KEY_LOGS[log])
    found, _ = bytes_after(tmp_path, drive, KEY_LOGS[log])
    assert found == expected


@pytest.mark.slow
def test_a_browser_writes_the_same_bytes(tmp_path: Path) -> None:
    expected, _ = bytes_after(tmp_path, drive_directly, KEY_LOGS["groups"])
    found, _ = bytes_after(tmp_path, drive_web, KEY_LOGS["groups"])
    assert found == expected


def test_the_key_logs_write_something(tmp_path: Path) -> None:
    before = write_cases(tmp_path / "cases.jsonl").read_bytes()
    for log, keys in KEY_LOGS.items():
        changed = bytes_after(tmp_path, drive_directly, keys)[0] != before
        assert changed == (log != "nothing")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.sampled_from([*"jkasgt/urwnpqy?12345mx", "space", "enter", "down"]), max_size=30)
)
def test_any_keys_write_the_same_bytes_over_lines(tmp_path: Path, keys: list[str]) -> None:
    closed = [*keys, "enter", "enter", "Q"]
    expected, _ = bytes_after(tmp_path, drive_directly, closed)
    assert bytes_after(tmp_path, drive_plain, closed)[0] == expected


@pytest.mark.parametrize("drive", TERMINALS)
def test_what_others_wrote_reaches_no_terminal_raw(tmp_path: Path, drive: Drive) -> None:
    path = tmp_path / "cases.jsonl"
    case = {**CASES[1], "question": HOSTILE, "notes": HOSTILE, "expected_key_facts": [HOSTILE]}
    keys = ["4", "s", "escape", "j", "/", "m", "a", "r", "k", "u", "p", "enter", "Q"]
    session, copy = (file_session(write_cases(path, [case])) for _ in range(2))
    shown = drive(session, copy, keys)
    assert "[bold red]markup[/]" in shown
    acting = {c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Cs"}} - {"\n"}
    assert acting == set()
    assert "::error::" not in shown


@pytest.mark.parametrize("drive", TERMINALS)
def test_what_is_selected_is_told_in_text(tmp_path: Path, drive: Drive) -> None:
    _, shown = bytes_after(tmp_path, drive, ["3", "s", "space", "escape", "Q"])
    assert re.search(r"^> \[x\]  3 ops/mail\.md", shown, re.MULTILINE)
    assert re.search(r"^  \[ \]  1 ops/queue\.md", shown, re.MULTILINE)
    assert re.search(r"^> \[x\]  1 Mail is sent once\.", shown, re.MULTILINE)


@pytest.mark.parametrize("drive", TERMINALS)
def test_no_line_is_wider_than_the_screen(tmp_path: Path, drive: Drive) -> None:
    wide = "日本語のとても長い質問" * 30 + "x" * 300
    case = {"id": "i" * 200, "question": wide, "notes": wide, "expected_answer": wide}
    path = write_cases(tmp_path / "cases.jsonl", [case])
    session, copy = file_session(path), file_session(path)
    shown = drive(session, copy, ["1", "3", "g", "1", "+", "2", "enter", "?", "Q"])
    widths = [
        sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
        for line in shown.splitlines()
    ]
    assert max(widths) <= 80


# --- over lines ----------------------------------------------------------------------------------


def plain(tmp_path: Path, *lines: str) -> tuple[LabelSession, str]:
    session = file_session(write_cases(tmp_path / "cases.jsonl"))
    shown: list[str] = []
    run_plain(session, lines, shown.append)
    return session, "\n".join(shown)


def test_several_keys_stand_on_one_line_and_text_follows_its_key(tmp_path: Path) -> None:
    session, _ = plain(tmp_path, "1 3 g 1+2", "t a note of words", "w")
    draft = session.work.draft
    assert (draft.groups, draft.notes, len(draft.golds)) == (((0, 1),), "a note of words", 2)
    assert session.unsaved == ()


@pytest.mark.parametrize(("line", "rest"), [("3 g 1", "1"), ("9 g 1+2 3", "1+2 3")])
def test_what_follows_a_refused_g_is_left_out(tmp_path: Path, line: str, rest: str) -> None:
    session, shown = plain(tmp_path, line)
    assert len(session.work.draft.golds) == line.startswith("3")
    assert shown.endswith(f"groups need at least two golds\nleft out: {rest}")


def test_what_follows_a_refused_s_marks_nothing(tmp_path: Path) -> None:
    session, shown = plain(tmp_path, "n", "goto:5 s 1")
    assert len(session.work.draft.golds) == 2
    assert "left out: 1" in shown


def test_a_search_among_sentences_prints_those_found_again(tmp_path: Path) -> None:
    session, shown = plain(tmp_path, "s", "/ gives up", "space", "", "w")
    assert shown.count("> [ ]  2 After that it gives up.") == 1
    assert '1 sentence with "gives up"; escape shows all' in shown
    assert [gold["snippets"] for gold in session.work.draft.golds] == [["After that it gives up."]]
    assert session.unsaved == ()


def test_what_follows_a_save_that_met_a_conflict_decides_nothing(tmp_path: Path) -> None:
    path = write_cases(tmp_path / "cases.jsonl")
    session = file_session(path)
    path.write_bytes(path.read_bytes().replace(b"retry?", b"RETRY?"))
    run_plain(session, ["3 w t a note"], lambda line: None)
    assert view_of(session).conflict
    assert session.unsaved == ("retries",)


def test_the_whole_text_of_a_row_is_shown_when_asked_for(tmp_path: Path) -> None:
    session, shown = plain(tmp_path, "v 2")
    assert "The pause doubles every time. It ends at one hour.\n" in shown
    assert view_of(session).current is not None
    assert session.marking.row == 1


def test_lines_that_end_early_leave_the_case_unsaved(tmp_path: Path) -> None:
    before = write_cases(tmp_path / "cases.jsonl").read_bytes()
    session, _ = plain(tmp_path, "1")
    assert (session.closed, session.unsaved) == (False, ("retries",))
    assert (tmp_path / "cases.jsonl").read_bytes() == before


def test_a_target_that_is_down_is_told_and_marks_can_still_be_removed(tmp_path: Path) -> None:
    path = write_cases(tmp_path / "cases.jsonl", [{**CASES[1], "question": "down?"}])
    shown: list[str] = []
    run_plain(file_session(path), ["1 q y"], shown.append)
    assert "no chunks: 503 from http://localhost" in shown
    assert b'"gold_supports": [{"rel_path": "gone.md"' in path.read_bytes()


def test_a_conflict_is_shown_with_the_line_as_it_is_now(tmp_path: Path) -> None:
    path = write_cases(tmp_path / "cases.jsonl")
    session = file_session(path)
    path.write_bytes(path.read_bytes().replace(b"retry?", b"RETRY?"))
    shown: list[str] = []
    run_plain(session, ["3", "w", "m", "Q"], shown.append)
    text = " ".join("\n".join(shown).split())
    assert "CONFLICT: another program changed the line" in text
    assert "queue RETRY?" in text
    assert b"RETRY?" in path.read_bytes()
    assert b"ops/mail.md" in path.read_bytes().splitlines()[0]
