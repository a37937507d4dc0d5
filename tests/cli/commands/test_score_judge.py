"""``rageval score --judge``: recorded answers judged as they are scored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import JudgeFailure
from tests.build.files import write_lines
from tests.cli.commands.test_judge import CASES, RESPONSES
from tests.judges.test_asking import FakeJudge

Output = pytest.CaptureFixture[str]
FILES = ("c.jsonl", "r.jsonl")


@pytest.fixture(autouse=True)
def recorded(project: Path) -> None:
    """An answered, an unanswerable and an unrecorded case."""
    write_lines("c.jsonl", *CASES)
    write_lines("r.jsonl", *RESPONSES)


def document(*arguments: str, capsys: Output) -> dict[str, Any]:
    assert cli.run(["score", *FILES, *arguments, "--json"]) == ExitCode.YES
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def judged_by(monkeypatch: pytest.MonkeyPatch, verdicts: Mapping[str, Any]) -> list[Settings]:
    opened: list[Settings] = []

    @contextmanager
    def open_judge(settings: Settings, **_: Any) -> Iterator[FakeJudge]:
        opened.append(settings)
        yield FakeJudge(verdicts)

    monkeypatch.setattr("pytest_rageval.judges.opening.open_judge", open_judge)
    return opened


def test_answers_are_judged_offline_in_the_same_go_and_saved(
    capsys: Output,
) -> None:
    found = document("--judge", "offline", "--save", "one", capsys=capsys)
    assert found["judge"] == "offline/11"
    one, none, lost = found["cases"]
    assert one["metrics"]["groundedness"] >= 4
    judged = one["verdicts"]["judgements"]
    (claim,) = judged["groundedness"]["verdict"]["claims"]
    assert (claim["text"], claim["supported"]) == ("A refund takes thirty days.", True)
    assert judged["correctness"]["judge"] == "offline/11"
    assert none["not_applicable"]["groundedness"] == "The case is unanswerable."
    assert (lost["metrics"]["correctness"], "correctness" in lost["not_applicable"]) == (
        None,
        False,
    )
    grounded = found["metrics"]["groundedness"]
    assert (grounded["n"], grounded["n_error"], grounded["n_not_applicable"]) == (1, 1, 1)
    assert found["rates"]["judge_error_rate"] == 0.0
    folder = Path("evals/results/one")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert (config["settings"]["judge"], config["judges"][0]["judge"]) == ("offline", "offline/11")
    first = json.loads((folder / "results.jsonl").read_text(encoding="utf-8").splitlines()[0])
    verdicts = first["verdicts"]
    assert verdicts["judgements"]["groundedness"]["verdict"]["claims"][0]["passage"] == 1
    assert verdicts["context_chunk_ids"] == ["c1"]


def test_a_failed_verdict_is_an_error_and_no_zero(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    bad = JudgeFailure(kind="refused", message="I would rather not")
    settings = judged_by(monkeypatch, {"groundedness": bad})
    found = document("--judge", "m", "--rubric", "groundedness", capsys=capsys)
    assert settings[0].judging.rubrics == ("groundedness",)
    one = found["cases"][0]
    assert one["metrics"]["groundedness"] is None
    assert "groundedness" not in one["not_applicable"]
    assert one["verdicts"]["judgements"]["groundedness"]["failure"]["kind"] == "refused"
    assert found["metrics"]["groundedness"]["n_error"] == 2
    assert found["rates"]["judge_error_rate"] == 1.0
    assert found["judge_tokens"] == 110


def test_a_judge_that_cannot_be_reached_ends_the_command_and_saves_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    gone = JudgeFailure(kind="unreachable", message="connection refused")
    judged_by(monkeypatch, {"groundedness": gone, "correctness": gone})
    Path("pyproject.toml").write_text("[tool.rageval]\nmax_errors = 1\n", encoding="utf-8")
    code = cli.run(["score", *FILES, "--judge", "m", "--save", "one", "--json"])
    assert code == ExitCode.UNREACHABLE
    out, err = capsys.readouterr()
    assert (out, "cannot be reached: connection refused" in err) == ("", True)
    assert not Path("evals/results/one").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--rubric", "claims"), "expected --judge"),
        (("--no-judge-cache",), "expected --judge"),
        (("--judge", "offline", "--retrieval-only"), "expected no --retrieval-only"),
    ],
)
def test_what_does_not_go_together_is_refused(
    arguments: tuple[str, ...], words: str, capsys: Output
) -> None:
    assert cli.run(["score", *FILES, *arguments]) == ExitCode.USAGE
    assert words in capsys.readouterr().err
