"""``rageval gate``: a stored run decided once more."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.runs.tags import write_tag
from pytest_rageval.values.record import CaseRecord
from tests.build.repository import NEEDS_GIT, Repository, forget_git
from tests.build.runs import SETTINGS, run_of, write_run

Output = pytest.CaptureFixture[str]
RESULTS = Path("evals/results")
DROPPED = range(100, 130)
DROP = 'baseline = "main"\n[overall]\nrecall_at_k = { max_drop = 0.05 }\n'


def thresholds(text: str) -> None:
    Path("thresholds.toml").write_text(text, encoding="utf-8")


def runs(new: list[CaseRecord], **config: Any) -> None:
    write_run(RESULTS, "r1", run_of(200))
    write_tag(RESULTS, "main", "r1")
    write_run(RESULTS, "r2", new, day=2, **config)


def gate(capsys: Output, *arguments: str, code: int = 0) -> dict[str, Any]:
    assert cli.run(["gate", *arguments, "--json"]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_a_run_is_decided_by_the_thresholds_of_today(capsys: Output) -> None:
    runs(run_of(200))
    thresholds('[overall]\nrecall_at_k = ">= 0.8"\n')
    assert gate(capsys, "r2")["verdict"] == "pass"
    thresholds('[overall]\nrecall_at_k = ">= 0.81"\n')
    found = gate(capsys, "r2", code=ExitCode.NO)
    assert found["sentence"] == "FAIL 1 of 2 checks: recall_at_k 0.800 is below min 0.810"
    assert found["schema_version"] == 1


def test_a_fault_of_the_thresholds_is_pointed_at(capsys: Output) -> None:
    runs(run_of(200))
    thresholds("[overall]\nmrr = nan\n")
    assert cli.run(["gate", "r2"]) == ExitCode.USAGE
    assert capsys.readouterr().err.endswith("\n    2 | mrr = nan\n")


def test_a_check_of_the_command_line_wins_over_that_of_file_and_run(capsys: Output) -> None:
    runs(run_of(200), settings=replace(SETTINGS, extra_gates=("recall_at_k>=0.2",)))
    thresholds('[overall]\nrecall_at_k = ">= 0.9"\n')
    assert gate(capsys, "r2")["verdict"] == "pass"
    found = gate(capsys, "r2", "--gate", "recall_at_k>=0.95", "--gate", "mrr>=0.1", code=1)
    assert found["sentence"] == "FAIL 1 of 3 checks: recall_at_k 0.800 is below min 0.950"
    assert cli.run(["gate", "r2", "--gate", "mr>=1"]) == ExitCode.USAGE
    assert "--gate: got 'mr>=1': unknown metric \"mr\"" in capsys.readouterr().err


def test_a_drop_against_the_baseline_of_the_file_is_exit_1(capsys: Output) -> None:
    runs(run_of(200, missed=DROPPED))
    thresholds(DROP)
    found = gate(capsys, "r2", code=ExitCode.NO)
    assert found["baseline"]["name"] == "main"
    assert (found["baseline"]["run_id"], found["baseline"]["n_paired"]) == ("r1", 200)
    assert gate(capsys, "r2", "--allow-regressions")["checks"][0]["status"] == "warn"


def test_a_baseline_can_be_named_and_one_made_otherwise_is_exit_3_unless_another_check_fails(
    capsys: Output,
) -> None:
    runs(run_of(200, missed=DROPPED))
    write_run(RESULTS, "r0", run_of(200, missed=DROPPED), day=3)
    write_run(RESULTS, "other", run_of(200), replace(SETTINGS, k=9), day=3)
    thresholds(DROP)
    assert gate(capsys, "r2", "--baseline", "r0")["verdict"] == "pass"
    found = gate(capsys, "r2", "--baseline", "other", code=ExitCode.NOT_COMPARABLE)
    problem = "not comparable with the baseline: k: 9 in base, 5 in new"
    assert found["baseline"]["problem"] == problem
    assert found["checks"][0]["status"] == "skip"
    thresholds(DROP.replace("{", "{ min = 0.9,"))
    found = gate(capsys, "r2", "--baseline", "other", code=ExitCode.NO)
    assert (found["verdict"], found["baseline"]["problem"]) == ("fail", problem)


def test_a_missing_baseline_is_said(capsys: Output) -> None:
    runs(run_of(200))
    thresholds(DROP.replace("main", "nightly"))
    assert cli.run(["gate", "r2"]) == ExitCode.YES
    out = " ".join(capsys.readouterr().out.split())
    assert "baseline none: run 'nightly': not found" in out
    assert "make one with `rageval runs tag RUN nightly`" in out
    assert "1 skipped (no baseline)" in out
    assert cli.run(["gate", "r2", "--baseline", "nothing"]) == ExitCode.USAGE
    assert "run 'nothing': not found" in capsys.readouterr().err


def test_a_run_is_not_its_own_baseline(capsys: Output) -> None:
    runs(run_of(200))
    thresholds(DROP)
    found = gate(capsys, "main")
    assert found["checks"][0]["status"] == "skip"
    assert "is the compared run itself" in found["checks"][0]["message"]


def test_a_run_without_records_of_its_cases_fails(capsys: Output) -> None:
    runs([])
    thresholds('[overall]\nrecall_at_k = ">= 0.1"\n')
    found = gate(capsys, "r2", code=ExitCode.NO)
    assert "no data" in found["checks"][0]["message"]


def test_a_run_that_was_killed_is_incomplete(capsys: Output) -> None:
    told = {"hash": "h", "n_cases": 200, "n_asked": 200, "by_category": {}, "by_tag": {}}
    runs(run_of(150), set=told)
    (RESULTS / "r2" / "gate.json").unlink()
    found = gate(capsys, "r2", code=ExitCode.NO)
    assert found["sentence"].startswith("INCOMPLETE: 150 of 200 cases reported")


def test_the_decision_is_appended_to_the_summary_of_a_ci_step(
    capsys: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = tmp_path / "step-summary"
    step.write_text("earlier\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    runs(run_of(200, missed=DROPPED))
    thresholds(DROP)
    gate(capsys, "r2", code=ExitCode.NO)
    said = step.read_text(encoding="utf-8")
    assert said.startswith("earlier\n\n## rageval: FAIL 1 of 2 checks")
    assert "\n- **run** r2\n- **baseline** main" in said
    assert "\n- **FAIL** recall\\_at\\_k max\\_drop: drop 0.120 is above" in said


@NEEDS_GIT
class TestAuto:
    """``--baseline auto`` in a repository, of which ``evals/results`` is not committed."""

    @pytest.fixture
    def here(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
        forget_git(monkeypatch)
        found = Repository(project)
        found.commit("one")
        return found

    def test_the_run_of_the_merge_base_decides(self, here: Repository, capsys: Output) -> None:
        thresholds(DROP.replace('"main"', '"auto"'))
        here.store("base", run_of(200))
        here.branch("change")
        here.commit("two")
        here.store("new", run_of(200, missed=DROPPED), day=2)
        assert gate(capsys, "new", code=ExitCode.NO)["baseline"]["run_id"] == "base"
        thresholds(DROP)
        found = gate(capsys, "new", "--baseline", "auto", code=ExitCode.NO)
        assert (found["baseline"]["run_id"], found["baseline"]["n_paired"]) == ("base", 200)
        assert found["baseline"]["choice"]["code"] == "merge_base"
        assert cli.run(["gate", "new", "--baseline", "auto"]) == ExitCode.NO
        out = " ".join(capsys.readouterr().out.split())
        assert "run of the merge base" in out
        assert "0 commits old" in out
        assert "the baseline is over 14 days" in out  # of a run of January 2026

    def test_no_baseline_is_a_line_and_never_a_comparison(
        self, here: Repository, capsys: Output
    ) -> None:
        thresholds(DROP)
        here.store("new", run_of(200))
        found = gate(capsys, "new", "--baseline", "auto")
        assert (found["baseline"]["run_id"], found["baseline"]["choice"]["code"]) == (None, "first")
        assert found["checks"][0]["status"] == "skip"
        assert cli.run(["gate", "new", "--baseline", "auto"]) == ExitCode.YES
        out = " ".join(capsys.readouterr().out.split())
        assert "nothing was decided against one" in out
        thresholds("require_baseline = true\n" + DROP)
        assert gate(capsys, "new", "--baseline", "auto", code=ExitCode.NO)["verdict"] == "fail"

    def test_runs_of_another_folder_are_named_and_an_unknown_one_is_an_error(
        self, here: Repository, capsys: Output, tmp_path: Path
    ) -> None:
        thresholds(DROP)
        elsewhere = tmp_path / "kept"
        here.store("base", run_of(200), results=elsewhere)
        here.branch("change")
        here.commit("two")
        here.store("new", run_of(200), day=2)
        arguments = ("new", "--baseline", "auto", "--runs")
        assert gate(capsys, *arguments, str(elsewhere))["baseline"]["run_id"] == "base"
        assert cli.run(["gate", *arguments, "nowhere"]) == ExitCode.USAGE
        assert "nowhere" in capsys.readouterr().err

    def test_a_detached_head_and_uncommitted_changes_are_compared_as_well(
        self, here: Repository, capsys: Output
    ) -> None:
        thresholds(DROP)
        here.store("base", run_of(200))
        here.branch("change")
        here.commit("two")
        here.git("checkout", "-q", "--detach")
        here.store("new", run_of(200, missed=DROPPED), day=2)
        found = gate(capsys, "new", "--baseline", "auto", code=ExitCode.NO)["baseline"]
        assert (found["run_id"], codes(found)) == ("base", ["old"])
        (here.path / "bot.txt").write_text("changed", encoding="utf-8")
        here.store("dirty", run_of(200, missed=DROPPED), day=3)
        found = gate(capsys, "dirty", "--baseline", "auto", code=ExitCode.NO)["baseline"]
        assert (found["run_id"], codes(found)) == ("base", ["dirty_tree", "old"])

    def test_a_stored_run_is_compared_with_the_merge_base_of_its_own_commit(
        self, here: Repository, capsys: Output
    ) -> None:
        thresholds(DROP)
        here.store("base", run_of(200))
        here.branch("change")
        here.commit("two")
        here.store("new", run_of(200, missed=DROPPED), day=2)
        here.git("checkout", "-q", "main")
        here.commit("three")
        (here.path / "bot.txt").write_text("changed since", encoding="utf-8")
        found = gate(capsys, "new", "--baseline", "auto", code=ExitCode.NO)["baseline"]
        assert (found["choice"]["code"], found["run_id"]) == ("merge_base", "base")
        assert codes(found) == ["old"]
        here.store("of-a-fork", run_of(200), day=3, git={"commit": "0123abc", "dirty": False})
        found = gate(capsys, "of-a-fork", "--baseline", "auto")["baseline"]
        assert found["choice"]["code"] == "unknown_commit"
        assert "git fetch origin 0123abc" in found["problem"]

    def test_a_shallow_clone_decides_nothing_and_says_how_to_deepen_it(
        self, here: Repository, capsys: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here.commit("two")
        here.branch("change")
        here.commit("three")
        clone = Repository(tmp_path / "clone", cloned_from=here.path.as_uri(), depth=1)
        clone.git("fetch", "-q", "--depth", "1", "origin", "main:refs/remotes/origin/main")
        monkeypatch.chdir(clone.path)
        clone.store("new", run_of(200))
        thresholds(DROP)
        arguments = ("new", "--baseline", "auto")
        monkeypatch.setenv("RAGEVAL_MAIN_BRANCH", "main")
        assert gate(capsys, *arguments)["baseline"]["choice"]["code"] == "shallow"
        assert cli.run(["gate", *arguments]) == ExitCode.YES
        assert "git fetch --unshallow" in " ".join(capsys.readouterr().out.split())


def codes(baseline: dict[str, Any]) -> list[str]:
    return [remark["code"] for remark in baseline["choice"]["remarks"]]
