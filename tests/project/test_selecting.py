"""Groups of cases that make up the set of a tier."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.project.case_reader import LoadedSet, LocatedCase
from pytest_rageval.project.selecting import is_selector, select_cases
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import ConfigError

FILE = Path("evals/a.jsonl")


def sets() -> dict[Path, LoadedSet]:
    cases = (
        Case(id="a", question="a?", category="faq", tags=("smoke",)),
        Case(id="b", question="b?", category="hard"),
        Case(id="c", question="c?", category="hard", tags=("smoke", "slow")),
    )
    located = tuple(LocatedCase(case=one, lineno=1) for one in cases)
    return {FILE: LoadedSet(path=FILE, display=str(FILE), cases=located)}


@pytest.mark.parametrize(
    ("selectors", "ids"),
    [
        (("tag:smoke",), "ac"),
        (("category:hard",), "bc"),
        (("tag:slow", "category:faq"), "ac"),
        ((), "abc"),
    ],
)
def test_a_case_of_any_named_group_is_selected(selectors: tuple[str, ...], ids: str) -> None:
    found = select_cases(sets(), selectors)[FILE]
    assert "".join(one.case.id for one in found.cases) == ids


def test_a_group_that_no_case_has_is_an_error_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match='group "tag:smok", did you mean "tag:smoke"'):
        select_cases(sets(), ("tag:smok",))


@pytest.mark.parametrize(("text", "good"), [("tag:x", True), ("tag:", False), ("id:x", False)])
def test_a_selector_is_a_tag_or_a_category(text: str, good: bool) -> None:
    assert is_selector(text) is good
