from dataclasses import replace

import pytest

from pytest_rageval.analysis.sweep.goal import sweep_goal
from pytest_rageval.analysis.sweep.subsets import SweepCase
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.gate import Check, CheckTable
from pytest_rageval.values.sweep import SweepFile

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
