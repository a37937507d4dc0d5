"""``rageval generate`` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.project.case_reader import load_cases
from tests.authoring.generation.test_generate import BIKE, FAQ
from tests.authoring.generation.test_model import GOOD, TEXT
from tests.build.hostile_judge import HostileJudge, completion

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _vault(project: Path) -> None:
    Path("vault").mkdir()
    Path("vault/bike.md").write_text(BIKE, encoding="utf-8")
    Path("vault/lending.md").write_text(FAQ, encoding="utf-8")


def test_a_case_file_is_written_and_the_next_command_named(capsys: Output) -> None:
    assert cli.run(["generate", "vault", "-o", "evals/new set.jsonl"]) == ExitCode.YES
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines() == [
        "evals/new set.jsonl: 8 cases (7 answerable, 1 unanswerable) from 2 of 2 notes",
        "they count once they are reviewed:",
        "rageval label 'evals/new set.jsonl' --review",
    ]
    assert len(load_cases(Path("evals/new set.jsonl")).cases) == 8
    capsys.readouterr()
    assert cli.run(["check", "evals/new set.jsonl", "--vault", "vault"]) == ExitCode.YES
    assert capsys.readouterr().err == ""


def test_conversations_are_counted_and_withheld_notes_listed(capsys: Output) -> None:
    text = "# Van\n\n## Who may drive it?\n\nA member may.\n\n## Where is it?\n\nIn the yard.\n"
    Path("vault/van.md").write_text(text, encoding="utf-8")
    arguments = ["generate", "vault", "-o", "g.jsonl", "--talks", "1", "--withhold", "bike.md"]
    assert cli.run(arguments) == ExitCode.YES
    lines = capsys.readouterr().out.splitlines()
    assert ", 1 conversation) from" in lines[0]
    start = lines.index("keep these notes out of the index, or their questions have answers:")
    assert lines[start + 1] == "  bike.md"


def test_a_file_that_exists_is_never_written_over(capsys: Output) -> None:
    Path("g.jsonl").write_bytes(b"mine")
    assert cli.run(["generate", "vault", "-o", "g.jsonl"]) == ExitCode.USAGE
    assert "g.jsonl: exists" in capsys.readouterr().err
    assert Path("g.jsonl").read_bytes() == b"mine"


def test_what_was_made_and_dropped_is_in_the_json(capsys: Output) -> None:
    Path("old.jsonl").write_text(
        json.dumps({"id": "x", "question": "What is Keyholder?", "answerable": False}),
        encoding="utf-8",
    )
    arguments = ["generate", "vault", "-o", "g.jsonl", "--against", "old.jsonl", "--json"]
    assert cli.run([*arguments, "--unanswerable", "0"]) == ExitCode.YES
    document = json.loads(capsys.readouterr().out)
    assert (document["n_cases"], document["n_notes_used"]) == (6, 2)
    assert document["dropped"] == {"duplicate": 1}


def test_a_model_writes_further_questions(capsys: Output) -> None:
    Path("vault/gates.md").write_text(TEXT, encoding="utf-8")
    with HostileJudge([completion(json.dumps({"cases": [GOOD]}))]) as server:
        arguments = ["--model", "m-1", "--judge-base-url", server.url]
        assert cli.run(["generate", "vault", "-o", "g.jsonl", *arguments]) == ExitCode.YES
    assert "asked about" in capsys.readouterr().err
    asked = {one.case.question for one in load_cases(Path("g.jsonl")).cases}
    assert {GOOD["question"], "What is Keyholder?"} <= asked


def test_a_model_that_is_not_there_exits_with_4_and_writes_nothing(capsys: Output) -> None:
    Path("pyproject.toml").write_text("[tool.rageval.judge]\nretries = 0\n", encoding="utf-8")
    arguments = ["--model", "m-1", "--judge-base-url", "http://127.0.0.1:9/v1"]
    assert cli.run(["generate", "vault", "-o", "g.jsonl", *arguments]) == ExitCode.UNREACHABLE
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not Path("g.jsonl").exists()
