"""The same keys write the same bytes in the terminal app, in a browser and without either."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from textual.app import App

from pytest_rageval.authoring.labelling.session import LabelSession
from tests.authoring.labelling.builders import (
    CASES,
    HOSTILE,
    file_session,
    serving,
    write_cases,
)
from tests.build.browser import chromium
from tests.build.key_pages import press, settled

Drive = Callable[[LabelSession, Sequence[str]], str]
"""Presses keys through a face and returns what it showed."""

KEY_LOGS: dict[str, list[str]] = {
    "groups": [
        "1",
        "3",
        "s",
        "space",
        "enter",
        "g",
        "1",
        "+",
        "2",
        "enter",
        "u",
        "r",
        "n",
        "5",
        "q",
        "y",
    ],
    "notes": ["t", "a", "space", "é", "x", "backspace", "!", "enter", "enter", "enter", "q"],
    "filter": ["/", "m", "a", "i", "l", "enter", "space", "escape", "a", "u", "q", "y"],
}


def drive_directly(session: LabelSession, keys: Sequence[str]) -> str:
    for key in keys:
        session.press(key)
    return ""


def drive_terminal(session: LabelSession, keys: Sequence[str]) -> str:
    from pytest_rageval.authoring.keyed.app import KeyApp
    from pytest_rageval.authoring.labelling.screen import screen_of

    app = KeyApp(session, lambda: screen_of(session))

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
        for key in keys:
            press(tab, [key])
            settled(tab)
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


def test_what_others_wrote_reaches_no_terminal_raw(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    case = {**CASES[1], "question": HOSTILE, "notes": HOSTILE, "expected_key_facts": [HOSTILE]}
    keys = ["4", "s", "escape", "j", "/", "m", "a", "r", "k", "u", "p", "enter", "Q"]
    shown = drive_terminal(file_session(write_cases(path, [case])), keys)
    assert "[bold red]markup[/]" in shown
    assert "[ ]  1 ops/queue.md" in shown
    acting = {c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Cs"}} - {"\n"}
    assert acting == set()
    assert "::error::" not in shown
