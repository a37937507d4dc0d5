"""The end of a run: its decision, its files and their order, and faults that lose no record."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.analysis.trust.reliability import HumanLabel, JudgeLabels
from pytest_rageval.engine import finish
from pytest_rageval.engine.finish import EndedRun, finish_run, open_gate
from pytest_rageval.engine.merge import merge_parts
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.report.view.summary import FinishedRun
from pytest_rageval.runs import store
from pytest_rageval.runs.read import read_documents
from pytest_rageval.runs.store import RunWriter, read_json, read_records, write_document
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.gate import Check, GateResult, Thresholds
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import CaseSet, StoredRun
from pytest_rageval.values.settings import Settings
from tests.build.records import changed, selection_of
from tests.build.runs import config_of, run_of, scored, write_run

HIT: Any = {"metric": "hit_at_k", "kind": "min", "min_n": 1}
FILES = ["config.json", "groups.json", "metrics.json", "gate.json", "summary.md", "report.html"]
UNDECIDED = GateResult(verdict="not_evaluated", sentence="not evaluated: interrupted")


@pytest.fixture
def project(tmp_path: Path) -> Settings:
    """Settings of an empty project without a judge."""
    return Settings(rootdir=str(tmp_path), judge="none")


def results(project: Settings) -> Path:
    return project.results_folder


def ended(project: Settings, records: list[CaseRecord], *checks: Check, **fields: Any) -> EndedRun:
    given: dict[str, Any] = {
        "thresholds": Thresholds(checks=checks),
        "selection": selection_of(records),
        "n_expected": len(records),
        "n_reported": len(records),
    }
    run = StoredRun(
        folder=results(project) / "now",
        records=records,
        config=replace(config_of(records, project), run_id="now"),
        gate=fields.pop("gate", None),
        settings=project,
    )
    return EndedRun(run=run, project=project, **given | fields)


def finished(run: EndedRun) -> FinishedRun:
    """Write the records, the documents and the page of a run."""
    with RunWriter(run.run.folder.parent, run.run.run_id) as writer:
        for one in run.run.records:
            writer.append(one)
        return finish_run(run, writer)


# --- the decision and the files -------------------------------------------------------------


@pytest.mark.parametrize(("limit", "verdict"), [(0.8, "pass"), (0.81, "fail")])
def test_the_decision_is_that_of_the_limits_in_result_and_file(
    project: Settings, limit: float, verdict: str
) -> None:
    found = finished(ended(project, run_of(20), Check(limit=limit, **HIT)))  # 16 of 20 hit
    stored = read_json(found.run.folder / "gate.json")
    assert (found.gate.verdict, stored["verdict"]) == (verdict, verdict)
    assert read_documents(found.run.folder).gate == found.run.gate == found.gate
    assert stored["checks"][0]["estimate"] == 0.8


def test_a_run_that_lacks_cases_fails_and_names_the_command_that_continues_it(
    project: Settings,
) -> None:
    command = "pytest --rageval-resume now"
    check = Check(limit=0.8, **HIT)
    whole = finished(ended(project, run_of(20), check, resume=command))
    assert (whole.gate.verdict, whole.resume) == ("pass", "")
    project = replace(project, results_dir="other")
    found = finished(ended(project, run_of(20), check, n_expected=21, resume=command))
    assert (found.gate.verdict, found.gate.complete) == ("fail", False)
    assert found.resume == command


def test_every_file_holds_what_is_returned(project: Settings) -> None:
    found = finished(ended(project, run_of(20)))
    folder = found.run.folder
    assert sorted(path.name for path in folder.iterdir()) == sorted([*FILES, "results.jsonl"])
    assert read_documents(folder).config == found.run.config
    assert found.run.aggregate is not None
    assert (folder / "summary.md").read_text(encoding="utf-8") == found.summary
    assert len(read_records(folder)) == found.run.aggregate.total == 20
    assert found.report == "evals/results/now/report.html"


def test_the_summary_of_a_large_failing_run_stays_below_60_lines(project: Settings) -> None:
    stages = ["not_retrieved", "not_cited", "not_used", "incorrect", "hallucinated"]
    records = [
        scored(f"c-{n}", 0.0, failure_stage=stages[n % 5], category=f"group {n % 40}")
        for n in range(200)
    ]
    limits = [Check(metric=key, kind="min", limit=1.0, min_n=1) for key in BUILT_IN.cases]
    seen, *folded = finished(ended(project, records, *limits)).summary.split("<details>")
    assert len("".join([seen, *folded]).splitlines()) < 60
    assert seen.startswith("## rageval: FAIL")
    assert "**FAIL** hit\\_at\\_k" in seen
    assert all("</details>" in part for part in folded)


def test_the_files_are_written_in_an_order_in_which_a_verdict_has_its_numbers(
    project: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced: list[str] = []
    rename = os.replace

    def noted(source: Path, target: Path) -> None:
        replaced.append(Path(target).name)
        rename(source, target)

    run = ended(project, run_of(20))
    monkeypatch.setattr(os, "replace", noted)
    finished(run)
    assert replaced == [".gitignore", *FILES]


def test_an_interrupted_run_keeps_its_numbers_and_is_not_decided(project: Settings) -> None:
    found = finished(ended(project, run_of(20), Check(limit=0.99, **HIT), gate=UNDECIDED))
    assert found.gate is UNDECIDED
    assert read_json(found.run.folder / "gate.json")["verdict"] == "not_evaluated"
    assert read_json(found.run.folder / "metrics.json")["total"] == 20


# --- the baseline ---------------------------------------------------------------------------

DROP = Check(metric="hit_at_k", kind="max_drop", limit=0.1, min_n=1)


def test_a_run_is_compared_with_the_baseline_that_the_settings_name(project: Settings) -> None:
    write_run(results(project), "main", run_of(40), project)
    with_baseline = replace(project, baseline="main")
    found = finished(ended(with_baseline, run_of(40, missed=range(1, 20)), DROP))
    assert found.gate.verdict == "fail"
    assert found.gate.baseline is not None
    assert (found.gate.baseline.run_id, found.gate.baseline.n_paired) == ("main", 40)
    assert found.changes


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (None, "no baseline is named"),
        ("gone", "run 'gone': not found"),
        ("part-1", "is the compared run itself or a part"),
    ],
)
def test_a_baseline_that_cannot_be_read_is_a_problem_and_not_an_error(
    project: Settings, name: str | None, problem: str
) -> None:
    write_run(results(project), "part-1", run_of(20), project)
    run = ended(replace(project, baseline=name), run_of(20), DROP, parts=("part-1",))
    found = run.baseline()
    assert found is not None
    assert problem in (found.info.problem or "")
    assert project.rootdir not in (found.info.problem or ""), "a path of one machine"
    assert finished(run).gate.checks[0].status == "skip"


# --- faults ---------------------------------------------------------------------------------


def test_a_page_that_cannot_be_written_costs_neither_verdict_nor_files(
    project: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("no template")

    monkeypatch.setattr("pytest_rageval.report.html.run.page.write_report", fails)
    found = finished(ended(project, run_of(20), Check(limit=0.8, **HIT)))
    assert found.gate.verdict == "pass"
    assert list(found.notes) == ["report.html was not written: RuntimeError: no template"]
    assert found.report == ""
    assert [name for name in FILES if not (found.run.folder / name).is_file()] == ["report.html"]


def fail(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the disk be full for one document."""

    def write_others(folder: Path, file: str, document: Any) -> Path:
        if file == name:
            raise StorageError(f"{folder / file}: cannot be written: No space left on device")
        return write_document(folder, file, document)

    for module in (finish, store):
        monkeypatch.setattr(module, "write_document", write_others)


@pytest.mark.parametrize("name", ["config.json", "metrics.json", "gate.json"])
def test_a_document_that_cannot_be_written_is_an_error_and_keeps_every_record(
    project: Settings, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    fail(monkeypatch, name)
    run = ended(project, run_of(20))
    with pytest.raises(StorageError, match=f"{name}: cannot be written"):
        finished(run)
    assert len(read_records(run.run.folder)) == 20
    assert not (run.run.folder / name).exists()
    RunWriter(run.run.folder.parent, "now", resume=True).close()  # and it can be continued


# --- the other sources of records -------------------------------------------------------------


def parts_of(project: Settings, records: list[CaseRecord]) -> list[StoredRun]:
    described = CaseSet(hash="h", n_cases=len(records), n_asked=len(records))
    found = []
    for number in (0, 1):
        chosen = records[number::2]
        config = replace(config_of(chosen, project), set=described, wall_s=2.0 + number)
        folder = results(project) / f"part-{number}"
        found.append(StoredRun(folder=folder, records=chosen, config=config, settings=project))
    return found


def test_merged_parts_are_decided_as_one_run(project: Settings) -> None:
    records = run_of(20)
    (Path(project.rootdir) / "thresholds.toml").write_text(
        "[overall]\nhit_at_k = { min = 0.9, min_n = 1 }\n", encoding="utf-8"
    )
    found = merge_parts(parts_of(project, records), project, run_id="whole")
    assert (found.gate.verdict, found.gate.complete) == ("fail", True)
    assert read_json(found.run.folder / "gate.json")["verdict"] == "fail"
    assert {one.case.id for one in read_records(found.run.folder)} == {r.case.id for r in records}
    assert found.run.config.wall_s == 3.0
    lacking = merge_parts(parts_of(project, records)[:1], project, run_id="half")
    assert not lacking.gate.complete


def test_the_gate_of_a_stored_run_is_that_of_its_end(project: Settings) -> None:
    (Path(project.rootdir) / "thresholds.toml").write_text(
        "[overall]\nhit_at_k = { min = 0.7, min_n = 1 }\n", encoding="utf-8"
    )
    first = merge_parts(parts_of(project, run_of(20)), project, run_id="whole")
    again = open_gate(first.run.folder, project).with_numbers()
    decided = again.decide(again.baseline())
    assert decided.verdict == first.gate.verdict == "pass"
    assert [c.check.name for c in decided.checks] == [c.check.name for c in first.gate.checks]
    assert (again.n_expected, again.n_reported) == (20, 20)


def test_a_stored_run_keeps_the_means_that_people_corrected(project: Settings) -> None:
    (Path(project.rootdir) / "thresholds.toml").write_text(
        '[overall]\ngroundedness = { min = 3.5, use = "corrected" }\n', encoding="utf-8"
    )
    project = replace(project, judge="offline")
    records = [changed(one, metrics={"groundedness": 4.0}) for one in run_of(20)]
    said = [
        HumanLabel(case_id=one.case.id, rubric="groundedness", label=3.0) for one in records[:9]
    ]
    labels = JudgeLabels(labels=tuple(said), display="labels.jsonl")
    first = finished(ended(project, records, labels=labels)).run
    again = open_gate(first.folder, project).with_numbers()
    assert again.run.numbers.judge_reliability == first.numbers.judge_reliability
    found = {one.name: one for one in again.decide(again.baseline()).checks}["groundedness"]
    assert (found.status, found.n) == ("fail", 9)
    assert found.estimate == pytest.approx(3.0)


def test_a_killed_run_has_no_gate_and_is_decided_as_incomplete(project: Settings) -> None:
    records = run_of(20)
    folder = write_run(results(project), "killed", records, project, set={"n_asked": 25})
    (folder / "gate.json").unlink()
    found = open_gate(folder, project)
    assert (found.n_expected, found.n_reported) == (25, 20)
    assert not found.with_numbers().decide(None).complete
