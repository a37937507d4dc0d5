"""The same keys write the same bytes in the terminal app, in a browser and without either."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from textual.app import App

from pytest_rageval.authoring.labelling.session import LabelSession
from pytest_rageval.values.reply import RetrievedChunk
from tests.authoring.labelling.builders import (
    CASES,
    HOSTILE,
    FakeDesk,
    file_session,
    session_of,
    write_cases,
)
from tests.authoring.labelling.web.serving import press, serving
from tests.build.browser import chromium

Drive = Callable[[LabelSession, Sequence[str]], str]
"""Presses keys through a face and returns what it showed."""

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


def drive_directly(session: LabelSession, keys: Sequence[str]) -> str:
    for key in keys:
        session.press(key)
    return ""


def drive_terminal(session: LabelSession, keys: Sequence[str]) -> str:
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


def drive_web(session: LabelSession, keys: Sequence[str]) -> str:
    with serving(session) as served, chromium() as browser:
        tab = browser.new_page()
        tab.goto(served.address)
        press(tab, keys)
        tab.wait_for_selector("main[data-mode=closed]")
        return tab.inner_text("body")


def bytes_after(tmp_path: Path, drive: Drive, keys: Sequence[str]) -> tuple[bytes, str]:
    path = write_cases(tmp_path / "cases.jsonl")
    shown = drive(file_session(path), keys)
    return path.read_bytes(), shown


@pytest.mark.parametrize("log", KEY_LOGS)
def test_the_same_keys_write_the_same_bytes(tmp_path: Path, log: str) -> None:
    expected, _ = bytes_after(tmp_path, drive_directly, KEY_LOGS[log])
    found, _ = bytes_after(tmp_path, drive_terminal, KEY_LOGS[log])
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


def test_what_others_wrote_reaches_no_terminal_raw(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    case = {**CASES[1], "question": HOSTILE, "notes": HOSTILE, "expected_key_facts": [HOSTILE]}
    keys = ["4", "s", "escape", "j", "/", "m", "a", "r", "k", "u", "p", "enter", "Q"]
    shown = drive_terminal(file_session(write_cases(path, [case])), keys)
    assert "[bold red]markup[/]" in shown
    acting = {c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Cs"}} - {"\n"}
    assert acting == set()
    assert "::error::" not in shown


def test_what_is_selected_is_told_in_text(tmp_path: Path) -> None:
    _, shown = bytes_after(tmp_path, drive_terminal, ["3", "s", "space", "escape", "Q"])
    assert re.search(r"^> \[x\]  3 ops/mail\.md", shown, re.MULTILINE)
    assert re.search(r"^  \[ \]  1 ops/queue\.md", shown, re.MULTILINE)
    assert re.search(r"^> \[x\]  1 Mail is sent once\.", shown, re.MULTILINE)


def test_no_line_is_wider_than_the_screen(tmp_path: Path) -> None:
    wide = "日本語のとても長い質問" * 30 + "x" * 300
    case = {"id": "i" * 200, "question": wide, "notes": wide, "expected_answer": wide}
    path = write_cases(tmp_path / "cases.jsonl", [case])
    shown = drive_terminal(file_session(path), ["1", "3", "g", "1", "+", "2", "enter", "?", "Q"])
    widths = [
        sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
        for line in shown.splitlines()
    ]
    assert max(widths) <= 80


def test_the_last_heading_of_a_long_path_is_shown() -> None:
    heading = "# The same long title > ## The same long section > ### The one that counts"
    chunks = [RetrievedChunk(rel_path="guides/a.md", heading_path=heading, rank=1)]
    shown = drive_terminal(session_of(desk=FakeDesk(chunks)), ["k", "Q"])
    (row,) = {line for line in shown.splitlines() if line.startswith("> [ ]  1")}
    assert row.rstrip().endswith("> ### The one that counts")


def test_the_current_row_is_among_those_shown() -> None:
    chunks = [RetrievedChunk(rel_path=f"{n}.md", rank=n) for n in range(1, 61)]
    shown = drive_terminal(session_of(desk=FakeDesk(chunks)), ["k", "end", "k", "Q"])
    assert "> [ ] 60 60.md" in shown
    assert "> [ ] 59 59.md" in shown


def test_the_current_sentence_is_among_those_shown() -> None:
    text = "\n".join(f"- Sentence {n} says something." for n in range(1, 101))
    chunks = [RetrievedChunk(rel_path="a.md", text=text, rank=1)]
    shown = drive_terminal(session_of(desk=FakeDesk(chunks)), ["s", "end", "k", "q", "Q"])
    assert "> [ ] 100 Sentence 100 says" in shown
