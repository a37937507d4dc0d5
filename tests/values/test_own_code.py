""""""

from __future__ import annotations

import pytest

from pytest_rageval.values.own_code import NA, Bars, Scored, Section, Table


def test_results_are_values() -> None:
    assert Scored(1) == Scored(True, detail="")
    assert NA("1") != NA("2")
    with pytest.raises(AttributeError):
        Scored(1).value = 2  # type: ignore[misc]


# ---


def test_sections_are_values() -> None:
    assert Table(["a"], [[1]]) == Table(["a"], [[1]])
    assert Bars({"a": 1}).unit == ""
    assert Section(title="a", compute=print) == Section(title="a")
