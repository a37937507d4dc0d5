from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.report.html.run.check_cases import check_rules, checks_of
from pytest_rageval.values.gate import Check
from pytest_rageval.values.record import CaseRecord
from tests.report.html.builders import check, errored, missed, passed


def lowering(*records: CaseRecord, metric: str = "recall_at_k", **fields: Any) -> list[str]:
    """Names of the cases that lower one failed check."""
    status = fields.pop("status", "fail")
    limit = Check(metric=metric, **{"kind": "min", "limit": 0.5, **fields})
    rules = check_rules([check(metric, status, check=limit)], BUILT_IN)
    return [record.name for record in records if checks_of(record, rules)]


def test_a_case_below_the_best_value_lowers_a_check() -> None:
    partly = passed("b", metrics={"recall_at_k": 0.5})
    none = passed("c", metrics={"recall_at_k": None})
    assert lowering(passed("a"), partly, none, missed("d")) == ["b", "d"]


def test_of_a_metric_that_should_be_low_the_high_values_count() -> None:
    records = [passed(f"c{value}", metrics={"scope_miss_rate": value}) for value in (0.0, 1.0)]
    assert lowering(*records, metric="scope_miss_rate", kind="max") == ["c1.0"]


@pytest.mark.parametrize(
    ("table", "group", "names"),
    [("overall", None, ["a", "b", "c"]), ("category", "x", ["a"]), ("tag", "t", ["b"])],
)
def test_only_cases_of_its_group_lower_a_check(
    table: str, group: str | None, names: list[str]
) -> None:
    records = [missed("a", category="x"), missed("b", tags=("t",)), missed("c")]
    assert lowering(*records, table=table, group=group) == names


def test_errors_and_times_lower_the_checks_about_them() -> None:
    slow = passed("slow", latency={"total_ms": 900.0})
    records = [passed("a"), slow, errored("e")]
    assert lowering(*records, metric="error_rate", kind="max") == ["e"]
    found = lowering(*records, metric="latency_ms.p95", kind="max", limit=100.0)
    assert found == ["slow"]


def test_cases_that_the_gate_names_itself_count() -> None:
    result = check("newly_missed", "fail", missed_cases=("b",))
    rules = check_rules([result], BUILT_IN)
    assert [checks_of(one, rules) for one in (passed("a"), passed("b"))] == [(), ("newly_missed",)]
