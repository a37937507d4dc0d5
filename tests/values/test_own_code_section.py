from __future__ import annotations

from pytest_rageval.values.own_code import Bars, Section, Table


def test_sections_are_values() -> None:
    assert Table(["a"], [[1]]) == Table(["a"], [[1]])
    assert Bars({"a": 1}).unit == ""
    assert Section(title="a", compute=print) == Section(title="a")
