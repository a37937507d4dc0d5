from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import collection as bench


@pytest.mark.slow
@pytest.mark.parametrize("contender", bench.CONTENDERS)
@pytest.mark.parametrize(("select", "expected"), [(False, 250), (True, 3)])
def test_both_list_the_same_cases(
    tmp_path: Path, contender: str, select: bool, expected: int
) -> None:
    bench.write_project(tmp_path, 250)
    result = bench.measure(contender, tmp_path, 250, select=select)
    assert result.selected == expected
    assert result.rss_mb > 20


@pytest.mark.slow
def test_a_small_run_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--cases", "5", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert [(row["contender"], row["selected"]) for row in rows] == [
        ("ours", 5),
        ("parametrize", 5),
        ("ours", 1),
        ("parametrize", 1),
    ]


@pytest.mark.slow
def test_a_contender_that_lists_too_few_is_an_error(tmp_path: Path) -> None:
    bench.write_project(tmp_path, 3)
    with pytest.raises(RuntimeError, match="parametrize: exit 0, 3 listed"):
        bench.measure("parametrize", tmp_path, 4, select=False)


@pytest.mark.parametrize("option", ["--cases", "--repeats"])
def test_a_number_below_one_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main([option, "0"])
    assert "got 0, expected at least 1" in capsys.readouterr().err
