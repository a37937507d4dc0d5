"""Configurations asked in rungs, with the records and numbers of one evaluation in one go."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import AskRequest, AskResponse, RetrievedChunk, evaluate
from pytest_rageval.api.cases import choose_cases
from pytest_rageval.engine.own_code import open_registry
from pytest_rageval.engine.preparing import run_thresholds
from pytest_rageval.engine.sweep.trials import SweepCases, SweepRuns, TargetGoneError, Trial
from pytest_rageval.judges.opening import open_judge
from pytest_rageval.project.settings import load_settings
from pytest_rageval.support.in_flight import Slots
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.settings import Settings
from tests.build.files import write_lines
from tests.build.projects import work_in
from tests.build.run_files import documents
from tests.plugin.scratch import case

CASES = [
    case(f"c-{n}", f"{'hit' if n % 3 else 'miss'} number {n}", category="ab"[n % 2])
    for n in range(9)
] + [case("out", "abstain", answerable=False)]


@dataclass
class Target:
    """Counts what it is asked; it breaks off after some questions."""

    asked: Counter[tuple[str, int]] = field(default_factory=Counter)
    left: int = 1000
    error: type[BaseException] = KeyboardInterrupt

    def ask(self, request: AskRequest) -> AskResponse:
        if not self.left:
            raise self.error
        assert request.k is not None
        self.left -= 1
        self.asked[request.question, request.k] += 1
        word = request.question.split()[0]
        if word == "abstain":
            return AskResponse(answer="I do not know.", abstained=True, retrieved_chunks=())
        path = "a.md" if word == "hit" else "b.md"
        text = "the note says what it says."
        chunk = RetrievedChunk(rel_path=path, heading_path="# A", text=text)
        chunks = tuple(replace(chunk, rank=n) for n in range(1, request.k + 1))
        return AskResponse(answer=f"It {text} [1]", abstained=False, retrieved_chunks=chunks)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work_in(tmp_path, monkeypatch)
    write_lines(Path("evals/set.jsonl"), *CASES)
    Path("pyproject.toml").write_text("[tool.rageval]\nno_report = true\n", encoding="utf-8")
    return tmp_path


def sweep_settings(**values: Any) -> Settings:
    found = load_settings(Path.cwd(), flags={}, environ=os.environ)
    return replace(found, results_dir="evals/results/s", **values)


def cases_of(settings: Settings) -> SweepCases:
    chosen = choose_cases("evals", settings)
    registry = open_registry(settings)
    return SweepCases(
        cases=chosen.cases,
        sets=chosen.sets,
        registry=registry,
        thresholds=run_thresholds(settings, registry, chosen.sets.values(), whole=True),
    )


def ask(
    target: object,
    n: int,
    *,
    ks: Sequence[int] = (1, 3),
    judged: bool = False,
    concurrency: int = 2,
    kind: type[SweepRuns] = SweepRuns,
) -> dict[str, StoredRun]:
    """Ask configurations of some k the first cases, as a rung does, in a process of its own."""
    settings = sweep_settings()
    trials = [Trial(run_id=f"k-{k}", settings=replace(settings, k=k), client=target) for k in ks]
    cases = cases_of(settings)
    with open_judge(settings, environ={}) as judge:
        with kind(cases=cases, slots=Slots(concurrency), judge=judge) as runs:
            for count in (2, n) if judged else (n,):  # the judge comes in for the last rung
                found = runs.ask(trials, list(cases.cases)[:count], judged=judged and count == n)
            runs.finish(found, page=False)
            return found


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_configuration_asked_in_rungs_is_the_run_of_one_evaluation(concurrency: int) -> None:
    target = Target()
    ask(target, 4, concurrency=concurrency)
    first = json.loads(Path("evals/results/s/k-3/metrics.json").read_text("utf-8"))
    assert (first["total"], first["metrics"]["groundedness"]["mean"]) == (4, None)
    ask(target, 10, ks=[3], judged=True, concurrency=concurrency)
    assert set(target.asked.values()) == {1}
    assert sum(k == 1 for _, k in target.asked) == 4
    whole = evaluate("evals", Target(), k=3, run_id="whole")
    assert whole.folder is not None
    found, expected = documents(Path("evals/results/s/k-3")), documents(whole.folder)
    for name in ("config.json", "gate.json"):
        found.pop(name), expected.pop(name)
    assert found["metrics.json"]["metrics"]["groundedness"]["mean"] is not None
    assert found == expected


def test_answers_judged_and_runs_written_are_counted_meanwhile() -> None:
    steps: list[str] = []

    class Watched(SweepRuns):
        def __setattr__(self, name: str, value: object) -> None:
            if name == "step":
                steps.append(str(value))
            super().__setattr__(name, value)

    ask(Target(), 3, judged=True, kind=Watched)
    judged = ["1 of 2 answers judged", "2 of 2 answers judged", ""]
    assert steps == ["", *judged, *judged, "0 of 2 runs written", "1 of 2 runs written", ""]


def test_an_interrupted_rung_asks_only_the_rest() -> None:
    target = Target(left=7)
    with pytest.raises(KeyboardInterrupt):
        ask(target, 10, concurrency=1)
    target.left = 1000
    finished = ask(target, 10, concurrency=1)
    assert set(target.asked.values()) == {1}
    assert {len(run.records) for run in finished.values()} == {10}


def test_without_a_connection_the_sweep_ends_at_once() -> None:
    target = Target(left=0, error=ConnectionRefusedError)
    with pytest.raises(TargetGoneError, match="cannot be reached: gave up after 10 connection"):
        ask(target, 10)
