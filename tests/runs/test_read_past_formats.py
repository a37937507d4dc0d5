"""Runs of past formats, as earlier versions wrote them, read by everything that reads a run.

A new `schema_version`, or a release that changes what is stored, adds a folder to ``data/formats``;
none is ever changed or removed.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.runs.read import read_run
from pytest_rageval.values.record import SCHEMA_VERSION
from tests.build.projects import work_in

FORMATS: Final = Path(__file__).parents[1] / "data" / "formats"
RUNS: Final = sorted(path for path in FORMATS.glob("*/*") if path.is_dir())
NAMES: Final = [path.name for path in RUNS]


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results folder of a project that holds a copy of every run."""
    project = work_in(tmp_path, monkeypatch)
    (project / "pyproject.toml").write_text("[tool.rageval]\n", encoding="utf-8")
    folder = project / "evals" / "results"
    for run in RUNS:
        shutil.copytree(run, folder / run.name)
    return folder


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """JSON object that a command prints, which may decide either way."""
    assert cli.run([*arguments, "--json"]) in {ExitCode.YES, ExitCode.NO, ExitCode.NOT_COMPARABLE}
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_every_schema_version_so_far_has_a_run() -> None:
    assert {int(path.parent.name) for path in RUNS} == set(range(1, SCHEMA_VERSION + 1))


@pytest.mark.parametrize("name", NAMES)
def test_a_run_keeps_its_figures_and_cases(results: Path, name: str) -> None:
    stored = json.loads((results / name / "metrics.json").read_text("utf-8"))
    lines = (results / name / "results.jsonl").read_text("utf-8").splitlines()
    documents = {document["case"]["id"]: document for document in map(json.loads, lines)}

    run = read_run(results / name)

    assert run.aggregate is not None
    means = {key: one["mean"] for key, one in stored["metrics"].items()}
    assert {key: one.mean for key, one in run.aggregate.metrics.items()} == means
    assert {record.case.id for record in run.records} == documents.keys()
    for record in run.records:
        line = documents[record.case.id]
        known = line["scores"]["metrics"]
        assert record.scores.outcome == line["scores"]["outcome"]
        assert {key: record.scores.metrics[key] for key in known} == known
        assert len(record.reply.retrieved_chunks or ()) == len(line["response"]["retrieved_chunks"])


@pytest.mark.parametrize("name", NAMES)
def test_commands_read_it(results: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for record in read_run(results / name).records:
        found = printed(capsys, "explain", name, record.case.id)
        assert record.case.question in json.dumps(found, ensure_ascii=False)
    assert printed(capsys, "runs", "show", name)["run_id"]
    assert printed(capsys, "gate", name)["verdict"]
    assert cli.run(["report", name]) == ExitCode.YES
    page = (results / name / "report.html").read_text("utf-8")
    assert all(record.case.id in page for record in read_run(results / name).records)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_compared_with_the_newest(
    results: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = printed(capsys, "compare", name, NAMES[-1])
    assert json.dumps(found["base"]).count(name)
