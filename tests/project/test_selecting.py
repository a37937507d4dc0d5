"""Groups of cases that make up the set of a tier."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.project.case_reader import LoadedSet, LocatedCase
from pytest_rageval.project.selecting import Shard, is_selector, select_cases
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import Settings

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
    found = select_cases(sets(), Settings(rootdir=".", select=selectors))[FILE]
    assert "".join(one.case.id for one in found.cases) == ids


def test_a_group_that_no_case_has_is_an_error_with_the_nearest_one() -> None:
    unknown = Settings(rootdir=".", select=("tag:smok",))
    with pytest.raises(ConfigError, match='group "tag:smok", did you mean "tag:smoke"') as found:
        select_cases(sets(), unknown)
    assert str(found.value).startswith("[tool.rageval] select: ")
    of_tier = replace(unknown, origins={"select": "pyproject.toml, tier.quick"})
    with pytest.raises(ConfigError, match=r"^\[tool\.rageval\.tier\.quick\] select: "):
        select_cases(sets(), of_tier)


@pytest.mark.parametrize(("text", "good"), [("tag:x", True), ("tag:", False), ("id:x", False)])
def test_a_selector_is_a_tag_or_a_category(text: str, good: bool) -> None:
    assert is_selector(text) is good


# ---


@given(st.lists(st.integers(), unique=True), st.integers(1, 12))
def test_the_parts_make_up_the_whole_and_share_nothing(keys: list[int], count: int) -> None:
    parts = [Shard(index, count).part_of(keys) for index in range(1, count + 1)]
    assert sorted(key for part in parts for key in part) == sorted(keys)
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(("text", "shard"), [("1/1", Shard(1, 1)), (" 2 / 3 ", Shard(2, 3))])
def test_a_shard_is_read_from_text(text: str, shard: Shard) -> None:
    assert Shard.parse(text) == shard
    assert Shard.parse(str(shard)) == shard


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "x/y", "1.0/2"])
def test_what_is_no_shard_is_named_with_what_was_expected(text: str) -> None:
    with pytest.raises(ValueError, match="expected I/N with I from 1 to N, such as 1/3"):
        Shard.parse(text)
