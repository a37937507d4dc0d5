"""Cases whose retrieval is right and whose answer is not."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from pytest_rageval.cli import main as cli
from tests.plugin.long_runs import lines_of
from tests.plugin.scratch import (
    CONFTEST,
    Project,
    case,
    failed_line,
    outcomes,
    summary_lines,
)

CITING = '"references": [{"rel_path": path,'
WRONG = CITING.replace("path,", "'z.md' if 'badly' in question else path,")
BADLY = CONFTEST.replace(CITING, WRONG)
CASES = (
    case("good", "hit well"),
    case("uncited", "hit badly", category="multi_hop"),
    case("lost", "miss badly", category="multi_hop"),
)
BY_RETRIEVAL = '[cases]\njudged_on = ["retrieval"]\n'


@pytest.fixture
def flawed(project: Project) -> Project:
    project.write("conftest.py", BADLY)
    project.cases(CASES)
    project.write("thresholds.toml", "[overall]\nrecall_at_k = '>= 0.5'\n")
    return project


def test_a_flawed_case_is_shown_as_such_and_fails_nothing_by_itself(flawed: Project) -> None:
    result = flawed.run("--json-report", "--junitxml=j.xml")
    assert result.ret == 0
    assert outcomes(result) == {"passed": 1, "flawed": 1, "missed": 1, "checks passed": 2}
    lines = list(summary_lines(result))
    assert "3 cases: 1 passed, 1 flawed, 1 missed;" in lines[0]
    assert lines[1:3] == ["missed   1 not retrieved: lost", "flawed   1 not cited: uncited"]
    metrics = flawed.stored("metrics.json")
    assert (metrics["passed"], metrics["flawed"], metrics["missed"]) == (1, 1, 1)
    assert metrics["stages"] == {"not_cited": 1, "not_retrieved": 1}
    assert metrics["rates"]["pass_rate"] == pytest.approx(1 / 3)
    assert flawed.stored("config.json")["settings"]["judged_on"] == ["retrieval", "answer"]
    (folder,) = flawed.run_folders()
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    assert "3 cases: 1 passed, 1 flawed, 1 missed;" in summary
    assert "- **stages** 1 not\\_retrieved, 1 not\\_cited\n" in summary
    assert "- **flawed** 1 not cited: uncited\n" in summary
    tests = json.loads((flawed.path / ".report.json").read_text(encoding="utf-8"))["tests"]
    found = sorted(one["outcome"] for one in tests)
    assert found == ["flawed", "missed", "passed", "passed", "passed"]
    junit = {c.get("name"): c for c in ET.parse(flawed.path / "j.xml").iter("testcase")}
    skipped = junit["uncited"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "not_cited: attribution_hit_rate 0"


@pytest.mark.parametrize("text", ["[cases]\non_miss = 'fail'\n", None])
def test_a_flaw_fails_where_a_miss_does(flawed: Project, text: str | None) -> None:
    flawed.cases(CASES[:2])
    (flawed.path / "thresholds.toml").unlink()
    if text is not None:
        flawed.write("thresholds.toml", text)
    result = flawed.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines([failed_line("evals/eval_set.jsonl::uncited", "*not_cited*")])
    assert "1 case flawed: uncited" in flawed.stored("gate.json")["sentence"]


def test_a_flaw_of_a_required_case_fails_it(flawed: Project) -> None:
    flawed.cases([CASES[0], {**CASES[1], "required": True}])
    assert flawed.run().ret == 1
    assert "1 required case flawed: uncited" in flawed.stored("gate.json")["sentence"]


def test_a_resumed_run_is_decided_by_the_rule_of_today(flawed: Project) -> None:
    flawed.run("--rageval-run-id", "one")
    flawed.write("thresholds.toml", BY_RETRIEVAL)
    result = flawed.run("--rageval-resume", "one")
    assert outcomes(result) == {"passed": 2, "missed": 1, "checks passed": 1}
    assert [r["outcome"] for r in lines_of(flawed.folder())] == ["passed", "passed", "missed"]


def test_stages_can_be_limited(flawed: Project) -> None:
    flawed.write(
        "thresholds.toml",
        "[overall]\nstage.not_retrieved = '<= 1'\nstage.not_cited = { max = 0 }\n"
        "[category.multi_hop]\nstage.not_cited = '<= 1'\n",
    )
    result = flawed.run(
        "-v", "--gate", "stage.incorrect<=0", "--gate", "stage.not_retrieved[factual]<=0"
    )
    assert result.ret == 1
    result.stdout.fnmatch_lines(["1 is above max 0", "cases: uncited"])
    found = flawed.stored("gate.json")["checks"]
    assert {one["name"]: (one["status"], one["estimate"]) for one in found} == {
        "stage.not_retrieved": ("pass", 1.0),
        "stage.not_cited": ("fail", 1.0),
        "stage.not_cited [multi_hop]": ("pass", 1.0),
        "stage.incorrect": ("skip", None),
        "stage.not_retrieved [factual]": ("pass", 0.0),
        "error_rate": ("pass", 0.0),
    }


def test_a_stored_run_is_gated_by_the_rule_of_today(
    flawed: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    flawed.cases(CASES[:2])
    flawed.run("--rageval-run-id", "one")
    monkeypatch.chdir(flawed.path)
    flawed.write("thresholds.toml", "[overall]\npass_rate = '>= 1'\n")
    assert cli.run(["gate", "one"]) == 1
    flawed.write("thresholds.toml", BY_RETRIEVAL + "[overall]\npass_rate = '>= 1'\n")
    assert cli.run(["gate", "one"]) == 0
