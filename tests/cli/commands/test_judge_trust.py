"""``rageval judge`` with a second judge and with people's labels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from tests.build.hostile_judge import Asked, Canned, HostileJudge, is_alternate, rating

Output = pytest.CaptureFixture[str]
CHUNK = {
    "chunk_id": "c1", "rel_path": "a.md", "heading_path": "# A",
    "text": "A refund takes thirty days.",
}  # fmt: skip
N = 6


def lines(*documents: Any) -> str:
    return "".join(json.dumps(document) + "\n" for document in documents)


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> Path:
    """A run scored from recorded responses, with whole texts and without a judge."""
    monkeypatch.setenv("RAGEVAL_STORE_FULL_TEXT", "1")
    cases = [
        {"id": f"c{i}", "question": f"number {i}?", "gold_supports": [{"rel_path": "a.md"}]}
        for i in range(N)
    ]
    responses = [
        {
            "id": f"c{i}",
            "response": {
                "answer": "A refund takes thirty days [1].",
                "abstained": False,
                "debug": {"retrieved_chunks": [CHUNK]},
            },
        }
        for i in range(N)
    ]
    Path("c.jsonl").write_text(lines(*cases), encoding="utf-8")
    Path("r.jsonl").write_text(lines(*responses), encoding="utf-8")
    assert cli.run(["score", "c.jsonl", "r.jsonl", "--save", "run-1"]) == ExitCode.YES
    capsys.readouterr()
    return tmp_path / "evals" / "results" / "run-1"


def verdict(asked: Asked) -> Canned:
    score = 2 if is_alternate(asked) and "number 3" in asked.prompt else 4
    return rating(score, "Because.")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HostileJudge]:
    with HostileJudge(verdict) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-4f7a9c1e2b8d6f3a5c7e9b1d")
        monkeypatch.setenv("RAGEVAL_JUDGE", "model-2024-08-06")
        monkeypatch.setenv("RAGEVAL_JUDGE_BASE_URL", server.url)
        yield server


def judged(capsys: Output, *arguments: str) -> dict[str, Any]:
    assert cli.run(["judge", "run-1", "--json", *arguments]) == ExitCode.YES
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_a_stored_run_is_judged_twice_in_part(
    stored: Path, server: HostileJudge, capsys: Output
) -> None:
    document = judged(capsys, "--spot-check", "99")
    assert sum(is_alternate(asked) for asked in server.asked) == 2 * N
    found = document["judge_reliability"]["spot_check"]["groundedness"]
    assert (found["n"], found["n_error"], found["disagreement_rate"]) == (N, 0, 1 / N)
    assert [one["case_id"] for one in found["worst"]] == ["c3"]
    assert document["statistics"]["groundedness"]["mean"] == 4.0
    assert (document["verdicts"], document["failures"]) == (2 * N, 0)
    (verdicts,) = stored.glob("judged-*.jsonl")
    kept = [json.loads(line) for line in verdicts.read_text(encoding="utf-8").splitlines()]
    second = {one["case_id"]: one["verdicts"]["spot_check"]["groundedness"] for one in kept}
    scores = {case_id: one["verdict"]["scores"] for case_id, one in second.items()}
    assert {case_id: found["groundedness"] for case_id, found in scores.items()} == {
        f"c{i}": 2.0 if i == 3 else 4.0 for i in range(N)
    }


def test_a_spot_check_lies_beside_verdicts_without_one(
    stored: Path, server: HostileJudge, capsys: Output
) -> None:
    once = judged(capsys)
    few = judged(capsys, "--spot-check", "2")
    assert once["judge_reliability"] is None
    assert few["judge_reliability"]["spot_check"]["groundedness"]["n"] == 2
    assert len(list(stored.glob("judged-*.jsonl"))) == 2
    # The first judge's verdicts were in the cache.
    assert len(server.asked) == 2 * N + 4


def test_a_spot_check_of_the_offline_judge_needs_a_model(stored: Path, capsys: Output) -> None:
    arguments = ["judge", "run-1", "--judge", "offline", "--spot-check", "2"]
    assert cli.run(arguments) == ExitCode.USAGE
    assert "the offline judge has one wording only" in capsys.readouterr().err


def test_labels_correct_the_means_of_a_stored_run(stored: Path, capsys: Output) -> None:
    labels = ({"id": f"c{i}", "rubric": "groundedness", "label": i > 0} for i in range(4))
    Path("labels.jsonl").write_text(lines(*labels), encoding="utf-8")
    arguments = ("--judge", "offline", "--labels", "labels.jsonl")
    found = judged(capsys, *arguments)["judge_reliability"]["corrected"]["groundedness"]
    assert (found["quantity"], found["human_mean"]) == ("pass_share", 0.75)
    assert (found["n_labels"], found["n_judge_only"]) == (4, N - 4)
    assert cli.run(["judge", "run-1", *arguments]) == ExitCode.YES
    assert "judge    groundedness share at 4 or above 0." in capsys.readouterr().out
