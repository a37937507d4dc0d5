"""Two runs compared under the thresholds of a project."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_rageval.analysis.two_runs import compare_runs
from pytest_rageval.engine.comparing import compare_stored, regression_checks
from pytest_rageval.engine.finish import EndedRun
from pytest_rageval.values.gate import Check, Selection, Thresholds
from pytest_rageval.values.settings import Settings
from tests.build.runs import run_of, side

HIT: Any = {"metric": "hit_at_k", "min_n": 1}
DROP = Check(kind="max_drop", limit=0.1, **HIT)
BASE = side(run_of(40), run_id="b")
NEW = side(run_of(40, missed=range(1, 20)), run_id="n")
GATE = EndedRun(
    run=NEW,
    project=Settings(rootdir=".", judge="none"),
    thresholds=Thresholds(checks=(DROP, Check(kind="min", limit=0.99, **HIT))),
    selection=Selection.of(NEW.records, NEW.records),
    n_expected=40,
    n_reported=40,
)


def test_checks_against_a_baseline_are_decided_alone() -> None:
    (found,) = regression_checks(GATE, compare_runs(BASE, NEW))
    assert (found.check, found.status) == (DROP, "fail")
    none = replace(GATE, thresholds=Thresholds())
    assert regression_checks(none, compare_runs(BASE, NEW)) == ()


def test_a_comparison_has_the_checks_the_groups_and_the_notes_that_reports_show() -> None:
    view = compare_stored(BASE, GATE, ignore_invariants=False)
    assert [(one.check, one.status) for one in view.checks] == [(DROP, "fail")]
    assert view.failed
    assert {one.group for one in view.groups} >= {"general"}
    same = compare_stored(NEW, GATE, ignore_invariants=False)
    assert same.notes[0] == "both names are of one run"
