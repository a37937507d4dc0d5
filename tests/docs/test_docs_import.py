"""The statements of docs/import.md hold."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.project.case_fields import ALIASES, ANCHOR_COLUMNS
from pytest_rageval.project.case_reader import load_cases
from pytest_rageval.project.documents import read_document_set
from pytest_rageval.project.options import OPTIONS
from tests.docs.examples import read_document, sections

PAGE = read_document("import.md")


def section(title: str) -> str:
    (found,) = [one.text for one in sections(PAGE) if one.title == title]
    return found


def test_every_command_of_the_page_has_the_options_it_shows() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("rageval ")]
    assert len(lines) >= 9
    for line in lines:
        _, name, *arguments = shlex.split(line)
        context = click.Context(cli.cli)
        command = cli.cli.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            command = command.get_command(context, arguments.pop(0))
            assert command is not None
        given = command.make_context(name, list(arguments)).params.get("columns", ())
        assert {text.partition("=")[0] for text in given} <= ALIASES.keys() | ANCHOR_COLUMNS.keys()


def test_the_commands_on_single_cases_do_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for line in section("Single cases").splitlines() if line.startswith("rageval ")]
    *first, last = lines
    for line in first:
        assert cli.run(shlex.split(line)[1:]) == 0
    (found,) = load_cases(Path("evals/eval_set.jsonl")).cases
    assert (found.case.id, found.case.difficulty, found.case.tags) == ("tea-1", "easy", ())
    assert cli.run(shlex.split(last)[1:]) == 0
    assert load_cases(Path("evals/eval_set.jsonl")).cases == ()


def test_the_documents_of_the_page_are_sound(tmp_path: Path) -> None:
    (block,) = re.findall(r"```json\n(.*?)```", section("Documents of a set"), re.DOTALL)
    path = tmp_path / "garden.jsonl"
    path.write_text(block, encoding="utf-8")
    assert len(read_document_set(path).documents) == 3


def test_the_settings_of_the_page_are_settings() -> None:
    keys = re.findall(r"^(\w+) *= ", section("Documents of a set"), re.MULTILINE)
    assert {f"documents.{key}" for key in keys} == {
        option.key for option in OPTIONS if option.key.startswith("documents.")
    }
    (option,) = [option for option in OPTIONS if option.key == "documents.cleanup"]
    assert " | ".join(option.choices) in section("Documents of a set")


def test_the_json_examples_are_json() -> None:
    blocks = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert blocks
    for block in blocks:
        assert all(isinstance(value, dict | list) for value in values_of(block))


def values_of(block: str) -> list[Any]:
    """The value of a block, or of each of its lines."""
    try:
        return [json.loads(block)]
    except ValueError:
        return [json.loads(line) for line in block.splitlines()]
