"""Hashes of cases and sets: what changes them, and what does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.project.case_reader import case_hash, dataset_hash, load_cases, parse_case
from pytest_rageval.values.case import Case
from tests.build.cases import FULL
from tests.build.files import write_lines


def test_the_hash_of_a_case_is_stable_across_versions() -> None:
    """Fixed values: stored runs are paired by them."""
    assert case_hash(Case(id="a", question="q")) == "9fc434b21ec624f8"
    golds = [{k: v for k, v in gold.items() if k != "pages"} for gold in FULL["gold_supports"]]
    assert case_hash(parse_case({**FULL, "gold_supports": golds})) == "1ead91db9e1a193a"
    assert case_hash(parse_case(FULL)) == "64b53f7977c4301c"


@pytest.mark.parametrize(
    "change",
    [
        {"notes": "other"},
        {"metadata": {}},
        {"tags": []},
        {"category": "general"},
        {"difficulty": None},
        {"required": False},
        {"review": "reviewed"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_changes_neither_asking_nor_scoring_keeps_the_hash(change: dict[str, Any]) -> None:
    assert case_hash(parse_case({**FULL, **change})) == case_hash(parse_case(FULL))


@pytest.mark.parametrize(
    "change",
    [
        {"id": "other"},
        {"question": "Who?"},
        {"expected_key_facts": ["one"]},
        {"expected_answer": None},
        {"gold_supports": FULL["gold_supports"][::-1]},
        {"irrelevant_supports": []},
        {"required_support_groups": [[0]]},
        {"recency_conflict_rule": None},
        {"vaults": []},
        {"folders": ["notes"]},
        {"k": None},
        {"language": None},
        {"translation_of": None},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_changes_asking_or_scoring_changes_the_hash(change: dict[str, Any]) -> None:
    assert case_hash(parse_case({**FULL, **change})) != case_hash(parse_case(FULL))


def test_every_part_of_a_rule_changes_the_hash_and_no_rule_keeps_it() -> None:
    rules: list[dict[str, Any]] = [
        {"contains": "a"},
        {"not_contains": "a"},
        {"matches": "a"},
        {"contains": "a", "ignore_case": True},
        {"contains": "a", "ignore_whitespace": True},
    ]
    hashes = [case_hash(parse_case({**FULL, "answer_rules": [rule]})) for rule in rules]
    assert len({*hashes, case_hash(parse_case(FULL))}) == len(rules) + 1
    assert case_hash(parse_case({**FULL, "answer_rules": []})) == case_hash(parse_case(FULL))


def test_the_hash_of_a_set_is_about_its_content_not_its_order(tmp_path: Path) -> None:
    one, two = {"id": "a", "question": "q"}, {"id": "b", "question": "q"}
    forward = load_cases(write_lines(tmp_path / "cases.jsonl", one, two)).dataset_hash
    assert (
        load_cases(
            write_lines(tmp_path / "cases.jsonl", two, "", {**one, "notes": "n"})
        ).dataset_hash
        == forward
    )
    assert load_cases(write_lines(tmp_path / "cases.jsonl", one)).dataset_hash != forward
    assert dataset_hash(["b", "a"]) == dataset_hash(["a", "b"]) != dataset_hash(["a", "b", "b"])


def test_the_hash_of_a_turn_depends_on_the_turns_before_it_alone() -> None:
    def hashes(*questions: str) -> list[str]:
        turns = [{"question": one} for one in questions]
        return [case_hash(one) for one in parse_case({"id": "a", "turns": turns}).expanded()]

    first, second = hashes("x", "y")
    assert hashes("x", "y", "z")[:2] == [first, second]
    assert hashes("w", "y")[1] != second
