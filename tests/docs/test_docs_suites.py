"""The commands and the output of docs/studies.md are those of the package."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from pytest_rageval.authoring.suites.catalogue import SUITES
from pytest_rageval.cli import main as cli
from tests.build.projects import work_in
from tests.docs.examples import read_chapter

PAGE = read_chapter("studies.md", "Standard suites")
EXAMPLE = PAGE.split("```console\n")[1].split("```")[0]


def test_the_output_is_that_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    work_in(tmp_path / "project", monkeypatch)
    command, *shown = EXAMPLE.splitlines()
    assert cli.run(shlex.split(command)[2:]) == 0
    printed = capsys.readouterr().out
    run = re.compile(r"^run .*\n", re.MULTILINE)
    assert run.sub("", printed) == run.sub("", "\n".join([*shown, ""]))
    assert len(run.findall(printed)) == 1


def test_every_command_can_be_given() -> None:
    group = cli.cli.get_command(click.Context(cli.cli), "suite")
    assert isinstance(group, click.Group)
    lines = [line for line in PAGE.splitlines() if line.startswith("rageval suite ")]
    assert len(lines) >= 4
    for line in lines:
        name, *arguments = shlex.split(line)[2:]
        command = group.commands[name]
        given = command.make_context(name, arguments).params.get("name", "tiny")
        assert given in SUITES
