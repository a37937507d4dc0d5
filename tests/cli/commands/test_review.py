"""``rageval review`` as it is typed, and as a process that is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from pytest_rageval.authoring.review.page import ReviewPage
from pytest_rageval.authoring.review.session import ReviewSession
from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.runs.reviews import read_reviews
from tests.authoring.review.builders import press
from tests.build.files import write_lines
from tests.build.runs import scored, write_run

Output = pytest.CaptureFixture[str]
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/[\w-]{43}/\?token=[\w-]{43}(?= )")
FILE = "evals/inbox/prod.jsonl"


@pytest.fixture
def run(project: Path) -> Path:
    """A run of six cases, of which every second one missed."""
    records = [
        scored(
            f"c{i}",
            float(i % 2),
            answer=f"answer {i}",
            question=f"question {i}?",
            failure_stage=None if i % 2 else "not_retrieved",
        )
        for i in range(6)
    ]
    return write_run(project / "evals/results", "run", records)


@dataclass
class Review:
    """``rageval review --web`` with a page that presses keys by itself."""

    keys: Sequence[str] = ()
    sessions: list[ReviewSession] = field(default_factory=list)

    def __call__(self, *arguments: str, keys: Sequence[str] = ("q",)) -> int:
        self.keys = keys
        return cli.run(["review", *arguments, "--web"])

    def serve(self, face: ReviewPage, *, port: int, announce: object) -> Review:
        """Stand in for the server of the page."""
        self.port = port
        self.sessions.append(face.session)
        return self

    def run(self) -> None:
        press(self.sessions[-1], *self.keys)


@pytest.fixture
def review(monkeypatch: pytest.MonkeyPatch) -> Review:
    found = Review()
    monkeypatch.setattr("pytest_rageval.authoring.keyed.page.KeyServer", found.serve)
    return found


def test_a_run_is_read_by_two_people_and_each_goes_on_apart(run: Path, review: Review) -> None:
    assert review("run", "--as", "ann", keys=["p", "f", "'late", "q"]) == ExitCode.YES
    assert review("--as", "ben", keys=["p"]) == ExitCode.YES
    assert review("run", "--as", "ann") == ExitCode.YES
    ann, ben, again = review.sessions
    assert [len(one.reviews) for one in (ann, ben, again)] == [2, 1, 2]
    assert [one.key for one in ann.source.answers] == [one.key for one in ben.source.answers]
    assert sorted(path.name for path in (run / "reviews").iterdir()) == ["ann.jsonl", "ben.jsonl"]


def test_the_reader_is_named_after_the_user_of_git(
    run: Path, review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.name")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "Ann von Ähren")
    review("run", keys=["p"])
    assert list(read_reviews(run)) == ["ann-von-hren"]


@pytest.mark.parametrize("name", ["../x", "a b", "", "nul"])
def test_a_name_that_no_file_can_have_is_refused(run: Path, review: Review, name: str) -> None:
    assert review("run", "--as", name) == ExitCode.USAGE


def test_a_file_of_answers_is_read_like_a_run(project: Path, review: Review) -> None:
    line = {"id": "q", "question": "How?", "response": {"answer": "So."}}
    file = write_lines(project / FILE, line)
    assert review(FILE, "--as", "ann", keys=["f", "'rude"]) == ExitCode.YES
    assert [one.review.note for one in read_reviews(file)["ann"] if one.review] == ["", "rude"]


def test_categories_and_errors_of_stages_are_printed(
    run: Path, review: Review, capsys: Output
) -> None:
    assert cli.run(["review", "run", "--table"]) == ExitCode.USAGE
    keys = ["f", "'late", "c", "'dates", "enter", *["p"] * 5]
    review("run", "--as", "ann", "--random", "1", keys=keys)
    capsys.readouterr()
    assert cli.run(["review", "run", "--table", "--json"]) == ExitCode.YES
    (found,) = json.loads(capsys.readouterr().out)["figures"]
    assert (found["n_read"], found["n_random"]) == (6, 6)
    (category,) = found["categories"]
    assert (category["name"], category["n"], category["share"]["k"]) == ("dates", 1, 1)
    every = next(one for one in found["stages"] if one["stage"] == "all")
    first = review.sessions[0].source.answers[0]
    # The reader passed two or all three of the missed ones, and failed a passed one or none.
    assert every["wrong"]["k"] == (2 if first.figured.stage == "not_retrieved" else 4)
    assert cli.run(["review", "run", "--table"]) == ExitCode.YES
    assert "dates" in capsys.readouterr().out


def test_a_report_shows_what_readers_found_and_no_name_where_it_is_redacted(
    run: Path, review: Review
) -> None:
    review("run", "--as", "ann", "--random", "1", keys=["f", "'late", "c", "'dates", "enter", "p"])
    assert cli.run(["report", "run", "-o", "whole.html"]) == ExitCode.YES
    whole = Path("whole.html").read_text(encoding="utf-8")
    assert all(word in whole for word in ("Read by people", "dates", "ann", "our stage"))
    assert cli.run(["report", "run", "--redact", "-o", "redacted.html"]) == ExitCode.YES
    redacted = Path("redacted.html").read_text(encoding="utf-8")
    section = redacted.partition("Read by people")[2]
    assert "our stage" in section
    assert "dates" not in redacted


def test_verdicts_become_labels_tags_and_a_rubric(
    project: Path, review: Review, capsys: Output
) -> None:
    lines = [
        {"id": f"q{i}", "question": f"How {i}?", "tags": ["x", "failure:old"],
         "response": {"answer": f"So {i}."}}
        for i in range(3)
    ]  # fmt: skip
    file = write_lines(project / FILE, *lines)
    keys = ["f", "'late", "c", "'wrong date", "enter", "p"]
    review(FILE, "--as", "ann", "--random", "1", keys=keys)
    assert cli.run(["review", FILE, "--tag"]) == ExitCode.YES
    tags = [json.loads(line)["tags"] for line in file.read_text("utf-8").splitlines()]
    assert sorted(tags) == [["x"], ["x", "failure:old"], ["x", "failure:wrong_date"]]
    before = file.read_bytes()
    assert cli.run(["review", FILE, "--tag"]) == ExitCode.YES
    assert file.read_bytes() == before

    assert cli.run(["review", FILE, "--labels", "l.jsonl"]) == ExitCode.YES
    labels = [json.loads(line)["label"] for line in Path("l.jsonl").read_text("utf-8").splitlines()]
    assert labels == ["incorrect", "correct"]
    assert cli.run(["review", FILE, "--rubric", "wrong date"]) == ExitCode.YES
    assert (project / "evals/rubrics/failure_wrong_date.jinja").is_file()
    assert cli.run(["review", FILE, "--rubric", "wrong date"]) == ExitCode.USAGE
    assert cli.run(["review", FILE, "--rubric", "wrong dates"]) == ExitCode.USAGE
    review(FILE, "--as", "ben", keys=["p"])
    assert cli.run(["review", FILE, "--labels", "l.jsonl"]) == ExitCode.USAGE
    assert cli.run(["review", FILE, "--labels", "l.jsonl", "--as", "ben"]) == ExitCode.YES


@pytest.mark.parametrize(
    "arguments",
    [["no-such-run"], ["run", "--json"], ["run", "--port", "5"], ["run", "--random", "2"],
     ["run", "--baseline", "none-such", "--web"], ["run", "--tag", "--table"],
     ["run", "--category", "x"], ["run", "--labels", "l.jsonl"]],
)  # fmt: skip
def test_wrong_arguments_are_refused(run: Path, arguments: list[str]) -> None:
    assert cli.run(["review", *arguments]) == ExitCode.USAGE


def test_the_app_needs_a_terminal(run: Path) -> None:
    assert cli.run(["review", "run"]) == ExitCode.USAGE


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that cannot be caught")
def test_a_killed_command_loses_no_verdict(run: Path) -> None:
    """As the page is told that a verdict is given, it is on the disk."""
    command = [sys.executable, "-m", "pytest_rageval.cli.main", "review", "run", "--web"]
    with subprocess.Popen([*command, "--as", "ann"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = ADDRESS.search(process.stdout.readline())
        assert found is not None
        base = found[0].partition("/?")[0]
        with httpx.Client(base_url=base, timeout=30) as client:
            client.get(found[0])
            origin = {"Origin": "/".join(base.split("/")[:3])}
            for revision, key in enumerate("ppf"):
                body = {"key": key, "revision": revision}
                assert client.post("/key", json=body, headers=origin).status_code == 200
        os.kill(process.pid, signal.SIGKILL)
    verdicts = [line.review.verdict for line in read_reviews(run)["ann"] if line.review]
    assert verdicts == ["pass", "pass", "fail"]
