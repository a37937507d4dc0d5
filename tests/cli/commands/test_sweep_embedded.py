"""A sweep over the embedded server, on real notes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from tests.build.files import write_lines
from tests.build.run_files import documents

Output = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.slow


def write_project(target: str, cases: list[dict[str, Any]]) -> None:
    write_lines(Path("evals/set.jsonl"), *cases)
    text = "[tool.pytest.ini_options]\n[tool.rageval]\nno_report = true\n"
    text += f"[tool.rageval.target]\n{target}\n"
    Path("pyproject.toml").write_text(text, encoding="utf-8")


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_a_configuration_has_the_records_and_numbers_of_a_session(capsys: Output) -> None:
    vault = f'vault = "{ROOT / "evals/vault"}"'
    write_project(vault, read_lines(ROOT / "evals/eval_set.jsonl")[::2])
    Path("sweep.toml").write_text(
        "[query]\nk = [4]\nfusion = ['rrf', 'weighted']\n"
        "[index]\nchunk_tokens = [400, 100]\n[index.build]\nembedded = true\n",
        encoding="utf-8",
    )
    cli.run(["sweep", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["index_builds"] == 2
    wanted = {"k": 4, "fusion": "rrf", "chunk_tokens": 100}
    run = next(row["run"] for row in document["ranking"] if row["parameters"] == wanted)
    text = Path("pyproject.toml").read_text("utf-8")
    Path("pyproject.toml").write_text(f"{text}embedded = {{ chunk_tokens = 100 }}\n", "utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "evals"]
    options = ["--rag-k", "4", "--rag-param", "fusion=rrf", "--rageval-run-id", "session"]
    subprocess.run([*command, *options], capture_output=True, check=False)
    found = documents(Path("evals/results/sweep") / run)
    session = documents(Path("evals/results/session"))
    assert found["config.json"]["config_hash"] == session["config.json"]["config_hash"]
    for one in (found, session):
        one.pop("config.json")
    assert found == session
