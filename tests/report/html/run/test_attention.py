from __future__ import annotations

from pytest_rageval.analysis.compare.flips import CaseFlip, Direction
from pytest_rageval.report.html.run.attention import CaseToRead, worth_reading
from pytest_rageval.report.html.run.cases import view_cases
from pytest_rageval.report.html.run.values import ReportOptions
from pytest_rageval.values.record import CaseRecord
from tests.build.verdicts import judged_by
from tests.report.html.builders import errored, missed, passed, run


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
