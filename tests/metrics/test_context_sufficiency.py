"""The table of sufficient context and answer, over many cases and over two runs.

Single cases are in ``tests/data/evidence_oracles.jsonl``.
"""

from __future__ import annotations

import pytest

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.compare.metrics import compare_records
from pytest_rageval.metrics.context import context_cell, score_sufficiency
from pytest_rageval.metrics.view import FAILED, NotApplicable, Score
from pytest_rageval.report.html.run.panels import context_panel
from pytest_rageval.report.view.summary import context_facts
from pytest_rageval.values.case import KeyFact
from pytest_rageval.values.record import CaseRecord
from tests.build.records import record
from tests.build.scores import case


def answered(
    case_id: str,
    enough: float | None,
    abstained: float | None = 0.0,
    correct: float | None = None,
    repeat: int = 0,
) -> CaseRecord:
    metrics = {
        "sufficient_context": enough, "over_abstention_rate": abstained, "correctness": correct,
    }  # fmt: skip
    reasons = {key: "it does not apply" for key, value in metrics.items() if value is None}
    return record(case_id, metrics, not_applicable=reasons, repeat=repeat)


RUN = [
    answered("a", 1.0, correct=5.0),
    answered("b", 1.0, correct=3.9),
    answered("c", 1.0, abstained=1.0, correct=0.0),
    answered("lucky", 0.0, correct=4.0),
    answered("d", 0.0),
    answered("e", None),
    answered("f", 1.0, abstained=None),
]


@pytest.mark.parametrize(
    ("values", "cell"),
    [
        ((1.0, 0.0, 4.0), ("sufficient", "correct")),
        ((1.0, 0.0, 3.99), ("sufficient", "wrong")),
        ((0.0, 0.0, None), ("not_sufficient", "not_judged")),
        ((0.0, 1.0, 0.0), ("not_sufficient", "abstained")),
        ((0.5, 0.5, 5.0), ("not_sufficient", "correct")),
        ((None, 0.0, 5.0), None),
        ((1.0, None, 5.0), None),
    ],
)
def test_the_place_of_a_case(
    values: tuple[float | None, float | None, float | None], cell: tuple[str, str] | None
) -> None:
    assert context_cell(*values) == cell


UNKNOWN = NotApplicable("It is not known.")


@pytest.mark.parametrize(
    ("golds", "held", "sufficient"),
    [
        (1.0, (False, False), 1.0),
        (0.0, (True, False), 1.0),  # the second fact is not vital
        (0.0, (False, True), 0.0),
        (UNKNOWN, (False, True), 0.0),
        (0.0, UNKNOWN, 0.0),
        (UNKNOWN, NotApplicable("Texts are missing."), UNKNOWN),
        (FAILED, (True, False), 1.0),
        (FAILED, (False, True), FAILED),
        (0.0, FAILED, FAILED),
    ],
)
def test_a_context_suffices_by_its_golds_or_by_its_vital_facts(
    golds: Score, held: tuple[bool, ...] | Score, sufficient: Score
) -> None:
    of = case("a.md", expected_key_facts=("a", KeyFact(text="b", vital=False)))
    found = score_sufficiency(of, {"hit_at_k": golds, "over_abstention_rate": 0.0}, held)
    assert found["sufficient_context"] == sufficient
    assert isinstance(found["refused_with_evidence"], float) is (sufficient == 1)
    assert (found["answered_without_evidence"] == 1) is (sufficient == 0)


def test_a_run_counts_each_case_whose_context_and_abstention_are_known() -> None:
    assert aggregate(RUN).context == {
        "sufficient": {"correct": 1, "wrong": 1, "not_judged": 0, "abstained": 1},
        "not_sufficient": {"correct": 1, "wrong": 0, "not_judged": 1, "abstained": 0},
    }


def test_a_run_of_which_nothing_is_known_has_no_table() -> None:
    run = [answered("a", None), answered("b", None)]
    assert aggregate(run).context == {}
    assert context_panel(run) is None
    assert [*context_facts(aggregate(run))] == []


def test_repeats_of_a_case_count_once_by_most_of_them() -> None:
    run = [answered("a", 1.0, abstained, 5.0, n) for n, abstained in enumerate((0.0, 1.0, 1.0))]
    assert aggregate(run).context["sufficient"]["abstained"] == 1


def test_the_summary_and_the_page_show_the_same_counts() -> None:
    facts = [one.text for one in context_facts(aggregate(RUN))]
    assert facts == [
        "sufficient 3: 1 correct, 1 wrong, 1 abstained",
        "not sufficient 2: 1 correct, 1 not judged",
    ]
    panel = context_panel(RUN)
    assert panel is not None
    assert panel.key == "context"


def test_cases_that_moved_in_the_table_are_named_by_their_way() -> None:
    now = [
        answered("a", 0.0, correct=5.0),
        answered("b", 0.0, correct=3.0),
        answered("c", 1.0, abstained=1.0),
        answered("lucky", 0.0, correct=2.0),
        answered("d", 1.0),
        answered("e", 1.0),
    ]
    found = compare_records(RUN, now).contexts
    assert {(one.base, one.new, one.names) for one in found} == {
        ("sufficient, correct", "not sufficient, correct", ("a",)),
        ("sufficient, wrong", "not sufficient, wrong", ("b",)),
        ("not sufficient, correct", "not sufficient, wrong", ("lucky",)),
        ("not sufficient, not judged", "sufficient, not judged", ("d",)),
    }
