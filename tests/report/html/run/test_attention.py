""""""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.analysis.compare.flips import CaseFlip, Direction
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.report.html.run.attention import (
    CaseToRead,
    check_rules,
    checks_of,
    worth_reading,
)
from pytest_rageval.report.html.run.cases import view_cases
from pytest_rageval.report.html.run.values import ReportOptions
from pytest_rageval.values.gate import Check
from pytest_rageval.values.record import CaseRecord
from tests.build.verdicts import judged_by
from tests.report.html.builders import check, errored, missed, passed, run


def flip(case_id: str, direction: Direction = "worse") -> CaseFlip:
    return CaseFlip(
        file="evals/set.jsonl",
        case_id=case_id,
        category="",
        direction=direction,
        base_outcome="passed",
        new_outcome="missed",
        passes=("1/1", "0/1"),
        changes=(),
        reason="abstains now",
        brief_reason="abstains",
    )


def chosen(records: list[CaseRecord], *flips: CaseFlip) -> list[CaseToRead]:
    rows = view_cases(run(records), ReportOptions()).rows
    return [*worth_reading(rows, flips)]


def test_newly_worse_cases_come_first_then_the_worst_of_each_kind() -> None:
    records = [
        passed("fine"),
        missed("low"),
        missed("lower", metrics={"recall_at_k": 0.0}),
        missed("cited", failure_stage="not_cited"),
        errored("broken"),
    ]

    found = chosen(records, flip("cited"), flip("fine", "better"))

    assert [(one.case_id, one.kind) for one in found] == [
        ("cited", "newly worse"),
        ("broken", "error"),
        ("low", "worst"),
        ("lower", "worst"),
    ]
    assert found[0].why == "passed -> missed: abstains now"
    assert found[1].why == "http, one of 1 error"
    assert found[2].why == "not retrieved, lowest of 2 cases: recall_at_k 0.000, mrr 0.000"


def test_a_score_close_to_the_line_and_judges_that_disagree_are_uncertain() -> None:
    near = passed("near", metrics={"mrr": 1.0, "correctness": 3.8})
    clear = passed("clear", metrics={"mrr": 1.0, "correctness": 5.0})
    second = judged_by("correctness", {"correctness": 1.0})
    split = passed("split", metrics={"mrr": 1.0, "correctness": 5.0}, spot_check=second)

    found = chosen([near, clear, split])

    assert [(one.case_id, one.why) for one in found] == [
        ("split", "two judges: correctness 5.000 and 1.000"),
        ("near", "correctness 3.800 is close to 4.000, which passes"),
    ]


# ---


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
