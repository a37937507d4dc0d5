""""""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import pytest

from pytest_rageval.analysis.trust.reliability import (
    HumanLabel,
    JudgeLabels,
    corrected_mean,
    corrected_text,
    judge_reliability,
    labels_by_case,
    reliability_lines,
    summarise_spot_check,
    worst_disagreements,
)
from pytest_rageval.judges.spot_check import choose_spot_check
from pytest_rageval.values.errors import DatasetError
from pytest_rageval.values.numbers import Disagreement, JudgeReliability, SpotCheck
from pytest_rageval.values.record import CaseRecord
from tests.build.records import record
from tests.build.verdicts import judged_by

FILE = "evals/set.jsonl"
_NO: Final = ("unparseable", "no JSON")


def twice(
    name: str,
    first: Mapping[str, float] | None,
    second: Mapping[str, float],
    rubric: str = "groundedness",
) -> CaseRecord:
    return record(
        name,
        judgements=judged_by(rubric, first, error=_NO if first is None else None),
        spot_check=judged_by(rubric, second) if second else {rubric: None},
    )


def labels(*given: HumanLabel) -> JudgeLabels:
    return JudgeLabels(labels=given, display="l.jsonl")


def human(case_id: str, label: float | bool, **fields: Any) -> HumanLabel:
    return HumanLabel(case_id=case_id, rubric="groundedness", label=label, **fields)


def test_a_run_without_second_judge_and_labels_knows_nothing() -> None:
    found = judge_reliability([record("a", {"groundedness": 4.0})])
    assert found == JudgeReliability()
    assert found.disagreement_rate is None
    assert list(reliability_lines(found)) == []


def test_scores_are_paired_within_their_rubric_and_the_rest_has_no_part() -> None:
    found = judge_reliability(
        [
            twice("same", {"groundedness": 5.0}, {"groundedness": 4.0}),
            twice("apart", {"groundedness": 5.0}, {"groundedness": 3.0}),
            twice("failed-first", None, {}),
            twice("failed-second", {"groundedness": 5.0}, {}),
            # Claims alone: the first judge found nothing to score.
            twice("without-object", {"claim_support_rate": 1.0}, {"groundedness": 4.0}),
            record("once", {"groundedness": 5.0}),
        ]
    ).spot_check["groundedness"]
    assert (found.n, found.n_error, found.disagreement_rate) == (2, 2, 0.5)
    assert found.worst == (Disagreement(file=FILE, case_id="apart", first=5.0, second=3.0),)


def test_scores_of_quality_are_compared_on_their_own_scale() -> None:
    first = {"quality.overall": 0.9, "quality.relevance": 1.0}
    second = {"quality.overall": 0.6, "quality.relevance": 0.9}
    found = judge_reliability([twice("a", first, second, rubric="quality")])
    rates = {key: one.disagreement_rate for key, one in found.spot_check.items()}
    assert rates == {"quality.relevance": 0.0, "quality.overall": 1.0}
    assert found.disagreement_rate == 0.5
    assert list(worst_disagreements(found)) == [("quality.overall", "a", 0.9, 0.6)]


JUDGED = [
    record(name, {"groundedness": score})
    for name, score in zip("abcdef", (5.0, 4.0, 5.0, 3.0, 4.0, 5.0), strict=True)
]


def test_scores_of_people_correct_the_mean() -> None:
    people = labels(*(human(c, s) for c, s in zip("abcd", (5, 2, 4, 1), strict=True)))
    found = judge_reliability(JUDGED, people)
    corrected = found.corrected["groundedness"]
    # The same numbers as in the example of judge_trust.corrected_mean.
    assert corrected_text(corrected) == (
        "3.16 [0.26-5.00] corrected by 4 labels; the judge alone says 4.33 over 6 cases"
    )
    assert (corrected.quantity, corrected.human_mean) == ("mean", 3.0)
    assert corrected.judge_mean == pytest.approx(26 / 6)
    assert (corrected.n_labels, corrected.n_judge_only, corrected.n_unused) == (4, 2, 0)
    assert msgspec.json.decode(msgspec.json.encode(found), type=JudgeReliability) == found


def test_an_id_of_several_files_needs_the_file() -> None:
    cases = [("evals/a.jsonl", "x"), ("evals/b.jsonl", "x")]
    with pytest.raises(DatasetError) as caught:
        labels_by_case(labels(human("x", 4, line=7)), cases)
    message = str(caught.value)
    assert message.startswith("l.jsonl:7: file: ")
    assert "'x' is a case of evals/a.jsonl and of evals/b.jsonl" in message
    found = labels_by_case(labels(human("x", 4, file="evals/b.jsonl")), cases)
    assert found == {"groundedness": {("evals/b.jsonl", "x"): 4}}


def test_two_labels_of_one_case_are_refused() -> None:
    given = labels(human("x", 4, line=1), human("x", 5, line=2, file="evals/a.jsonl"))
    with pytest.raises(DatasetError, match=r"l\.jsonl:2: id: a second label of 'x'"):
        labels_by_case(given, [("evals/a.jsonl", "x")])


def test_a_label_of_another_answer_corrects_nothing() -> None:
    cases = [("evals/a.jsonl", "x")]
    old, new = (
        human("x", score, line=line, answer=answer)
        for score, line, answer in ((1, 1, "old"), (4, 2, "new"))
    )
    found = labels_by_case(labels(old, new), cases, {cases[0]: {"new"}})
    assert found == {"groundedness": {cases[0]: 4, ("l.jsonl:1", "x"): 1}}
    assert labels_by_case(labels(new), cases) == {"groundedness": {cases[0]: 4}}
    with pytest.raises(DatasetError, match=r"l\.jsonl:2: id: a second label of 'x'"):
        labels_by_case(labels(new, new), cases)


# ---

# --- spot check ----------------------------------------------------------------------------------


def compared(*pairs: tuple[str, object, object], **scale: Any) -> SpotCheck:
    return summarise_spot_check([(("s.jsonl", name), a, b) for name, a, b in pairs], **scale)


def worst(found: SpotCheck) -> list[tuple[str, float, float]]:
    return [(one.case_id, one.first, one.second) for one in found.worst]


def test_disagreements_are_those_of_the_metric_and_the_widest_come_first() -> None:
    found = compared(
        ("same", 5, 4),
        ("line", 4, 3),
        ("far", 5, 0),
        ("low", 2, 1),
        ("two", 5, 3),
        ("lost", 5, None),
        ("wrong", 5.5, 0),
    )
    assert (found.n, found.n_error, found.disagreement_rate) == (5, 2, 0.6)
    assert worst(found) == [("far", 5, 0), ("two", 5, 3), ("line", 4, 3)]


def test_three_of_twenty_come_with_their_interval() -> None:
    pairs = [(str(i), 5.0, 0.0 if i < 3 else 5.0) for i in range(20)]
    found = compared(*pairs)
    assert found.disagreement_rate == pytest.approx(0.15)
    assert (round(found.low or 0, 2), round(found.high or 0, 2)) == (0.05, 0.36)


def test_disagreement_leaves_out_pairs_without_two_valid_scores() -> None:
    pairs = [("a", 5, 4), ("b", 4, 3), ("c", 2, None), ("d", 9, 1), ("e", "5", 1)]
    found = compared(*pairs)
    assert (found.n, found.disagreement_rate) == (2, 0.5)
    assert compared(("a", 2, None)).disagreement_rate is None


# --- corrected means -----------------------------------------------------------------------------


def test_the_worked_example_of_the_specification() -> None:
    labels = {f"c{i}": float(i < 7) for i in range(10)}
    scores = {f"c{i}": float(i < 9) for i in range(10)}
    scores |= {f"d{i}": float(i < 36) for i in range(40)}
    found = corrected_mean(labels, scores, scale=(0, 1))
    assert (round(found.weight, 2), round(found.estimate or 0, 2)) == (0.61, 0.70)
    assert (found.n_labels, found.n_judge_only, found.human_mean) == (10, 40, 0.7)
    assert found.judge_mean == pytest.approx(0.9)
    assert "0.70 [" in corrected_text(found)
    assert "the judge alone says 0.90 over 50 cases" in corrected_text(found)


def test_a_lenient_judge_is_corrected_downwards() -> None:
    draw = random.Random(5)
    truth = {f"c{i}": draw.choice([1.0, 2.0, 3.0, 4.0]) for i in range(400)}
    judge = {key: score + 1 for key, score in truth.items()}
    labels = {key: truth[key] for key in choose_spot_check(truth, 60)}
    found = corrected_mean(labels, judge)
    mean = sum(truth.values()) / 400
    assert found.judge_mean == pytest.approx(mean + 1)
    assert found.low is not None
    assert found.high is not None
    assert found.low < mean < found.high < mean + 1


# --- drift ---------------------------------------------------------------------------------------
