from __future__ import annotations

import random
from typing import Any

import pytest

from pytest_rageval.analysis.trust.reliability import (
    corrected_mean,
    corrected_text,
    summarise_spot_check,
)
from pytest_rageval.judges.spot_check import choose_spot_check
from pytest_rageval.values.numbers import SpotCheck

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
