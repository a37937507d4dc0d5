from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.plugin.reports import (
    check_metadata,
    check_report,
    check_text,
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
