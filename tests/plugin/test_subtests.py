"""Subtests of a test function of the user's own: parts of a case, and no cases of their own."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from tests.plugin.scratch import CASES, REFUSED, Project, outcomes

pytestmark = pytest.mark.skipif(
    pytest.version_tuple < (9, 0), reason="pytest has subtests from 9.0 on"
)
PASSING = """
def test_it(eval_record, subtests):
    for part in range(2):
        with subtests.test(part=part):
            assert eval_record.case.id
"""
MIXED = """
import pytest

def test_it(eval_record, subtests):
    with subtests.test("cites"):
        if eval_record.reply.abstained:
            pytest.skip("nothing to cite")
        assert eval_record.scores.citations
    with subtests.test("right away"):
        assert eval_record.case.id != "ok-1"
    with subtests.test("at the end"):
        assert eval_record.case.id
"""


def test_subtests_that_pass_change_no_count(project: Project) -> None:
    project.cases([*CASES, REFUSED])
    project.write("evals/eval_set.py", PASSING)
    result = project.run("--junitxml=j.xml")
    assert outcomes(result) == {
        "passed": 3, "missed": 1, "errored": 1, "checks failed": 1, "checks passed": 1
    }  # fmt: skip
    junit = {c.get("name"): c for c in ET.parse(project.path / "j.xml").iter("testcase")}
    assert len(junit["short-1"].findall("skipped")) == 1
    assert len(junit["dead-1"].findall("error")) == 1


def test_an_error_counts_once_for_maxfail(project: Project) -> None:
    project.cases([REFUSED, *CASES])
    project.write("evals/eval_set.py", PASSING)
    assert outcomes(project.run("--maxfail=2"))["missed"] == 1


def test_a_case_with_a_skipped_subtest_stays_in_the_run_and_one_with_a_failed_one_has_failed(
    project: Project,
) -> None:
    project.write("evals/eval_set.py", MIXED)
    result = project.run()
    assert result.ret == 1
    said = "note     1 case failed in a test function, which the gate does not count"
    assert said in result.outlines
    assert sorted(project.records()) == sorted(one["id"] for one in CASES)
    assert project.stored("metrics.json")["total"] == len(CASES)
