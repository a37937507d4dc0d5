"""The terminal app in a real terminal of 80 columns and 24 lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.build.files import write_lines
from tests.build.tmux import Terminal, needs_tmux
from tests.server.builders import NOTES, write_vault

pytestmark = [pytest.mark.slow, needs_tmux]

HOSTILE = "Which?\x1b[2J \u202eesrever [bold red]markup[/]"


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    write_vault(tmp_path / "vault", NOTES)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.rageval.target]\nvault = "vault"\n', encoding="utf-8"
    )
    path = tmp_path / "cases.jsonl"
    lines = [
        {"id": "queue", "question": "What is the retry limit of the ingest queue?"},
        {"id": "hostile", "question": HOSTILE},
    ]
    return write_lines(path, *lines)


@pytest.fixture
def terminal(cases: Path) -> Iterator[Terminal]:
    found = Terminal(cases.parent, f"{sys.executable} -m pytest_rageval.cli.main label cases.jsonl")
    yield found
    found.close()


def test_a_case_is_labelled_by_keyboard_in_80_columns(terminal: Terminal, cases: Path) -> None:
    screen = terminal.wait_for("? help")
    assert "1/2 queue [answerable]" in screen
    assert "> [ ]  1 work/queue.md" in screen
    terminal.press("Space")
    assert "> [x]  1 work/queue.md" in terminal.wait_for("row 1 is evidence")
    terminal.press("s")
    terminal.wait_for("> [ ]  1 ")
    terminal.press("Space")
    terminal.wait_for("> [x]  1 ")
    terminal.press("Enter")
    terminal.wait_for("1 sentence quoted")
    terminal.press("t", "h", "i", "Enter")
    terminal.wait_for("notes: hi")
    terminal.press("?")
    screen = terminal.wait_for("leave without saving this case")
    terminal.press("?", "Enter")
    screen = terminal.wait_for("2/2 hostile")
    assert "[bold red]markup[/]" in screen
    assert "\u202e" not in screen
    terminal.press("Down", "Down", "Up", "a", "u", "q")
    terminal.wait_for("left with 0")
    first = json.loads(cases.read_text(encoding="utf-8").splitlines()[0])
    (gold,) = first["gold_supports"]
    assert (gold["rel_path"], len(gold["snippets"]), first["notes"]) == ("work/queue.md", 1, "hi")


def test_ctrl_c_leaves_without_saving(terminal: Terminal, cases: Path) -> None:
    before = cases.read_bytes()
    terminal.wait_for("? help")
    terminal.press("Space")
    terminal.wait_for("row 1 is evidence")
    terminal.press("C-c")
    terminal.wait_for("0 saved\nnot saved: queue\nleft with 130")
    assert cases.read_bytes() == before
