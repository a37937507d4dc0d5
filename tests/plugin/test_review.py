"""Cases that a program made and nobody has reviewed yet."""

from __future__ import annotations

from tests.plugin.scratch import (
    CASES,
    REFUSED,
    Project,
    case,
    checks,
    outcomes,
    summary_lines,
)

UNREVIEWED = case("made-1", "miss six", category="multi_hop", review="generated", required=True)
STRICT = """
[cases]
on_miss = "fail"
[overall]
hit_at_k = ">= 1"
[category.multi_hop]
hit_at_k = ">= 1"
"""


def test_a_generated_case_is_asked_and_stored_but_no_check_counts_it(project: Project) -> None:
    project.cases([*CASES[:2], UNREVIEWED])
    project.write("thresholds.toml", STRICT)
    result = project.run("-v")
    assert result.ret == 0
    assert outcomes(result) == {"passed": 2, "missed": 1, "checks passed": 3}
    text = " ".join(result.stdout.str().split())
    assert "multi_hop 1 1.000" in text
    assert "1 of 3 cases is not reviewed yet (review: generated) and in no figure" in text
    record = project.records()["made-1"]
    assert (record["outcome"], record["case"]["review"]) == ("missed", "generated")
    gate = project.stored("gate.json")
    assert set(checks(gate).values()) == {"pass"}
    assert (gate["n_expected"], gate["n_reported"], gate["complete"]) == (3, 3, True)
    metrics = project.stored("metrics.json")
    assert metrics["total"] == 2
    assert metrics["metrics"]["hit_at_k"]["mean"] == 1
    assert metrics["metrics"]["hit_at_k"]["n"] == 2


def test_a_set_of_generated_cases_alone_is_not_evaluated_and_says_what_to_do(
    project: Project,
) -> None:
    project.cases([UNREVIEWED])
    result = project.run()
    assert result.ret == 0
    gate = project.stored("gate.json")
    assert checks(gate) == {"recall_at_k": "skip", "error_rate": "pass"}
    assert gate["verdict"] == "not_evaluated"
    assert gate["sentence"] == (
        "NOT EVALUATED: 1 case was asked, none is reviewed: go through them with "
        "`rageval label --review`"
    )
    assert "; 1 not reviewed (1 missed); " in " ".join(summary_lines(result))
    assert outcomes(result) == {"missed": 1, "checks passed": 1, "checks skipped": 1}


def test_a_dead_target_fails_a_run_of_generated_cases(project: Project) -> None:
    project.cases([{**REFUSED, "review": "generated"}])
    assert project.run().ret == 1
    assert checks(project.stored("gate.json")) == {"recall_at_k": "skip", "error_rate": "fail"}


def test_a_case_that_was_reviewed_since_the_baseline_is_new_to_the_comparison(
    project: Project,
) -> None:
    project.write("thresholds.toml", "[overall]\nhit_at_k = { max_drop = 0.1 }\n")
    project.cases([*CASES[:2], UNREVIEWED])
    assert project.run("--rageval-run-id", "base").ret == 0
    project.cases([*CASES[:2], {**UNREVIEWED, "review": "reviewed", "required": False}])
    project.run("--rageval-run-id", "next", "--rageval-baseline", "base")
    (folder,) = [path for path in project.run_folders() if path.name == "next"]
    assert '"n_only_new": 1' in (folder / "gate.json").read_text(encoding="utf-8")
