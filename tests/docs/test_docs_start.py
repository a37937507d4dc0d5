"""The pages on starting, checking and generating say what the program does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_rageval.authoring.scaffold.plan import read_project
from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from tests.docs.tutorials import missing_part

DOCS = Path(__file__).resolve().parents[2] / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_every_file_of_a_new_project_has_its_row(tmp_path: Path) -> None:
    rows = set(re.findall(r"^\| `([^`]+)` \|", page("start.md"), re.MULTILINE))
    files = set(read_project(tmp_path).files)
    assert {path for path in files if not path.startswith("evals/vault/")} == rows - {
        "evals/vault/"
    }


@pytest.mark.parametrize("name", ["start.md", "check.md"])
def test_every_flag_of_a_page_is_one_of_its_commands(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    known = ""
    for command in ("demo", "init", "doctor", "check", "generate"):
        assert cli.run([command, "--help"]) == ExitCode.YES
        known += capsys.readouterr().out
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", page(name))) - {"--review"}
    assert {flag for flag in named if flag not in known} == set()


def test_the_demo_of_the_page_is_what_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["demo"]) == ExitCode.YES
    shown = page("start.md").split("rageval demo\n```\n\n```text\n")[1].split("```")[0]
    assert missing_part(shown, capsys.readouterr().out) is None
