"""The table of figures with bounds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import table


@pytest.mark.parametrize(("figure", "met"), [(3.0, "aim"), (4.0, "bound"), (4.1, "over")])
def test_a_row_says_whether_its_bound_is_met(figure: float, met: str) -> None:
    row = table.Row(name="cpu", measure="CPU", ours=figure, other=1, figure=figure, bound=4, aim=3)
    assert table.render(row).split()[-1] == met


def test_rows_without_their_contender_are_left_out_with_the_command_that_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAGEVAL_BENCH_ENVS", str(tmp_path))
    assert table.main(["--rows", "cpu", "one", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["rows"] == []
    assert f"{tmp_path}/aiohttp/bin/pip install aiohttp==" in printed["left_out"]["cpu"]
    assert "openai==" in printed["left_out"]["one"]


@pytest.mark.slow
def test_two_stored_runs_are_compared_as_a_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(table, "COMPARED", 30)
    assert table.main(["--rows", "compare"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["row", "compare", "compare"]
