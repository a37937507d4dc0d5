"""Limits on judged figures: a judge that is not admitted, and means that people correct."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_rageval.analysis.trust.reliability import corrected_mean
from pytest_rageval.values.gate import Check, CheckResult, GateResult, Thresholds
from pytest_rageval.values.numbers import JudgeReliability
from pytest_rageval.values.verdict import (
    NOT_ADMITTED,
    Admissions,
    JudgeRates,
    StoredCalibration,
)
from tests.analysis.gate.builders import HIT, gate
from tests.build.records import record
from tests.build.verdicts import judged_by

ADMITTED = Admissions(
    stored=(
        StoredCalibration(
            schema_version=1,
            judge="j",
            rubric="groundedness",
            rubric_version="groundedness-1",
            test={"en": JudgeRates(tpr_low=0.9, tnr_low=0.9)},
        ),
    )
)
SCORES = [5.0, 4.0] * 20
RECORDS = [
    record(
        f"case-{i}",
        {"groundedness": score, "hit_at_k": 1.0},
        judgements=judged_by("groundedness", {"groundedness": score}),
    )
    for i, score in enumerate(SCORES)
]
LOW = Check(metric="groundedness", kind="min", limit=4.0)
HIGH = replace(LOW, limit=4.8)
PASS_RATE = Check(metric="pass_rate", kind="min", limit=0.5)


def decide(*checks: Check, **more: object) -> GateResult:
    return gate(RECORDS, *checks, judge_configured=True, **more)


def statuses(found: GateResult) -> list[tuple[str, bool | None]]:
    return [(one.status, one.judge_admitted) for one in found.checks]


def test_a_judge_that_is_not_admitted_decides_and_is_named() -> None:
    found = decide(LOW, HIGH, HIT, PASS_RATE)
    assert statuses(found) == [("pass", False), ("fail", False), ("pass", None), ("pass", False)]
    assert [NOT_ADMITTED in one.message for one in found.checks] == [True, True, False, True]
    assert NOT_ADMITTED in found.reason
    passing = decide(LOW, HIT)
    assert passing.sentence == f"PASS 2 checks, {NOT_ADMITTED}"


def test_an_admitted_judge_decides_without_a_word() -> None:
    found = decide(LOW, HIGH, PASS_RATE, admissions=ADMITTED)
    assert statuses(found) == [("pass", True), ("fail", True), ("pass", True)]
    assert NOT_ADMITTED not in found.sentence


@pytest.mark.parametrize("check", [LOW, HIGH])
def test_where_admission_is_required_a_figure_is_shown_and_not_decided(check: Check) -> None:
    required = replace(check, require_admitted=True)
    found = decide(required, HIT)
    assert statuses(found) == [("warn", False), ("pass", None)]
    assert found.verdict == "pass"
    assert found.checks[0].estimate == pytest.approx(4.5)
    decided = decide(required, admissions=ADMITTED)
    assert statuses(decided) == [(("pass" if check is LOW else "fail"), True)]


def test_outcomes_by_retrieval_alone_rest_on_no_judge() -> None:
    thresholds = Thresholds(checks=(PASS_RATE,), judged_on=("retrieval",))
    assert statuses(decide(thresholds=thresholds)) == [("pass", None)]


# --- corrected means -----------------------------------------------------------------------------


def corrected(limit: float, shift: float, n: int = 30, **fields: object) -> CheckResult:
    """Decide a limit where people score the first ``n`` answers lower by ``shift``."""
    scores = {record.nodeid: score for record, score in zip(RECORDS, SCORES, strict=True)}
    people = {key: score - shift for key, score in list(scores.items())[:n]}
    reliability = JudgeReliability(corrected={"groundedness": corrected_mean(people, scores)})
    check = replace(LOW, limit=limit, use="corrected", **fields)  # type: ignore[arg-type]
    return decide(check, reliability=reliability).checks[0]


def test_a_corrected_limit_takes_the_mean_and_the_interval_of_the_labels() -> None:
    found = corrected(4.0, shift=1.0)
    assert found.status == "fail"
    assert found.estimate == pytest.approx(3.5, abs=0.05)
    assert found.n == 30
    assert found.judge_admitted is None
    assert found.low is not None
    assert found.high is not None
    assert found.low < 3.5 < found.high
    assert found.mde is not None
    assert corrected(4.0, shift=0.0).status == "pass"


def test_bounds_of_a_corrected_mean_prove() -> None:
    assert corrected(4.0, shift=1.0, decide="prove_fail").status == "fail"
    assert corrected(3.6, shift=1.0, decide="prove_fail").status == "pass"
    assert corrected(3.4, shift=1.0, decide="prove_pass").status == "fail"
    assert corrected(3.0, shift=1.0, decide="prove_pass").status == "pass"


def test_without_labels_a_corrected_limit_has_no_data() -> None:
    check = replace(LOW, use="corrected")
    assert decide(check).checks[0].status == "fail"
    passes = corrected_mean({"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 1.0}, scale=(0.0, 1.0))
    shares = JudgeReliability(corrected={"groundedness": replace(passes, quantity="pass_share")})
    found = decide(check, reliability=shares).checks[0]
    assert (found.status, found.estimate) == ("fail", None)
    assert "true or false" in found.message
