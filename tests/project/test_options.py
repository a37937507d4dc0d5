from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import fields

import pytest

from pytest_rageval.project.options import OPTIONS, Option
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
    assert Option(setting="k", key="k", kind="integer", help="").env is None


@pytest.mark.parametrize("name", ["flag", "env", "dest", "setting", "key"])
def test_no_two_options_share_a_name(name: str) -> None:
    names = [value for option in OPTIONS if (value := getattr(option, name))]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.setting)
def test_an_option_sets_a_field_that_exists(option: Option) -> None:
    section, _, name = option.setting.rpartition(".")
    owner = {"target": TargetSettings, "judging": JudgeSettings, "": Settings}[section]
    assert name in {item.name for item in fields(owner)}


def test_every_setting_but_rootdir_and_origins_has_an_option() -> None:
    settings = {item.name for item in fields(Settings)} - {
        "rootdir",
        "origins",
        "target",
        "judging",
    }
    settings |= {f"target.{item.name}" for item in fields(TargetSettings)}
    settings |= {f"judging.{item.name}" for item in fields(JudgeSettings)}
    assert {option.setting for option in OPTIONS} == settings


@pytest.mark.parametrize("option", FLAGS, ids=lambda option: option.dest)
def test_a_flag_that_is_not_given_is_none(option: Option) -> None:
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
