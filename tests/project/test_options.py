from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import fields

import pytest

from pytest_rageval.project.options import OPTIONS
from pytest_rageval.values.declared import Setting
from pytest_rageval.values.settings import JudgeSettings, Settings, TargetSettings

FLAGS = [option for option in OPTIONS if option.flag is not None]


@pytest.mark.parametrize("name", ["flag", "env", "dest", "name", "key"])
def test_no_two_options_share_a_name(name: str) -> None:
    names = [value for option in OPTIONS if (value := getattr(option, name))]
    assert len(names) == len(set(names))


OWNERS = {"": Settings, "target": TargetSettings, "judging": JudgeSettings}


def test_every_field_but_those_that_cannot_be_set_declares_a_setting() -> None:
    named = {
        f"{section}.{item.name}".removeprefix(".")
        for section, owner in OWNERS.items()
        for item in fields(owner)
    }
    derived = {"rootdir", "origins", "judged_on"}
    assert {option.name for option in OPTIONS} == named - {"target", "judging"} - derived
    assert all(option.text and (option.key or option.flag) for option in OPTIONS)


def test_kinds_choices_and_defaults_come_from_the_field() -> None:
    found = {option.name: option for option in OPTIONS}
    assert [found[name].kind for name in ("k", "target.trace", "target.timeout_s")] == [
        "integer", "boolean", "number",
    ]  # fmt: skip
    assert (found["folder_mode"].kind, found["folder_mode"].choices) == (
        "choice",
        ("off", "on", "on_with_fallback"),
    )
    assert found["k"].help.endswith(" (default: 5)")
    assert found["folder_mode"].help.endswith(" (default: not sent)")


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


def test_loading_the_options_imports_the_standard_library_alone() -> None:
    code = (
        "import sys; before = set(sys.modules); import pytest_rageval.project.settings;"
        "new = {name.split('.')[0] for name in set(sys.modules) - before};"
        "print(*sorted(new - set(sys.stdlib_module_names) - {'pytest_rageval'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
