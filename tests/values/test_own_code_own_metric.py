from __future__ import annotations

import pytest

from pytest_rageval.values.own_code import NA, Scored


def test_results_are_values() -> None:
    assert Scored(1) == Scored(True, detail="")
    assert NA("1") != NA("2")
    with pytest.raises(AttributeError):
        Scored(1).value = 2  # type: ignore[misc]
