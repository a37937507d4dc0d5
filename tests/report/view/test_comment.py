"""The comment on a change, from two runs in memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.two_runs import compare_runs
from pytest_rageval.report.faces.markdown import render
from pytest_rageval.report.view.comment import view_of_comment
from pytest_rageval.values.gate import BaselineInfo, GateResult
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import StoredRun
from tests.build.runs import SETTINGS, run_of, side

N = 60


def run(records: Collection[CaseRecord], run_id: str = "new", **fields: Any) -> StoredRun:
    info = BaselineInfo(name="base", run_id="base", n_paired=N)
    gate = GateResult(verdict="pass", sentence="PASS", baseline=fields.pop("info", info))
    made = side([*records], fields.pop("settings", SETTINGS), run_id)
    return replace(made, aggregate=aggregate([*records]), gate=gate)


def comment(new: StoredRun, base: StoredRun | None) -> str:
    found = None if base is None else compare_runs(base, new)
    return render(view_of_comment(new, found))


def first_line(missed: Collection[int] = (), base: Collection[int] = ()) -> str:
    text = comment(run(run_of(N, missed)), run(run_of(N, base), "base"))
    return text.splitlines()[0]


LOST = range(1, 20)


@pytest.mark.parametrize(
    ("missed", "base", "says"),
    [
        (LOST, (), "worse: "),
        ((), LOST, "better: "),
        ((1,), (), f"no difference that {N} cases could show ("),
        ((), (), f"no difference that {N} cases could show (a change of the pass rate is reliably"),
    ],
)
def test_the_first_line_is_the_verdict(
    missed: Collection[int], base: Collection[int], says: str
) -> None:
    assert first_line(missed, base).startswith(f"## rageval: PASS, {says}")


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"verdict": "fail"}, "FAIL"),
        ({"verdict": "fail", "complete": False}, "INCOMPLETE"),
        ({"verdict": "fail", "checked": False}, "NOTHING CHECKED"),
        ({"verdict": "not_evaluated", "complete": False}, "NOT EVALUATED"),
    ],
)
def test_the_first_line_begins_as_the_gate_decided(fields: dict[str, Any], word: str) -> None:
    new = run(run_of(N))
    assert new.gate is not None
    text = comment(replace(new, gate=replace(new.gate, **fields)), run(run_of(N), "base"))
    assert text.startswith(f"## rageval: {word}, no difference that ")
    assert comment(replace(new, gate=None), None).startswith("## rageval: no baseline")


def test_newly_missed_cases_have_a_reason_and_fixed_ones_are_named() -> None:
    text = comment(run(run_of(N, range(1, 9))), run(run_of(N, range(9, 13)), "base"))
    assert "| c-001 | general | hit 1.00 -\\> 0.00 | passed before, missed now |" in text
    assert "**fixed** 3 fixed: c-009, c-011, c-012" in text


def test_cases_that_are_not_compared_are_named() -> None:
    changed = [replace(one, case_hash="other") for one in run_of(3)]
    text = comment(run([*changed, *run_of(N)[3:]]), run(run_of(N - 1), "base"))
    assert "**changed content** c-000, c-001, c-002" in text
    assert f"**only in new** c-{N - 1:03}" in text
    fewer, base = run(run_of(N - 1)), run(run_of(N), "base")
    assert f"**only in base** c-{N - 1:03}" in comment(fewer, base)
    selected = replace(SETTINGS, tier="smoke", select=("tag:smoke",))
    of_tier = replace(fewer, config=replace(fewer.config, settings=selected))
    assert "**only in base**" not in comment(of_tier, base)


def test_a_baseline_that_is_gone_since_is_not_called_one_that_never_was() -> None:
    text = comment(run(run_of(N)), None)
    assert "no baseline" not in text
    assert "run base is no longer here" in text.splitlines()[0]
    none = comment(run(run_of(N), info=BaselineInfo(name="auto", problem="why")), None)
    assert none.startswith("## rageval: PASS, no baseline: nothing was decided against one")


def test_the_comment_names_the_tier() -> None:
    made = run(run_of(N))
    tiered = replace(made.config, settings=replace(SETTINGS, tier="smoke"))
    assert f"**run** new, tier smoke: {N} cases" in comment(replace(made, config=tiered), None)


def test_what_old_failures_share_is_no_news() -> None:
    text = comment(run(run_of(N, range(1, 4))), run(run_of(N, LOST), "base"))
    assert text.startswith("## rageval: PASS, better: 0 broke, 13 fixed")
    assert "pattern" not in text
    assert "not retrieved" not in text.splitlines()[0]


def test_slow_calls_of_another_machine_are_shown_and_are_not_the_verdict() -> None:
    slow = [replace(one, latency={"total_ms": 1000.0 + i}) for i, one in enumerate(run_of(N))]
    new, base = run(slow), run(run_of(N), "base")
    assert compare_runs(base, new).conclusion.word == "worse"
    text = comment(new, base)
    assert text.startswith("## rageval: PASS, no difference that ")
    assert "a call takes 10 -\\> 10" in text


def test_runs_that_cannot_be_compared_have_the_reason_in_the_first_line() -> None:
    base = run(run_of(N), "base", settings=replace(SETTINGS, k=9))
    text = comment(run(run_of(N)), base)
    assert text.startswith("## rageval: PASS, not comparable: k: 9 in base, 5 in new\n")


def test_names_of_cases_and_groups_are_text_and_no_markup() -> None:
    new = run_of(N, LOST)
    evil = "<img src=x>|@all https://x.y"
    both = [
        [replace(r, case=replace(r.case, category=evil, question="SECRET")) for r in records]
        for records in (new, run_of(N))
    ]
    text = comment(run(both[0]), run(both[1], "base"))
    assert "<img" not in text.replace("\\<", "")
    assert "@all" not in text
    assert "https://x" not in text
    assert "SECRET" not in text
