"""Sections as they are stored; those of a run are in tests/plugin/test_own_sections.py."""

from __future__ import annotations

import json
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_rageval.engine.sections import section_documents
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.section import Bars, Section, Table
from pytest_rageval.values.settings import Settings


def stored(value: Any) -> dict[str, Any]:
    section = Section(title="a\x1b[31m", source="acme:a", compute=lambda run: value)
    registry = replace(BUILT_IN, sections=(section,))
    (found,) = section_documents(registry, StoredRun(folder=Path("r")), Settings(rootdir="."))
    assert found.pop("title") == "a"
    return found


def test_values_are_kept_as_json() -> None:
    found = stored(Table(("a", "b"), ((1, None), ("x\x1b[31m\ny", 0.5))))
    assert found == {"kind": "table", "columns": ["a", "b"], "rows": [[1, None], ["x y", 0.5]]}
    found = stored(Bars({"a": 1}, unit="$"))
    assert found == {"kind": "bars", "unit": "$", "bars": [["a", 1]]}


def test_numbers_of_numpy_are_numbers() -> None:
    found = stored(Table(["a", "b"], [[np.int64(3), np.float32(0.5)]]))  # type: ignore[list-item]
    assert found["rows"] == [[3, 0.5]]
    assert stored(Bars({"a": np.int64(3)}))["bars"] == [["a", 3]]  # type: ignore[dict-item]
    json.dumps(found)


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
    assert list(found) == ["error"]
    assert found["error"].startswith("acme:a: ")


def test_an_error_without_lines_of_the_project_names_its_kind_without_text_of_the_run() -> None:
    # As of a function of an installed package.
    section = Section(title="a", source="acme:a", compute=attrgetter("the answer"))
    registry = replace(BUILT_IN, sections=(section,))
    (found,) = section_documents(registry, StoredRun(folder=Path("r")), Settings(rootdir="."))
    assert found["error"] == "acme:a: AttributeError"
