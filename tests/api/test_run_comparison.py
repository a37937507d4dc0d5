"""Two runs compared from Python, as the command compares them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval import StorageError, compare_runs, load_run
from pytest_rageval.api.run import COLUMNS
from pytest_rageval.cli import main as cli
from pytest_rageval.values.settings import Settings
from tests.build.runs import run_of, write_run

RESULTS = Path("evals/results")
LIMIT = "version = 1\n[overall]\nrecall_at_k = { max_drop = 0.05, min_n = 1 }\n"


@pytest.fixture(autouse=True)
def _runs(project: Path) -> None:
    write_run(RESULTS, "base", run_of(40))
    write_run(RESULTS, "new", run_of(40, missed=range(1, 20)), day=2)


@pytest.mark.parametrize("limits", ["", LIMIT])
def test_a_comparison_is_that_of_the_command(
    limits: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if limits:
        Path("thresholds.toml").write_text(limits, encoding="utf-8")
    found = compare_runs("base", "new")
    assert cli.run(["compare", "base", "new", "--json"]) == (1 if limits else 0)
    printed = json.loads(capsys.readouterr().out)
    assert printed.pop("schema_version") == 1
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == printed
    assert found.failed == bool(limits)
    assert (found.comparable, found.problem) == (True, "")
    assert set(found.newly_missed) == set(printed["newly_missed"]) != set()
    assert found.conclusion in repr(found)


def test_runs_are_given_by_name_or_as_they_were_loaded() -> None:
    named = compare_runs("base")
    given = compare_runs(load_run("base"), load_run("new"))
    assert named.to_dict() == given.to_dict()
    assert (named.base.run_id, named.new.run_id) == ("base", "new")
    with pytest.raises(StorageError, match="not found"):
        compare_runs("gone")


def test_a_row_has_the_documented_keys_and_the_verdict_of_a_metric() -> None:
    found = {row["metric"]: row for row in compare_runs("base", "new").rows()}
    row = found["recall_at_k"]
    assert list(row) == list(COLUMNS)
    assert row["delta"] == pytest.approx(row["new"] - row["base"])
    assert (row["n"], row["verdict"]) == (40, "worse")


def test_runs_under_other_conditions_say_so_and_compare_when_asked_to() -> None:
    write_run(RESULTS, "other", run_of(40), Settings(rootdir=".", judge="none", k=3), day=3)
    found = compare_runs("base", "other")
    assert not found.comparable
    assert "k" in found.problem
    assert "not comparable" in repr(found)
    assert found.rows() == []
    assert compare_runs("base", "other", ignore_invariants=True).rows() != []
