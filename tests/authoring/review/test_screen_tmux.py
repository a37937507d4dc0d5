"""The terminal app in a real terminal of 80 columns and 24 lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_rageval.runs.reviews import read_reviews
from pytest_rageval.values.reply import RetrievedChunk
from tests.build.runs import scored, write_run
from tests.build.tmux import Terminal, needs_tmux

pytestmark = [pytest.mark.slow, needs_tmux]

HOSTILE = "Which?\x1b[2J \u202eesrever [bold red]markup[/]"
COMMAND = f"{sys.executable} -m pytest_rageval.cli.main review run --as ann --random 1"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    chunk = RetrievedChunk(rel_path="a.md", text="line\n" * 60, rank=1)
    records = [
        scored(f"c{i:02}", i % 2, answer=f"answer {i}", question=HOSTILE, retrieved_chunks=(chunk,))
        for i in range(8)
    ]
    return write_run(tmp_path / "evals/results", "run", records)


@pytest.fixture
def terminal(run: Path) -> Iterator[Terminal]:
    found = Terminal(run.parents[2], COMMAND)
    yield found
    found.close()


def test_answers_are_read_by_keyboard(terminal: Terminal, run: Path) -> None:
    screen = terminal.wait_for("p pass  f fail")
    assert "[bold red]markup[/]" in screen
    assert "\u202e" not in screen
    terminal.press("f")
    terminal.wait_for("the first thing that is wrong")
    terminal.press(*"late", "Enter")
    terminal.wait_for("enter goes on")
    terminal.press("c", *"proofs", "Enter")
    terminal.wait_for("1 answer: proofs")
    terminal.press("Enter")
    for number in range(2, 9):
        terminal.wait_for(f"{number}/8")
        time.sleep(0.2)  # one that comes again at once is taken for a held key
        terminal.press("p")
    terminal.wait_for("every answer is read")
    terminal.press("g")
    terminal.wait_for("categories [1 failed of 8 read]")
    terminal.press("c", *"dates", "Enter")
    terminal.wait_for("dates (1)")
    terminal.press("q")
    assert "8 of 8 answers read" in terminal.wait_for("left with 0")
    assert len(read_reviews(run)["ann"]) == 11


def test_ctrl_c_loses_nothing(terminal: Terminal, run: Path) -> None:
    terminal.wait_for("1/8")
    terminal.press("p")
    terminal.wait_for("2/8")
    terminal.press("p")
    terminal.wait_for("3/8")
    terminal.press("C-c")
    assert "2 of 8 answers read" in terminal.wait_for("left with 130")
    assert len(read_reviews(run)["ann"]) == 2
