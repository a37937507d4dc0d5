"""The table of figures with bounds."""

from __future__ import annotations

import json

import pytest

from benchmarks import table


@pytest.mark.parametrize(("figure", "met"), [(4.0, "met"), (4.1, "over")])
def test_a_row_says_whether_its_bound_is_met(figure: float, met: str) -> None:
    row = table.Row(name="cpu", measure="CPU", ours=figure, other=1, figure=figure, bound=4)
    assert table.render(row).split()[-1] == met


def test_a_row_that_counts_instructions_is_left_out_without_valgrind(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert table.main(["--rows", "select", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == {"rows": [], "left_out": {"select": "valgrind is not installed"}}


@pytest.mark.slow
def test_two_stored_runs_are_compared_as_a_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(table, "COMPARED", 30)
    assert table.main(["--rows", "compare"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["row", "compare", "compare"]
