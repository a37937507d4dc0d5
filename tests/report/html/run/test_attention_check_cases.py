from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.report.html.run.attention import check_rules, checks_of
from pytest_rageval.values.gate import Check
from pytest_rageval.values.record import CaseRecord
from tests.report.html.builders import check, missed, passed


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


@pytest.mark.parametrize(
    ("table", "group", "names"),
    [("overall", None, ["a", "b", "c"]), ("category", "x", ["a"]), ("tag", "t", ["b"])],
)
def test_only_cases_of_its_group_lower_a_check(
    table: str, group: str | None, names: list[str]
) -> None:
    records = [missed("a", category="x"), missed("b", tags=("t",)), missed("c")]
    assert lowering(*records, table=table, group=group) == names


def test_cases_that_the_gate_names_itself_count() -> None:
    result = check("newly_missed", "fail", missed_cases=("b",))
    rules = check_rules([result], BUILT_IN)
    assert [checks_of(one, rules) for one in (passed("a"), passed("b"))] == [(), ("newly_missed",)]
