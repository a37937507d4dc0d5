"""Names that Windows keeps for itself."""

from __future__ import annotations

import pytest

from pytest_rageval.values.declared import is_device, is_portable


@pytest.mark.parametrize("name", ["con", "Prn", "AUX", "nul.txt", "com1", "lpt9.a.b", "nul."])
def test_devices_have_any_case_and_any_suffix(name: str) -> None:
    assert is_device(name)
    assert not is_portable(name)


@pytest.mark.parametrize("name", ["", "cons", "com", "com12", "a.con", "con_", "lpt\u0661"])
def test_other_names_are_no_devices(name: str) -> None:
    assert not is_device(name)
    assert is_portable(name)


def test_a_dot_at_the_end_is_cut_off_by_windows() -> None:
    assert not is_device("v1.")
    assert not is_portable("v1.")
