""""""

from __future__ import annotations

from dataclasses import replace
from math import fsum
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.sweep.goal import Goal, Measures, measure, sweep_goal
from pytest_rageval.analysis.sweep.subsets import SweepCase
from pytest_rageval.project.sweep_file import parse_sweep
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.gate import Check, CheckTable
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import NO_CONFIG, StoredRun
from pytest_rageval.values.sweep import SweepFile
from tests.build.records import failed, record
from tests.build.sweeps import some_cases

CASES = [SweepCase(id=c, category="a", answerable=c != "c") for c in "abc"]


def test_the_sweep_score_decides_ties_by_recall_reciprocal_rank_and_latency() -> None:
    goal = sweep_goal(SweepFile(objectives=("sweep_score",)), CASES)
    assert [name for name, _ in goal.order] == [
        "sweep_score", "recall_at_k", "mrr", "latency_ms.p95",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("table", "group", "message"),
    [
        ("category", "b", "no case has the category 'b', expected one of 'a'"),
        ("tag", "new", "no case has the tag 'new', expected one of 'old'"),
    ],
)
def test_a_constraint_on_cases_that_do_not_exist_is_refused(
    table: CheckTable, group: str, message: str
) -> None:
    cases = [replace(CASES[0], tags=("old",)), *CASES[1:]]
    check = Check(metric="mrr", kind="min", limit=0.1, table=table, group=group)
    with pytest.raises(ConfigError, match=message):
        sweep_goal(SweepFile(constraints=(check,)), cases)
    known = replace(check, group={"category": "a", "tag": "old"}[table])
    assert sweep_goal(SweepFile(constraints=(known,)), cases).constraints == (known,)


def test_the_sweep_score_without_unanswerable_cases_is_refused_until_weights_are_given() -> None:
    with pytest.raises(ConfigError, match=r"weights = \{ recall_at_k = 0\.71, mrr = 0\.29 \}"):
        sweep_goal(SweepFile(objectives=("sweep_score",)), CASES[:2])
    given = SweepFile(objectives=("sweep_score",), weights={"recall_at_k": 0.7, "mrr": 0.3})
    assert sweep_goal(given, CASES[:2]).main.weights == given.weights


# ---


def goal(*objectives: str, constraints: str = "[]", **fields: Any) -> Goal:
    text = f"constraints = {constraints}\n[query]\nk = [3, 5]"
    limits = parse_sweep(text, display="sweep.toml").constraints
    sweep = SweepFile(objectives=objectives, constraints=limits, **fields)
    return sweep_goal(sweep, some_cases(20))


def found(
    records: list[CaseRecord], of: Goal, cases: list[str] | None = None, **config: Any
) -> Measures:
    run = StoredRun(folder=Path("r"), records=records, config=replace(NO_CONFIG, **config))
    return measure(run, of, cases)


def test_the_objective_and_its_interval_are_those_of_the_run() -> None:
    values = [1.0, 0.5, 1 / 3, 0.1]
    records = [record(f"c{i}", {"recall_at_k": v}) for i, v in enumerate(values)]
    one = found(records, goal("recall_at_k"))
    run = aggregate(records).metrics["recall_at_k"]
    assert (one.objective, one.low, one.high) == (run.mean, run.low, run.high)
    assert [*one.values.values()] == values
    assert one.figures == {"recall_at_k": run.mean}


def test_only_the_cases_of_a_rung_count_and_none_that_nobody_reviewed() -> None:
    records = [record(f"c{i}", {"recall_at_k": float(i)}) for i in range(2)]
    one = found(records, goal("recall_at_k"), cases=["evals/set.jsonl::c1"])
    assert (one.objective, len(one.values)) == (1.0, 1)


def test_errors_are_counted_and_not_scored() -> None:
    one = found([record("a", {"hit_at_k": 1.0}), failed("b")], goal("hit_at_k"))
    assert (one.objective, len(one.values), one.n_error) == (1.0, 1, 1)


def test_the_sweep_score_is_the_weighted_sum_of_three_means() -> None:
    hits = [record(f"a{i}", {"recall_at_k": 0.875, "mrr": 0.952}) for i in range(5)]
    silent = [record(f"u{i}", {"negative_accuracy": 1.0}) for i in range(2)]
    one = found([*hits, *silent], goal("sweep_score"))
    assert one.objective == pytest.approx(0.9279, abs=1e-12)
    assert one.objective == pytest.approx(fsum(one.values.values()) / 7)
    assert one.low == one.high == pytest.approx(0.9279)  # no spread within any of the three
    assert found(hits, goal("sweep_score")).objective is None


def test_constraints_broken_with_and_without_proof_are_told_apart() -> None:
    of = goal(
        "recall_at_k",
        constraints='["over_abstention_rate <= 0.1", "latency_ms.p95 <= 500", "mrr >= 0.5"]',
    )
    records = [
        record(
            f"c{i}",
            {"recall_at_k": 1.0, "over_abstention_rate": float(i % 4 == 0), "mrr": None},
            latency={"total_ms": 900.0},
            not_applicable={"mrr": "no golds"},
        )
        for i in range(100)
    ]
    one = found(records, of)
    assert one.proven == (
        "over_abstention_rate 0.250 is above 0.100",
        "latency_ms.p95 900 is above 500",
    )
    assert one.broken[:2] == one.proven
    assert one.broken[2].startswith("mrr >= 0.5 cannot be checked: no case was scored")
    few = found(records[:8], of)
    assert few.broken[0] == "over_abstention_rate 0.250 is above 0.100"
    assert few.proven == ("latency_ms.p95 900 is above 500",)  # all of them are
    assert few.figures["latency_ms.p95 <= 500"] == 900.0


def test_a_metric_of_the_whole_run_can_be_limited() -> None:
    of = goal("recall_at_k", constraints='["suite_wall_s <= 60"]')
    one = found([record("a", {"recall_at_k": 1.0})], of, wall_s=90.0)
    assert one.broken == ("suite_wall_s 90.000 is above 60.000",)
