"""Sections as they are stored; those of a run are in tests/plugin/test_own_sections.py."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_rageval.engine.own_code import computed_sections
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.values.own_code import Bars, Section, ShownSection, Table
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.settings import Settings


def stored(value: Any) -> ShownSection:
    section = Section(title="a\x1b[31m", source="acme:a", compute=lambda run: value)
    registry = replace(BUILT_IN, sections=(section,))
    (found,) = computed_sections(registry, StoredRun(folder=Path("r")), Settings(rootdir="."))
    again = msgspec.json.decode(msgspec.json.encode(found), type=ShownSection)
    assert (again, found.title) == (found, "a")
    return found


def test_values_are_kept() -> None:
    found = stored(Table(("a", "b"), ((1, None), ("x\x1b[31m\ny", 0.5))))
    assert (found.columns, found.rows) == (("a", "b"), ((1, None), ("x y", 0.5)))
    assert isinstance(found.rows[0][0], int)
    found = stored(Bars({"a": 1}, unit="$"))
    assert (found.bars, found.unit, found.columns, found.rows) == (
        True,
        "$",
        ("", "$"),
        (("a", 1),),
    )


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        Table(["a"], [[1, 2]]),
        Table(["a"], [[float("nan")]]),
        Table(["a"], [[10**400]]),
        Table(["a"], ([1 / n] for n in (1, 0))),  # type: ignore[arg-type]
        Table(["a"], [[object()]]),  # type: ignore[list-item]
        Table(["a"], 3),  # type: ignore[arg-type]
        Table(["a"] * 21, []),
        Table(["a"], [[1]] * 1001),
        Bars({"a": -1}),
        Bars({"a": "1"}),  # type: ignore[dict-item]
        Bars([("a", 1)]),  # type: ignore[arg-type]
    ],
)
def test_other_values_are_an_error_in_the_place_of_the_section(value: Any) -> None:
    found = stored(value)
    assert (found.columns, found.rows) == ((), ())
    assert found.error.startswith("acme:a: ")


def test_an_error_without_lines_of_the_project_names_its_kind_without_text_of_the_run() -> None:
    # As of a function of an installed package.
    section = Section(title="a", source="acme:a", compute=attrgetter("the answer"))
    registry = replace(BUILT_IN, sections=(section,))
    (found,) = computed_sections(registry, StoredRun(folder=Path("r")), Settings(rootdir="."))
    assert found.error == "acme:a: AttributeError"
