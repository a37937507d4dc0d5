"""A conversation in a real terminal."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.build.files import write_lines
from tests.build.targets import FakeTarget, fake_target, json_reply, silence
from tests.build.tmux import Terminal, needs_tmux
from tests.server.builders import NOTES, write_vault

pytestmark = [pytest.mark.slow, needs_tmux]
ASK = f"{sys.executable} -m pytest_rageval.cli.main ask"
HOSTILE = "\x1b[2J\x1b]0;owned\x07[bold]text \u202eesrever"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_vault(tmp_path / "vault", NOTES)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.rageval.target]\nvault = "vault"\n', encoding="utf-8"
    )
    (tmp_path / "evals").mkdir()
    gold = {"rel_path": "work/queue.md", "heading_path": "# Queue"}
    question = "What is the retry limit of the ingest queue?"
    case = {"id": "queue-limit", "question": question, "gold_supports": [gold]}
    write_lines(tmp_path / "evals/eval_set.jsonl", case)
    return tmp_path


@pytest.fixture
def terminal(folder: Path) -> Iterator[Terminal]:
    found = Terminal(folder, ASK)
    yield found
    found.close()


def test_ten_interactions_by_keys(terminal: Terminal, folder: Path) -> None:
    terminal.wait_for("ask>")
    terminal.type(":k 2")
    terminal.wait_for("k            2")
    terminal.press(*":case q", "Tab", "Enter")  # the id is completed
    terminal.wait_for("gold 1   work/queue.md > # Queue: found")
    terminal.type(":weights 1 0")
    terminal.wait_for("weights      1.0 0.0")
    terminal.type(":again")
    terminal.wait_for("chunks   2")
    terminal.type(":diff")
    terminal.wait_for("answer   the same")
    terminal.type(":judge")
    terminal.wait_for("claim_support_rate")
    terminal.type("When are tomatoes planted?")
    terminal.wait_for("home/garden.md")
    terminal.type(":save tomatoes 1")
    terminal.wait_for("saved    tomatoes added to evals/eval_set.jsonl")
    terminal.press("Up", "Up", "Enter")  # the question again, from the history
    terminal.wait_for("ask> When are tomatoes planted?")
    terminal.press("half")
    terminal.wait_for("ask> half")
    terminal.press("C-c")
    terminal.wait_for("ask> half\nask>")
    terminal.type(":help")
    terminal.wait_for(":quit")
    terminal.press("C-d")
    terminal.wait_for("left with 0")
    saved = json.loads((folder / "evals/eval_set.jsonl").read_text("utf-8").splitlines()[1])
    assert saved["gold_supports"][0]["rel_path"] == "home/garden.md"
    history = (folder / "evals/cache/ask_history").read_text(encoding="utf-8")
    assert "When are tomatoes planted?" in history


def test_the_history_comes_back_in_the_next_conversation(folder: Path) -> None:
    terminal = Terminal(folder, f"{ASK}; echo first left; {ASK}")
    terminal.wait_for("ask>")
    terminal.type("When are tomatoes planted?")
    terminal.wait_for("home/garden.md")
    terminal.press("C-d")
    terminal.wait_for("first left\nType a question")
    terminal.wait_for("Ctrl-D ends.\nask>")
    terminal.press("Up")
    terminal.wait_for("Ctrl-D ends.\nask> When are tomatoes planted?")
    terminal.close()


@pytest.fixture
def strange(folder: Path) -> Iterator[tuple[FakeTarget, Terminal]]:
    over = threading.Event()
    with fake_target(json_reply({"answer": HOSTILE}), silence(over)) as target:
        (folder / "pyproject.toml").write_text(
            f'[tool.rageval.target]\nurl = "{target.url}"\nretries = 0\n', encoding="utf-8"
        )
        terminal = Terminal(folder, ASK)
        yield target, terminal
        over.set()
        terminal.close()


def test_a_hostile_answer_is_harmless_and_ctrl_c_gives_up_a_request(
    strange: tuple[FakeTarget, Terminal],
) -> None:
    _, terminal = strange
    terminal.wait_for("ask>")
    terminal.type("first")
    screen = terminal.wait_for("[bold]text esrever")
    assert "ask> first" in screen
    terminal.type("second")
    terminal.wait_for("ask> second")
    terminal.press("C-c")
    terminal.wait_for("given up")
    terminal.type(":settings")
    terminal.wait_for("folder-mode")
    terminal.press("C-d")
    terminal.wait_for("left with 0")
