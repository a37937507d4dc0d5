""""""

from __future__ import annotations

from typing import Annotated, Literal

import pytest

from pytest_rageval.project.options import OPTIONS
from pytest_rageval.values.declared import Setting, is_device, is_portable


@pytest.mark.parametrize(
    ("flag", "env"),
    [
        ("--rag-url", "RAGEVAL_RAG_URL"),
        ("--rageval-results", "RAGEVAL_RESULTS"),
        ("--judge", "RAGEVAL_JUDGE"),
        ("--retrieval-only", "RAGEVAL_RETRIEVAL_ONLY"),
        ("--gate", "RAGEVAL_GATE"),
    ],
)
def test_a_variable_is_named_after_its_flag(flag: str, env: str) -> None:
    (option,) = [option for option in OPTIONS if option.flag == flag]
    assert option.env == env


def test_an_option_without_flag_has_no_variable() -> None:
    assert Setting("everything", "retrieval depth").env is None


def test_a_declaration_takes_kind_choices_key_and_default_from_its_field() -> None:
    mark = Setting("nothing", "colour of the page", "--rag-color")
    mark.declare("target.color", Annotated[Literal["red", "blue"] | None, mark], "red")
    assert (mark.kind, mark.choices, mark.key) == ("choice", ("red", "blue"), "target.color")
    assert (mark.help, mark.dest) == ("colour of the page (default: red)", "rageval_rag_color")
    assert mark.addoption_kwargs["metavar"] == "red|blue"


# --- names that Windows keeps for itself


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
