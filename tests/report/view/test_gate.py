"""The decision of a gate as blocks."""

from __future__ import annotations

from pytest_rageval.report.view.blocks import plain
from pytest_rageval.report.view.gate import check_facts, headline_facts, view_of_gate
from pytest_rageval.values.gate import Check, CheckResult, CheckStatus, GateResult
from pytest_rageval.values.headline import Headline, Named, Pattern, Since


def result(status: CheckStatus, metric: str = "mrr", message: str = "because") -> CheckResult:
    check = Check(metric=metric, kind="min", limit=0.1)
    return CheckResult(check=check, status=status, message=message, n=3)


def test_failed_checks_come_first_with_their_number_of_cases() -> None:
    found = check_facts([result("pass"), result("skip"), result("fail", "map")])
    assert [(fact.name, fact.text) for fact in found] == [
        ("FAIL", "map: because (n 3)"),
        ("skipped", "mrr: because (n 3)"),
        ("ok", "mrr: because (n 3)"),
    ]


def test_a_decision_has_the_headline_of_its_run() -> None:
    pattern = Pattern(code="stage", facts={"n": 4, "stage": "hallucinated"})
    gate = GateResult(verdict="fail", sentence="FAIL", headline=Headline(patterns=(pattern,)))
    view = view_of_gate("r1", gate)
    assert plain(view.title) == "FAIL"
    assert [getattr(block, "text", "") for block in view.blocks] == ["r1", "all 4 hallucinated"]


def test_what_is_new_comes_before_the_causes_and_is_bad_where_cases_fail() -> None:
    error = Pattern(code="error", facts={"kind": "http", "n": 1, "of": 2, "message": "secret"})
    stage = Pattern(code="stage", facts={"n": 2, "stage": "hallucinated"})
    broke = Named(n=2, names=("a", "b"))
    since = Since(name="main", run_id="r1", verdict="worse", n=2, broke=broke)
    first, second, third = headline_facts(Headline(since=since, patterns=(error, stage)))
    assert (first.name, first.status) == ("since", "bad")
    assert first.text == "main, worse: 2 newly failing: a, b; 0 fixed"
    assert (second.name, second.text) == ("pattern", "http in 1 of 2 cases: secret")
    assert (third.name, third.text) == ("", "all 2 hallucinated")


def test_a_face_that_leaves_this_machine_has_no_text_of_the_target() -> None:
    error = Pattern(code="error", facts={"kind": "http", "n": 1, "of": 2, "message": "secret"})
    (fact,) = headline_facts(Headline(patterns=(error,)), public=True)
    assert fact.text == "http in 1 of 2 cases"
