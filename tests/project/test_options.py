from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import fields
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

from pytest_rageval.project.options import OPTIONS, SETTINGS, Setting
from pytest_rageval.values.settings import JudgeSettings, Settings, TargetSettings

FLAGS = [option for option in OPTIONS if option.flag is not None]


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
    assert Setting("k", "k", "integer", "everything").env is None


@pytest.mark.parametrize("name", ["flag", "env", "dest", "name", "key"])
def test_no_two_options_share_a_name(name: str) -> None:
    names = [value for option in OPTIONS if (value := getattr(option, name))]
    assert len(names) == len(set(names))


OWNERS = {"": Settings, "target": TargetSettings, "judging": JudgeSettings}


def test_every_setting_has_its_row() -> None:
    named = [
        f"{section}.{item.name}".removeprefix(".")
        for section, owner in OWNERS.items()
        for item in fields(owner)
    ]
    assert sorted(row.name for row in SETTINGS) == sorted({*named} - {"target", "judging"})


def test_every_setting_but_derived_ones_is_an_option() -> None:
    derived = {"rootdir", "origins", "judged_on"}
    assert {row.name for row in SETTINGS} - {o.name for o in OPTIONS} == derived
    assert all(option.help and (option.key or option.flag) for option in OPTIONS)


@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: row.name)
def test_a_row_and_its_field_agree_on_what_it_may_hold(row: Setting) -> None:
    annotation = get_type_hints(OWNERS[row.section])[row.field]
    # What a mapping is of, and null, which stands for no value, decide no kind.
    kinds = {part for part in get_args(annotation) or [annotation] if part is not type(None)}
    expected = {"boolean": {bool}, "integer": {int}, "number": {float}}
    if row.kind in expected:
        assert kinds == expected[row.kind]
    if row.choices or row.kind == "choice":
        literal = next(part for part in [annotation, *kinds] if get_origin(part) is Literal)
        assert row.choices == get_args(literal)


@pytest.mark.parametrize("option", FLAGS, ids=lambda option: option.dest)
def test_a_flag_that_is_not_given_is_none(option: Setting) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(str(option.flag), **option.addoption_kwargs)
    assert getattr(parser.parse_args([]), option.dest) is None


def test_a_repeatable_flag_collects_its_values_as_text() -> None:
    (option,) = [option for option in OPTIONS if option.flag == "--rag-param"]
    parser = argparse.ArgumentParser()
    parser.add_argument("--rag-param", **option.addoption_kwargs)
    parsed = parser.parse_args(["--rag-param", "a=1", "--rag-param", "b=2"])
    assert parsed.rageval_rag_param == ["a=1", "b=2"]


def test_help_shows_the_choices_and_the_variable() -> None:
    parser = argparse.ArgumentParser(prog="x")
    for option in FLAGS:
        parser.add_argument(str(option.flag), **option.addoption_kwargs)
    shown = parser.format_help()
    assert "off|on|on_with_fallback" in shown
    assert "RAGEVAL_RAG_TIMEOUT" in shown


def test_loading_the_options_imports_the_standard_library_alone() -> None:
    code = (
        "import sys; before = set(sys.modules); import pytest_rageval.project.settings;"
        "new = {name.split('.')[0] for name in set(sys.modules) - before};"
        "print(*sorted(new - set(sys.stdlib_module_names) - {'pytest_rageval'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
