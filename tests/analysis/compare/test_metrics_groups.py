"""Two runs by category and by tag."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.analysis.compare.metrics import (
    ComparisonSettings,
    GroupChange,
    compare_groups,
)
from pytest_rageval.analysis.compare.pairs import pair_cases
from pytest_rageval.analysis.two_runs import CheckedComparison, compare_runs
from pytest_rageval.report.comparison_document import comparison_document
from pytest_rageval.values.record import CaseRecord
from tests.build.records import changed, talk
from tests.build.runs import run_of, scored, side

SETTINGS = ComparisonSettings(keys=frozenset({"recall_at_k", "mrr", "hit_at_k"}))


def halves(n: int, missed: range) -> list[CaseRecord]:
    """Records of n cases, the first half of which are tagged and of a category of their own."""
    found = []
    for i in range(n):
        fields: dict[str, Any] = {"category": "late"}
        if i < n // 2:
            fields = {"category": "early", "tags": ("work", "all")}
        else:
            fields["tags"] = ("all",)
        found.append(scored(f"c-{i:03}", float(i not in missed), **fields))
    return found


def groups(n: int = 80, missed: range = range(20), **given: Any) -> dict[str, GroupChange]:
    pairs = pair_cases(halves(n, range(0)), halves(n, missed)).pairs
    found = compare_groups(pairs, SETTINGS, **given)
    return {f"{one.name} {one.change.key}": one for one in found}


def test_a_change_stands_where_its_cases_are() -> None:
    found = groups()
    assert [*found] == [
        "early recall_at_k",
        "early mrr",
        "late recall_at_k",
        "late mrr",
        "tag all recall_at_k",
        "tag all mrr",
        "tag work recall_at_k",
        "tag work mrr",
    ]
    early, late, everything = (found[f"{g} recall_at_k"] for g in ("early", "late", "tag all"))
    assert (early.change.n, early.change.delta, early.verdict) == (40, -0.5, "worse")
    assert (late.change.n, late.change.delta) == (40, 0.0)
    assert (everything.change.n, everything.change.delta) == (80, -0.25)
    assert early.change.low is not None
    assert early.change.high is not None
    assert early.change.low < -0.5 < early.change.high < 0


def test_few_cases_have_no_verdict() -> None:
    found = groups(n=40, missed=range(20))
    assert found["early recall_at_k"].verdict == "worse"
    assert groups(n=38, missed=range(19))["early recall_at_k"].verdict is None
    assert groups(n=38, missed=range(19), min_n=19)["early recall_at_k"].verdict == "worse"


@pytest.mark.parametrize("min_n", [0, 1])
def test_without_a_minimum_one_case_has_what_its_interval_says(min_n: int) -> None:
    found = groups(n=2, missed=range(1), min_n=min_n)["early recall_at_k"]
    assert found.change.n == 1
    assert found.verdict == "unclear"


def test_looking_at_groups_changes_no_p() -> None:
    found = compare_runs(side(run_of(50)), side(run_of(50, missed=range(10))))
    alone = comparison_document(CheckedComparison(found=found))
    pairs = found.comparison.pairing.pairs
    groups = compare_groups(pairs, SETTINGS)
    beside = comparison_document(CheckedComparison(found=found, groups=groups))
    assert alone["metrics"] == beside["metrics"]
    assert len(alone["groups"]) == 0
    assert ("category", "general", "mrr") in [
        (one["table"], one["group"], one["change"]["key"]) for one in beside["groups"]
    ]


def test_turns_of_conversations_are_groups() -> None:
    def run(second: float) -> list[CaseRecord]:
        return [
            changed(one, metrics={"recall_at_k": second if one.case.turn == 2 else 1.0})
            for number in range(30)
            for one in talk(f"t{number}", "passed", "passed", "passed", "passed")
        ]

    pairs = pair_cases(run(1.0), run(0.0)).pairs
    turns = {
        one.group: (one.change.n, one.change.delta, one.verdict == "worse")
        for one in compare_groups(pairs, SETTINGS)
        if one.table == "turn" and one.change.key == "recall_at_k"
    }
    assert turns == {"1": (30, 0.0, False), "2": (30, -1.0, True), "3+": (60, 0.0, False)}
