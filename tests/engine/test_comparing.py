"""Two runs compared under the thresholds of a project."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.analysis.two_runs import compare_runs
from pytest_rageval.engine.comparing import compare_stored, regression_checks
from pytest_rageval.engine.finish import EndedRun
from pytest_rageval.values.gate import Check, Thresholds
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.settings import Settings
from tests.build.records import selection_of
from tests.build.runs import run_of, scored, side

HIT: Any = {"metric": "hit_at_k", "min_n": 1}
DROP = Check(kind="max_drop", limit=0.1, **HIT)
BASE = side(run_of(40), run_id="b")
NEW = side(run_of(40, missed=range(1, 20)), run_id="n")
GATE = EndedRun(
    run=NEW,
    project=Settings(rootdir=".", judge="none"),
    thresholds=Thresholds(checks=(DROP, Check(kind="min", limit=0.99, **HIT))),
    selection=selection_of(NEW.records),
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


def test_more_repeats_of_a_case_are_no_regression() -> None:
    def asked(run_id: str, *repeats: tuple[float, ...]) -> StoredRun:
        records = [
            scored(f"c{n}", value, repeat=at, failure_stage=None if value else "not_retrieved")
            for n, values in enumerate(repeats)
            for at, value in enumerate(values)
        ]
        return side(records, run_id=run_id)

    once = asked("once", (1,), (1,), (0,), (1,))
    often = asked("often", (1, 0, 1), (1, 1, 0), (0, 1, 1), (0, 1, 1))
    checks = (
        Check(metric="newly_missed", kind="max", limit=0),
        Check(metric="stage.not_retrieved", kind="max_rise", limit=0),
        Check(metric="pass_rate", kind="max_drop", limit=0),
    )
    for base, new, missed in ((once, often, 1), (often, once, 0)):
        gate = replace(
            GATE,
            run=new,
            thresholds=Thresholds(checks=checks),
            selection=selection_of(new.records),
        )
        view = compare_stored(base, gate, ignore_invariants=False)
        sign = 1 if new is often else -1
        # Of four cases three pass if asked once, and each two times of three if asked often.
        drop = sign * (2 / 3 - 3 / 4)
        assert [one.estimate for one in view.checks] == pytest.approx([missed, sign, drop])
        assert view.found.comparison.stages == {"not_retrieved": (1, 2)[::sign]}
        assert [flip.case_id for flip in view.found.comparison.flips] == ["c3"]
        assert len(view.found.comparison.newly_missed) == missed
        assert [note for note in view.notes if "equally often" in note]
        # The means are still those of every repeat.
        assert view.found.comparison.metrics["hit_at_k"].delta == pytest.approx(-sign / 12)
