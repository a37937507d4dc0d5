"""The page on comparing runs shows what the commands print, and its limits are valid."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
LIMITS = """version = 1
baseline = "main"
[overall]
recall_at_k = { max_drop = 0.03 }
[tag.runbook]
recall_at_k = { max_drop = 0.03 }
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def called(folder: Path, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "80"},
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def scrub(text: str) -> list[str]:
    """Return the lines without what a clock decides: latencies, and with them widths of columns."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    kept = [line for line in lines if not line.startswith("latency_ms")]
    return [re.sub(r"^(\w{20})[\w.]*", r"\1", line) for line in kept]


@pytest.mark.slow
def test_the_comparison_of_the_page_is_what_the_command_prints(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("results", "cache", "cassettes")
    shutil.copytree(ROOT / "evals", tmp_path / "evals", ignore=ignored)
    shutil.copy(ROOT / "tests" / "data" / "hard_set" / "eval_set.jsonl", tmp_path / "evals")
    settings = '[tool.rageval.target]\nvault = "evals/vault"\n'
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    run = ("pytest", "evals", "--rageval-run-id")
    (tmp_path / "thresholds.toml").write_text("version = 1\n", encoding="utf-8")
    called(tmp_path, *run, "before")
    called(tmp_path, "pytest_rageval.cli.main", "runs", "tag", "before", "main")
    shutil.rmtree(tmp_path / "evals" / "vault" / "guides")
    called(tmp_path, *run, "after")
    (tmp_path / "thresholds.toml").write_text(LIMITS, encoding="utf-8")
    printed = called(tmp_path, "pytest_rageval.cli.main", "compare", "main", "after", code=1)
    assert scrub(blocks("text")[0]) == scrub(printed)
