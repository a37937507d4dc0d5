"""Pages and faces that commands write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from pytest_rageval.cli import output
from pytest_rageval.cli.output import Face, face_option, print_result, write_page
from pytest_rageval.report.view.blocks import Group, View
from pytest_rageval.values.record import SCHEMA_VERSION


def test_a_page_replaces_a_link_and_leaves_what_it_names(tmp_path: Path) -> None:
    outside, page = tmp_path / "precious.txt", tmp_path / "run" / "report.html"
    outside.write_text("mine", encoding="utf-8")
    page.parent.mkdir()
    page.symlink_to(outside)
    write_page(page, ["<p>", "ü"])
    assert (outside.read_text("utf-8"), page.read_text("utf-8")) == ("mine", "<p>ü")
    assert not page.is_symlink()


def test_a_new_face_is_a_flag_that_prints_the_whole_view_by_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def text(document: Mapping[str, Any], view: View) -> str:
        return f"{sorted(document)} {view}"

    monkeypatch.setattr(output, "FACES", {**output.FACES, "plain": Face("Plain.", text)})
    view = View((("worse", "bad"),), [Group("why", ["folded"], folded=True)])

    @click.command()
    @face_option
    def command(face: str | None) -> None:
        print_result({"n": 1}, view, face=face)

    printed = {}
    for flags in ([], ["--json"], ["--plain"]):
        command(flags, standalone_mode=False)
        printed[*flags] = capsys.readouterr().out
    assert printed == {
        (): "worse\n",
        ("--json",): f'{{\n  "schema_version": {SCHEMA_VERSION},\n  "n": 1\n}}\n',
        ("--plain",): f"['n'] {view}",
    }
