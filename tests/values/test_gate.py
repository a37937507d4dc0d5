"""Names of checks, selections and the sentence about a baseline."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.values.case import Case
from pytest_rageval.values.gate import BaselineInfo, Check, Selection, needs_baseline


def check(**fields: Any) -> Check:
    return Check(**{"metric": "mrr", "kind": "min", "limit": 0.5, **fields})


def case(case_id: str, category: str, *tags: str) -> Case:
    return Case(id=case_id, question="?", category=category, tags=tags)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({}, "mrr"),
        ({"kind": "max"}, "mrr"),
        ({"kind": "max", "beside_min": True}, "mrr max"),
        ({"kind": "max_drop"}, "mrr max_drop"),
        ({"table": "category", "group": "facts"}, "mrr [facts]"),
        ({"table": "tag", "group": "new"}, "mrr [tag new]"),
        ({"kind": "max_rise", "table": "tag", "group": "new"}, "mrr max_rise [tag new]"),
    ],
)
def test_a_check_is_named_by_metric_kind_and_group(fields: dict[str, Any], name: str) -> None:
    assert check(**fields).name == name


@pytest.mark.parametrize(
    ("fields", "needed"),
    [
        ({}, False),
        ({"kind": "max"}, False),
        ({"kind": "max_drop"}, True),
        ({"kind": "max_rise"}, True),
        ({"metric": "newly_missed", "kind": "max"}, True),
    ],
)
def test_changes_and_new_misses_need_a_baseline(fields: dict[str, Any], needed: bool) -> None:
    assert needs_baseline(check(**fields)) is needed


EVERYTHING = [case("1", "facts", "new"), case("2", "facts"), case("3", "dates", "new", "new")]


def test_a_selection_counts_by_category_and_by_tag() -> None:
    found = Selection.of(EVERYTHING[:2], EVERYTHING)
    assert (found.n_selected, found.n_total) == (2, 3)
    assert found.by_category == {"dates": (0, 1), "facts": (2, 2)}
    assert found.by_tag == {"new": (1, 2)}, "a tag given twice counts once"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "needs the whole set (2 of 3 cases selected)"),
        ({"table": "category", "group": "facts"}, None),
        (
            {"table": "category", "group": "dates"},
            "needs the whole set (0 of 1 cases of category dates selected)",
        ),
        (
            {"table": "tag", "group": "new"},
            "needs the whole set (1 of 2 cases of tag new selected)",
        ),
        (
            {"table": "tag", "group": "unknown"},
            "needs the whole set (0 of 0 cases of tag unknown selected)",
        ),
    ],
)
def test_a_part_of_a_group_decides_no_check_of_it(
    fields: dict[str, Any], reason: str | None
) -> None:
    assert Selection.of(EVERYTHING[:2], EVERYTHING).missing_for(check(**fields)) == reason


def test_all_cases_of_the_files_that_were_asked_for_are_the_set() -> None:
    part = Selection.of(EVERYTHING[:2], EVERYTHING)
    found = part.of_files(2)
    assert (found.n_selected, found.n_total) == (2, 2)
    assert found.missing_for(check()) is None
    assert found.missing_for(check(table="tag", group="new")) is None
    # No case of it is in these files.
    assert found.missing_for(check(table="category", group="dates")) is not None
    assert part.of_files(3) == part
    assert part.of_files(0) == part


@pytest.mark.parametrize(
    ("info", "sentence"),
    [
        (BaselineInfo(name="main", problem="gone"), "none: gone"),
        (BaselineInfo(name="r1", run_id="r1", n_paired=1), "r1: 1 paired case"),
        (BaselineInfo(name="main", run_id="r1", n_paired=2), "main (r1): 2 paired cases"),
        (
            BaselineInfo(
                name="r1", run_id="r1", n_paired=0, n_changed=1, n_only_base=2, n_only_new=3
            ),
            "r1: 0 paired cases; left out: 1 changed, 2 only in the baseline, 3 new",
        ),
    ],
)
def test_a_baseline_is_described_with_the_cases_left_out(info: BaselineInfo, sentence: str) -> None:
    assert info.sentence == sentence
