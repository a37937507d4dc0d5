"""``rageval judge``: stored answers judged later, beside what is there."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.values.settings import Settings
from pytest_rageval.values.verdict import JudgeFailure, Judgement, JudgeRequest, Verdict
from tests.build.files import write_lines
from tests.judges.test_asking import FakeJudge

Output = pytest.CaptureFixture[str]
CASES: list[dict[str, Any]] = [
    {"id": "yes", "question": "q?", "gold_supports": [{"rel_path": "a.md"}],
     "expected_key_facts": ["thirty days"]},
    {"id": "none", "question": "q?", "answerable": False},
    {"id": "lost", "question": "q?", "gold_supports": [{"rel_path": "a.md"}]},
]  # fmt: skip
CHUNK = {"chunk_id": "c1", "rel_path": "a.md", "heading_path": "# A",
         "text": "A refund takes thirty days. " * 20}  # fmt: skip
RESPONSES: list[dict[str, Any]] = [
    {"id": "yes", "response": {"answer": "A refund takes thirty days [1].", "abstained": False,
                               "debug": {"retrieved_chunks": [CHUNK]}}},
    {"id": "none", "response": {"answer": "I do not know.", "abstained": True}},
]  # fmt: skip


@pytest.fixture
def stored(tmp_path: Path, capsys: Output) -> Path:
    """A run scored from recorded responses without a judge."""
    for name, lines in (("c.jsonl", CASES), ("r.jsonl", RESPONSES)):
        write_lines(name, *lines)
    assert cli.run(["score", "c.jsonl", "r.jsonl", "--save", "run-1"]) == ExitCode.YES
    capsys.readouterr()
    return tmp_path / "evals" / "results" / "run-1"


def before(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_verdicts_land_beside_the_run_and_those_before_and_change_nothing(
    stored: Path, capsys: Output
) -> None:
    untouched = before(stored)
    assert cli.run(["judge", "run-1", "--judge", "offline", "--json"]) == ExitCode.YES
    document = json.loads(capsys.readouterr().out)
    assert (document["judge"], document["verdicts"], document["failures"]) == ("offline/11", 2, 0)
    found = document["statistics"]["groundedness"]
    assert (found["n"], found["n_error"]) == (1, 1)
    assert found["mean"] >= 4
    assert document["before"]["groundedness"]["mean"] is None
    after = before(stored)
    assert {name: after[name] for name in untouched} == untouched
    new = sorted(after.keys() - untouched.keys())
    assert [Path(name).suffix for name in new] == [".json", ".jsonl"]
    lines = [json.loads(line) for line in after[new[1]].decode().splitlines()]
    assert [line["case_id"] for line in lines] == ["yes", "none", "lost"]
    assert lines[0]["verdicts"]["judgements"]["groundedness"]["verdict"]["claims"]
    mean = document["statistics"]["correctness"]["mean"]
    assert lines[0]["scores"]["metrics"]["correctness"] == mean
    assert cli.run(["judge", "run-1", "--judge", "offline"]) == ExitCode.YES
    again = before(stored)
    assert {name: again[name] for name in after} == after
    added = sorted(again.keys() - after.keys())
    assert [name.rsplit("-", 1)[1] for name in added] == ["2.json", "2.jsonl"]


def test_a_plan_asks_nobody(stored: Path, capsys: Output) -> None:
    arguments = ["--judge", "gpt-4o-2024-08-06", "--dry-run"]
    assert cli.run(["judge", "run-1", *arguments]) == ExitCode.YES
    out = capsys.readouterr().out
    assert out.startswith("judge: 2 calls, about ")
    assert "$" in out
    assert cli.run(["judge", "run-1", *arguments, "--json"]) == ExitCode.YES
    document = json.loads(capsys.readouterr().out)
    assert (document["run_id"], document["plan"]) == ("run-1", out.splitlines())
    assert not list(stored.glob("judged-*"))


def test_a_judge_that_cannot_be_reached_ends_the_command(
    stored: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    gone = JudgeFailure(kind="unreachable", message="connection refused")

    @contextmanager
    def open_judge(settings: Settings, **_: Any) -> Iterator[FakeJudge]:
        yield FakeJudge({"groundedness": gone, "correctness": gone})

    monkeypatch.setattr("pytest_rageval.judges.opening.open_judge", open_judge)
    Path("pyproject.toml").write_text("[tool.rageval]\nmax_errors = 1\n", encoding="utf-8")
    assert cli.run(["judge", "run-1", "--judge", "m"]) == ExitCode.UNREACHABLE
    assert "the judge cannot be reached: connection refused" in capsys.readouterr().err
    assert not list(stored.glob("judged-*"))


class MeetingJudge(FakeJudge):
    """Answers no question before a second one is there."""

    def __init__(self) -> None:
        super().__init__()
        self._second = threading.Event()

    def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
        found = super().judge(rubric, request, repeat=repeat)
        if len(self.asked) > 1:
            self._second.set()
        assert self._second.wait(60)
        return found


def test_several_answers_are_judged_at_once_and_saved_in_their_order(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    @contextmanager
    def open_judge(settings: Settings, **_: Any) -> Iterator[FakeJudge]:
        yield MeetingJudge()

    names = [f"c{n:02}" for n in range(20)]
    write_lines("c.jsonl", *({**CASES[0], "id": name} for name in names))
    write_lines("r.jsonl", *({**RESPONSES[0], "id": name} for name in reversed(names)))
    monkeypatch.setattr("pytest_rageval.judges.opening.open_judge", open_judge)
    given = ["score", "c.jsonl", "r.jsonl", "--judge", "m", "--save", "run-1", "--json"]
    assert cli.run(given) == ExitCode.YES
    scored = json.loads(capsys.readouterr().out)
    assert [case["id"] for case in scored["cases"]] == names
    assert {case["metrics"]["groundedness"] for case in scored["cases"]} == {4.0}
    assert cli.run(["judge", "run-1", "--judge", "m"]) == ExitCode.YES
    [file] = Path("evals/results/run-1").glob("judged-*.jsonl")
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["case_id"] for line in lines] == names
    assert {line["scores"]["metrics"]["groundedness"] for line in lines} == {4.0}


def test_a_failed_verdict_is_counted_and_no_score(
    stored: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    bad = JudgeFailure(kind="unparseable", message="no JSON")

    @contextmanager
    def open_judge(settings: Settings, **_: Any) -> Iterator[FakeJudge]:
        yield FakeJudge({"groundedness": bad, "correctness": Verdict(scores={"correctness": 3.0})})

    monkeypatch.setattr("pytest_rageval.judges.opening.open_judge", open_judge)
    assert cli.run(["judge", "run-1", "--judge", "m", "--json"]) == ExitCode.YES
    document = json.loads(capsys.readouterr().out)
    assert (document["verdicts"], document["failures"]) == (2, 1)
    assert document["statistics"]["groundedness"]["mean"] is None
    assert document["statistics"]["groundedness"]["n_error"] == 2
    assert document["usage"]["prompt_tokens"] == 200
