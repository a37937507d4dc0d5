"""A second judge within a run: its questions, the stored results and the summary."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

# pytester forgets every module that a run inside it was the first to import.
import genai_prices  # noqa: F401
import numpy as np  # noqa: F401
import pytest
import sqlalchemy.dialects.sqlite  # noqa: F401

from pytest_rageval.judges.spot_check import choose_spot_check
from tests.build.hostile_judge import Asked, Canned, HostileJudge, is_alternate, rating
from tests.build.records import flat_line
from tests.plugin.scratch import Project, case, comparable, summary_lines

FIRST, SECOND = "first-2024-08-06", "second-2024-08-06"
KEY = "sk-proj-4f7a9c1e2b8d6f3a5c7e9b1d"
SETTINGS = """
[tool.pytest.ini_options]
filterwarnings = ["error"]
[tool.rageval]
no_report = true
[tool.rageval.target]
retries = 0
[tool.rageval.judge]
"""
CASES = (
    *(case(f"ask-{i}", f"hit number {i}") for i in range(8)),
    case("shy-1", "abstain one"),
    case("out-1", "abstain two", answerable=False),
)


def verdict(asked: Asked) -> Canned:
    """The first judge says 5, a second one 1 of the case number 3 and 4 of the others."""
    again = is_alternate(asked) or asked.body["model"] == SECOND
    score = (1 if "number 3" in asked.prompt else 4) if again else 5
    return rating(score, model=asked.body["model"])


@pytest.fixture
def server() -> Iterator[HostileJudge]:
    with HostileJudge(verdict) as server:
        yield server


@pytest.fixture
def scratch(project: Project, server: HostileJudge, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("RAGEVAL_JUDGE", FIRST)
    monkeypatch.setenv("RAGEVAL_JUDGE_BASE_URL", server.url)
    project.write("pyproject.toml", SETTINGS)
    project.write("thresholds.toml", "version = 1\n")
    project.cases(CASES)
    return project


def second(project: Project, model: str = SECOND) -> None:
    project.write("pyproject.toml", f'{SETTINGS}spot_check_model = "{model}"\n')


def reliability(project: Project) -> Any:
    return project.stored("metrics.json")["judge_reliability"]


def checked(project: Project) -> dict[str, Mapping[str, Any]]:
    return {i: r["spot_check"] for i, r in project.records().items() if r["spot_check"]}


def test_the_same_model_is_asked_again_in_the_other_wording_and_disagreement_shown(
    scratch: Project, server: HostileJudge
) -> None:
    scratch.write("thresholds.toml", 'version = 1\n[overall]\njudge_disagreement_rate = "<= 0.1"\n')
    result = scratch.run("--judge-spot-check", "20", "-v")
    assert result.ret == 1
    (check,) = (c for c in scratch.stored("gate.json")["checks"] if "disagreement" in c["name"])
    assert (check["status"], check["estimate"]) == ("fail", 0.125)
    assert sum(is_alternate(asked) for asked in server.asked) == 16
    found = checked(scratch)
    assert sorted(found) == [f"ask-{i}" for i in range(8)]
    record = scratch.records()["ask-3"]
    second = found["ask-3"]
    assert second["groundedness"]["verdict"]["scores"]["groundedness"] == 1.0
    assert second["correctness"]["verdict"]["scores"]["correctness"] == 1.0
    assert second["groundedness"]["verdict"]["reasoning"] == "So it is."
    first = record["judgements"]["groundedness"]["rubric_version"]
    assert second["groundedness"]["rubric_version"] != first
    of_run = reliability(scratch)
    assert of_run["disagreement_rate"] == 0.125
    assert of_run["spot_check"]["groundedness"] == {
        "n": 8,
        "n_error": 0,
        "disagreement_rate": 0.125,
        "low": pytest.approx(0.0224, abs=1e-4),
        "high": pytest.approx(0.4709, abs=1e-4),
        "worst": [
            {"file": "evals/eval_set.jsonl", "case_id": "ask-3", "first": 5.0, "second": 1.0}
        ],
    }
    told = " ".join(" ".join(summary_lines(result)).split())
    assert "judge second judge disagrees: groundedness 0.12 [0.02-0.47] (n 8), correctness" in told
    assert "first and second judge: groundedness ask-3 5 and 1; correctness ask-3 5 and 1" in told


def test_a_second_opinion_changes_no_metric_and_is_paid_for(
    scratch: Project, server: HostileJudge
) -> None:
    result = scratch.run("--rageval-run-id", "once", "--no-judge-cache")
    assert len(server.asked) == 16
    assert [line for line in summary_lines(result) if line.startswith("judge ")] == []
    assert checked(scratch) == {}
    scratch.run("--rageval-run-id", "twice", "--no-judge-cache", "--judge-spot-check", "20")
    once, twice = (
        json.loads((scratch.folder(name) / "metrics.json").read_text(encoding="utf-8"))
        for name in ("once", "twice")
    )
    assert once["judge_reliability"] is None
    assert (once["metrics"], once["rates"]) == (twice["metrics"], twice["rates"])
    assert twice["judge_tokens"] == 2 * once["judge_tokens"] > 0


@pytest.mark.slow
def test_workers_choose_the_same_cases_and_say_the_same(scratch: Project) -> None:
    documents = {}
    chosen = {}
    ways = {
        "serial": ("--rageval-concurrency", "1"),
        "parallel": ("-n", "2"),
    }
    for name, arguments in ways.items():
        scratch.run("--judge-spot-check", "4", "--rageval-run-id", name, *arguments)
        folder = scratch.path / "evals" / "results" / name
        documents[name] = comparable(json.loads((folder / "metrics.json").read_text("utf-8")))
        records = map(flat_line, (folder / "results.jsonl").read_text("utf-8").splitlines())
        chosen[name] = {r["case_id"] for r in records if r["spot_check"]}
    keys = [("evals/eval_set.jsonl", one["id"]) for one in CASES if one.get("answerable", True)]
    expected = {case_id for _, case_id in choose_spot_check(keys, 4)} - {"shy-1"}
    assert len(expected) >= 3
    assert chosen == dict.fromkeys(ways, expected)
    for document in documents.values():
        # Later runs find their verdicts in the cache.
        for name in ("cost_usd", "judge_tokens"):
            document.pop(name)
    assert documents["parallel"] == documents["serial"]
    assert documents["serial"]["judge_reliability"]["spot_check"]


@pytest.mark.parametrize(
    ("toml", "arguments", "told"),
    [
        ("", ("--judge", "offline"), "*offline judge has one wording only*spot_check_model*"),
        ('spot_check_model = "none"', (), "*got 'none', expected another model*"),
        (f'spot_check_model = "{FIRST}"', (), "*expected another model*"),
        ("", ("--judge-rubrics", "claims"), "*the rubrics in use are claims*"),
    ],
)
def test_a_spot_check_that_could_tell_nothing_is_refused(
    scratch: Project, server: HostileJudge, toml: str, arguments: tuple[str, ...], told: str
) -> None:
    scratch.write("pyproject.toml", SETTINGS + toml + "\n")
    result = scratch.run("--judge-spot-check", "2", *arguments)
    assert result.ret == 4
    result.stderr.fnmatch_lines([told])
    assert server.asked == []


@pytest.mark.parametrize("arguments", [("--judge", "none"), ("--retrieval-only",)])
def test_a_run_that_judges_nothing_checks_nothing(
    scratch: Project, server: HostileJudge, arguments: tuple[str, ...]
) -> None:
    scratch.run("--judge-spot-check", "2", *arguments)
    assert server.asked == []
    assert reliability(scratch) is None


def test_a_missing_key_of_the_second_judge_ends_the_run(
    scratch: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("RAGEVAL_JUDGE_BASE_URL")
    second(scratch)
    result = scratch.run("--judge", "offline", "--judge-spot-check", "2")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*OPENAI_API_KEY*"])
