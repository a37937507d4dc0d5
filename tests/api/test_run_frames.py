"""Rows as data frames, where pandas or polars is installed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import compare_runs, load_run
from pytest_rageval.api.run import Kind, pandas_frame, polars_frame
from tests.build.records import record
from tests.build.runs import run_of, write_run

COLUMNS: dict[str, Kind] = {
    "name": "text",
    "tags": "texts",
    "n": "whole",
    "score": "number",
    "whole": "number",
    "never": "number",
    "said": "boolean",
    "why": "reasons",
}
ROWS: list[dict[str, Any]] = [
    {"name": "a", "tags": ["x"], "n": 1, "score": None, "whole": 1, "never": None, "said": True,
     "why": {}},
    {"name": None, "tags": [], "n": None, "score": 0.25, "whole": 0.0, "never": None,
     "said": None, "why": {"score": "no gold"}},
]  # fmt: skip
MISSING = {"name": [1], "n": [1], "score": [0], "never": [0, 1], "said": [1]}
"""Rows without a value, by column."""


def test_pandas_keeps_what_is_missing_apart_from_a_number() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas_frame(ROWS, COLUMNS)
    assert list(frame.columns) == [name for name in COLUMNS if name != "why"]
    for name, places in MISSING.items():
        assert [n for n in range(2) if pandas.isna(frame[name][n])] == places, name
    kinds = {name: str(frame[name].dtype) for name in ("n", "score", "whole", "never", "said")}
    assert kinds == {
        "n": "Int64", "score": "Float64", "whole": "Float64", "never": "Float64", "said": "boolean"
    }  # fmt: skip
    assert pandas_frame([], COLUMNS).empty


def test_polars_keeps_what_is_missing_apart_from_a_number() -> None:
    polars = pytest.importorskip("polars")
    frame = polars_frame(ROWS, COLUMNS)
    assert frame.columns == [name for name in COLUMNS if name != "why"]
    for name, places in MISSING.items():
        assert [n for n in range(2) if frame[name][n] is None] == places, name
    assert frame.schema["whole"] == frame.schema["never"] == polars.Float64
    assert frame["tags"].to_list() == [["x"], []]
    assert polars_frame([], COLUMNS).is_empty()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_run_and_a_comparison_are_frames(library: str) -> None:
    pytest.importorskip(library)
    results = Path("evals/results")
    write_run(results, "one", [*run_of(4), record("x", {"hit_at_k": None, "mrr": 0.5})])
    write_run(results, "two", run_of(4), day=2)
    run, comparison = load_run("one"), compare_runs("one", "two")
    assert len(getattr(run, f"to_{library}")()) == 5
    assert len(getattr(comparison, f"to_{library}")()) == len(comparison.rows()) > 0


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_not_installed_is_named(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    frame = {"pandas": pandas_frame, "polars": polars_frame}[library]
    said = rf"to_{library}\(\) needs the package {library}, .*: pip install {library}; rows\(\)"
    with pytest.raises(ImportError, match=said):
        frame(ROWS, COLUMNS)
