from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_rageval.plugin.check_reports import (
    check_metadata,
    check_report,
    check_text,
    whole_report,
)
from pytest_rageval.values.gate import Check, CheckResult

CHECK: dict[str, Any] = {"metric": "mrr", "kind": "min", "limit": 0.75, "line": 3}


def result(status: Any = "fail", **fields: Any) -> CheckResult:
    check = Check(**CHECK | fields.pop("check", {}))
    given = {"estimate": 0.7, "low": 0.6, "high": 0.8, "n": 20} | fields
    return CheckResult(check=check, status=status, message="0.700 is below min 0.750", **given)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("pass", "passed"), ("fail", "failed"), ("warn", "skipped"), ("skip", "skipped")],
)
def test_a_check_is_reported_as_an_item_of_the_thresholds_file(status: Any, outcome: str) -> None:
    report = check_report(result(status))
    assert (report.nodeid, report.outcome) == ("thresholds.toml::mrr", outcome)
    assert report.location == ("thresholds.toml", 2, "mrr")
    assert (getattr(report, "wasxfail", None) is not None) is (status == "warn")
    assert ("below min 0.750" in report.longreprtext) is (status != "pass")


def test_a_failing_check_says_why_first_then_where() -> None:
    found = result(check={"table": "tag", "group": "work"}, missed_cases=("a", "b"))
    assert check_text(found).splitlines() == [
        "0.700 is below min 0.750",
        "thresholds.toml:3  metric mrr, tag work",
        "lowest: a, b",
    ]


def test_a_check_that_no_file_holds_says_where_it_is_from() -> None:
    implicit = result(check={"line": 0, "implicit": True})
    assert "(a check that always exists)" in check_text(implicit)
    assert "(from --gate)" in check_text(result(check={"line": 0}))


@pytest.mark.parametrize(
    ("check", "word"),
    [
        ({"kind": "max"}, "highest"),
        ({"kind": "max_drop"}, "worse"),
        ({"metric": "pass_rate"}, "not passed"),
        ({"metric": "newly_missed", "kind": "max"}, "newly missed"),
        ({"metric": "stage.incorrect", "kind": "max"}, "cases"),
    ],
)
def test_only_missed_cases_are_called_missed(check: dict[str, Any], word: str) -> None:
    found = result(check=check, missed_cases=("a",))
    assert check_text(found).splitlines()[-1] == f"{word}: a"


def test_a_list_of_cases_that_may_be_cut_says_so() -> None:
    check = {"metric": "error_rate", "kind": "max"}
    named = tuple("abcdefghij")
    whole, cut = (check_text(result(check=check, missed_cases=ids)) for ids in (named[:9], named))
    assert whole.splitlines()[-1] == "failed: a, b, c, d, e, f, g, h, i"
    assert cut.splitlines()[-1] == "failed, at most 10 of them: a, b, c, d, e, f, g, h, i, j"


def test_the_metadata_of_a_check_holds_its_numbers_as_scalars() -> None:
    assert check_metadata(result(check={"table": "category", "group": "multi_hop"})) == {
        "metric": "mrr",
        "kind": "min",
        "limit": 0.75,
        "table": "category",
        "group": "multi_hop",
        "status": "fail",
        "message": "0.700 is below min 0.750",
        "value": 0.7,
        "low": 0.6,
        "high": 0.8,
        "n": 20,
    }


def test_a_lost_case_fails_with_the_sentence_before_the_hint() -> None:
    report = whole_report("complete", "INCOMPLETE: 3 of 4", "why")
    assert report.longreprtext == "INCOMPLETE: 3 of 4\nwhy"
    assert report.nodeid == "thresholds.toml::complete"
    alone = whole_report("complete", "INCOMPLETE: 3 of 4")
    assert (alone.longreprtext, alone.outcome) == ("INCOMPLETE: 3 of 4", "failed")


def test_the_title_of_a_failure_is_its_first_line() -> None:
    crash = check_report(result(missed_cases=("a",))).longrepr.reprcrash  # type: ignore[union-attr]
    assert (crash.path, crash.lineno) == ("thresholds.toml", 3)
    assert crash.message == "0.700 is below min 0.750"


def test_cases_that_failed_are_not_said_to_have_missed() -> None:
    found = result(check={"metric": "error_rate"}, missed_cases=("a",))
    assert check_text(found).splitlines()[-1] == "failed: a"


def test_the_properties_of_a_check_are_those_of_its_numbers_that_there_are() -> None:
    assert check_report(result(low=None, high=None)).user_properties == [
        ("rageval.status", "fail"),
        ("rageval.value", 0.7),
        ("rageval.limit", 0.75),
        ("rageval.n", 20),
    ]


def test_a_failed_check_can_be_written_as_json(pytestconfig: pytest.Config) -> None:
    report, hook = check_report(result()), pytestconfig.hook
    written = hook.pytest_report_to_serializable(config=pytestconfig, report=report)
    document = json.loads(json.dumps(written))
    read = hook.pytest_report_from_serializable(config=pytestconfig, data=document)
    assert (read.nodeid, read.outcome) == ("thresholds.toml::mrr", "failed")
    assert read.longreprtext == report.longreprtext
