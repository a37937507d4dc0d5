from __future__ import annotations

import pytest

from pytest_rageval.analysis.stats.paired import minimum_detectable_effect
from pytest_rageval.authoring.linting.findings import PlacedCase, compute_power, find_imbalance
from pytest_rageval.values.case import Case, Turn
from tests.authoring.linting.builders import anchor, numbered, placed


def cases(n: int, *, documents: int = 10_000, category: str = "general") -> list[PlacedCase]:
    return [
        placed(f"q{i}", i + 1, gold_supports=(anchor(f"{i % documents}.md"),), category=category)
        for i in range(n)
    ]


def unanswerable(n: int, category: str = "general") -> list[PlacedCase]:
    return numbered([f"u{i}" for i in range(n)], answerable=False, category=category)


def test_the_power_of_eighty_cases() -> None:
    power = compute_power(cases(80))
    assert power.drop == pytest.approx(minimum_detectable_effect(0.35 / 80**0.5))
    assert power.drop == pytest.approx(power.drop_clustered)
    assert power.sentence == (
        "with these 80 cases a drop of 0.10 in recall can be seen; 0.05 takes about 303 cases"
    )


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (0, "with no reviewed case that has evidence"),
        (1, "with this 1 case a drop of 0.88"),
        (400, "0.05"),
    ],
)
def test_small_and_large_sets_are_described(n: int, said: str) -> None:
    assert said in compute_power(cases(n)).sentence


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (cases(20), "no unanswerable case"),
        (unanswerable(20), "no answerable case"),
        ([*cases(20, category="a"), *unanswerable(4, "b")], "category 'a' holds 83%"),
        ([*cases(20, category="a"), *unanswerable(4, "b")], "fewer than 5 cases"),
        ([*cases(20, documents=1), *unanswerable(9)], "100% of the evidence lies in '0.md'"),
    ],
)
def test_what_is_lopsided_is_named(found: list[PlacedCase], said: str) -> None:
    findings = list(find_imbalance(found))
    assert all(one.severity == "warning" and one.rule == "balance" for one in findings)
    assert any(said in one.message for one in findings)


def test_the_turns_of_a_conversation_stand_or_fall_together() -> None:
    turns = tuple(Turn(question=f"{n}?", gold_supports=(anchor(f"{n}.md"),)) for n in range(4))
    asked = Case(id="talk", turns=turns).expanded()
    talk = [PlacedCase(case=case, file="set.jsonl", lineno=1) for case in asked]
    power = compute_power([*talk, *cases(4)])
    assert (power.n, power.n_documents, power.n_conversations) == (8, 4, 1)
    assert power.drop_clustered == pytest.approx(minimum_detectable_effect(0.35 * 20**0.5 / 8))
    assert "each of their 4 documents and 1 conversation stand" in power.sentence
