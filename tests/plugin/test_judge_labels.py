"""People's labels in a run: they correct what is said of the judge, and change nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.plugin.long_runs import document
from tests.plugin.scratch import Project, case, comparable, summary_lines

SETTINGS = """
[tool.pytest.ini_options]
filterwarnings = ["error"]
[tool.rageval]
no_report = true
[tool.rageval.target]
retries = 0
"""
CASES = tuple(case(f"ask-{i}", f"hit number {i}") for i in range(6))
LABELS = tuple(
    {"id": f"ask-{i}", "rubric": "groundedness", "label": label}
    for i, label in enumerate((4, 1, 2, 4))
)


@pytest.fixture
def scratch(project: Project) -> Project:
    project.write("pyproject.toml", SETTINGS)
    project.write("thresholds.toml", 'version = 1\n[overall]\ngroundedness = ">= 0"\n')
    project.cases(CASES)
    label(project, *LABELS)
    return project


FILE = "evals/labels/judge.jsonl"


def label(project: Project, *lines: Mapping[str, Any], file: str = FILE) -> None:
    project.write(file, "".join(json.dumps(one) + "\n" for one in lines))


def use(project: Project, file: str = FILE) -> None:
    setting = f'[tool.rageval.judge]\nlabels = "{file}"\n'
    project.write("pyproject.toml", SETTINGS + setting)


def test_a_runs_mean_is_corrected_beside_the_plain_one(scratch: Project) -> None:
    use(scratch)
    result = scratch.run("-v")
    found = scratch.stored("metrics.json")
    corrected = found["judge_reliability"]["corrected"]["groundedness"]
    plain = found["metrics"]["groundedness"]
    assert corrected["judge_mean"] == plain["mean"]
    assert corrected["human_mean"] == 2.75
    assert corrected["low"] < corrected["estimate"] < corrected["high"]
    assert (corrected["n_labels"], corrected["n_judge_only"]) == (4, 2)
    told = " ".join(" ".join(summary_lines(result)).split())
    assert f"judge groundedness {corrected['estimate']:.2f} [" in told
    assert f"the judge alone says {plain['mean']:.2f} over 6 cases" in told
    (folder,) = scratch.run_folders()
    assert "corrected by 4 labels" in (folder / "summary.md").read_text(encoding="utf-8")


def test_labels_of_unselected_cases_are_counted_as_unused(scratch: Project) -> None:
    use(scratch)
    scratch.run("-k", "ask-0 or ask-5")
    found = scratch.stored("metrics.json")["judge_reliability"]["corrected"]
    assert (found["groundedness"]["n_labels"], found["groundedness"]["n_unused"]) == (1, 3)


@pytest.mark.slow
def test_workers_correct_alike(scratch: Project) -> None:
    use(scratch)
    found = []
    for name, arguments in {"serial": (), "parallel": ("-n", "2")}.items():
        scratch.run("--rageval-run-id", name, *arguments)
        found.append(comparable(document(scratch.folder(name))))
    assert found[0] == found[1]
    assert found[0]["judge_reliability"]["corrected"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"id": "ask-0", "rubric": "tone", "label": 1}, '*judge.jsonl:1: rubric: *"tone"*'),
        (
            {"id": "ask-0", "rubric": "correctness", "label": "yes"},
            '*:1: label: *"yes", expected*',
        ),
    ],
)
def test_a_fault_of_the_labels_stops_the_run_before_it_begins(
    scratch: Project, line: dict[str, Any], told: str
) -> None:
    use(scratch)
    label(scratch, line)
    result = scratch.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines([told])
    assert scratch.run_folders() == []
