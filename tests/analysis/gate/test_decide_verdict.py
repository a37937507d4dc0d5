"""The verdict of a gate, and its sentence."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.values.gate import Check, Thresholds
from pytest_rageval.values.record import CaseRecord
from tests.analysis.gate.builders import DROP, HIT, PART, SYSTEM, gate, limit
from tests.build.records import failed, hits, record
from tests.build.verdicts import judged_by

HOP = Check(metric="recall_all_at_k", kind="min", limit=0.75, table="category", group="multi_hop")
HOPS = [record(f"c{i}", {"recall_all_at_k": float(i < 7)}, category="multi_hop") for i in range(10)]
OTHERS = (
    *(limit(m, 1) for m in ("error_rate", "timeout_rate", "empty_response_rate", "pass_rate")),
    limit("judge_tokens", 1),
)


@pytest.mark.parametrize(
    ("records", "checks", "n_expected", "verdict", "sentence"),
    [
        (
            HOPS, (HOP, *OTHERS), None, "fail",
            "FAIL 1 of 6 checks: recall_all_at_k [multi_hop] 0.700 is below min 0.750",
        ),
        (hits(1, 1), (HIT, DROP), None, "pass", "PASS 1 check, 1 skipped (no baseline)"),
        (hits(1, 1), (HIT,), 3, "fail", "INCOMPLETE: 2 of 3 cases reported"),
        (
            hits(0, 1), (HIT,), 3, "fail",
            "INCOMPLETE: 2 of 3 cases reported; FAIL 1 check: hit_at_k 0.500 is below min 0.750",
        ),
        (
            [*hits(1), failed("z", "not_attempted")], (HIT,), None, "fail",
            "INCOMPLETE: 1 of 2 cases not attempted",
        ),
        # A required case fails the run whatever the checks say.
        (
            [*hits(1, 1), record("x", outcome="missed", required=True)], (HIT,), None, "fail",
            "FAIL 1 required case missed: x",
        ),
        (
            [*hits(1, 1), failed("x", required=True)], (HIT,), None, "fail",
            "FAIL 1 required case failed: x",
        ),
    ],
)  # fmt: skip
def test_a_verdict_and_its_sentence(
    records: list[CaseRecord],
    checks: tuple[Check, ...],
    n_expected: int | None,
    verdict: str,
    sentence: str,
) -> None:
    n = len(records)
    found = gate(records, *checks, n_expected=n_expected or n)
    assert (found.verdict, found.sentence) == (verdict, sentence)
    assert found.complete == ("INCOMPLETE" not in sentence)
    assert (found.n_expected, found.n_reported) == (n_expected or n, n)


def test_many_failing_checks_are_shortened() -> None:
    checks = [Check(metric="hit_at_k", kind="min", limit=x) for x in (0.6, 0.7, 0.8, 0.9)]
    found = gate(hits(1, 0), *checks)
    assert found.sentence.startswith("FAIL 4 of 4 checks: hit_at_k 0.500 is below min 0.600; ")
    assert found.sentence.endswith("; and 1 more")


def test_figures_are_told_before_the_checks_that_errors_left_without_data() -> None:
    lost = [limit(metric, 0) for metric in ("hit_at_k", "recall_at_k", "mrr")]
    found = gate([failed("a"), failed("b")], *lost, limit("error_rate", 0))
    assert found.sentence.startswith("INCOMPLETE: 2 of 2 cases got no answer; FAIL 4 of 4 checks: ")
    start = "checks: error_rate 1.000 is above max 0.000; hit_at_k no data: "
    assert start in found.sentence


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({}, "no judge"),
        ({"retrieval_only": True}, "retrieval only"),
        ({"selection": PART}, "needs the whole set, no judge"),
    ],
)
def test_a_sentence_names_why_judged_checks_were_skipped(
    changes: dict[str, Any], reasons: str
) -> None:
    judged = Check(metric="groundedness", kind="min", limit=4)
    found = gate(hits(1, 1), HIT, limit("error_rate", 0), judged, **changes)
    n = sum(one.status == "skip" for one in found.checks)
    assert found.sentence.endswith(f", {n} skipped ({reasons})")


def test_a_gate_of_skipped_checks_is_not_evaluated() -> None:
    found = gate(hits(1, 1, 0), HIT, selection=PART)
    assert found.verdict == "not_evaluated"
    assert found.sentence == (
        "NOT EVALUATED: all checks were skipped: needs the whole set (3 of 60 cases selected)"
    )


def test_no_check_is_not_a_pass() -> None:
    assert gate(hits(1)).verdict == "not_evaluated"


@pytest.mark.parametrize(("on_miss", "verdict"), [("report", "pass"), ("fail", "fail")])
def test_misses_fail_the_run_only_if_asked_to(on_miss: Any, verdict: str) -> None:
    thresholds = Thresholds(checks=(limit("error_rate", 0),), on_miss=on_miss)
    found = gate(hits(1, 0, 0, 0, 0), thresholds=thresholds)
    assert found.verdict == verdict
    if verdict == "fail":
        assert found.sentence == "FAIL 4 cases missed: c1, c2, c3 and 1 more"


def test_sentences_are_plain_ascii() -> None:
    found = gate(SYSTEM, HIT, DROP, limit("latency_ms.p95", 1), limit("error_rate", 0))
    assert all(r.message.isascii() for r in found.checks)
    assert found.sentence.isascii()


@pytest.mark.parametrize("errors", [0, 1])
def test_a_run_that_could_check_nothing_fails(errors: int) -> None:
    records = [record(name, unchecked=True, outcome="passed") for name in "ab"]
    records += [failed(f"e{n}") for n in range(errors)]
    found = gate(records, limit("error_rate", 0.5))
    assert found.verdict == "fail"
    assert found.sentence.startswith("NOTHING CHECKED: 2 cases were answered, and nothing of what")
    checked = gate([*records, *hits(1)], limit("error_rate", 0.5))
    assert checked.verdict == "pass"


def test_an_answer_that_the_judge_is_unsure_of_was_looked_at() -> None:
    unsure = judged_by("correctness", unsure=("correctness",))
    records = [record(name, unchecked=True, outcome="passed", judgements=unsure) for name in "ab"]
    assert gate(records, limit("error_rate", 0.5)).verdict == "pass"
