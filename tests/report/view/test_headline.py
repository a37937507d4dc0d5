"""The headline as blocks."""

from __future__ import annotations

from pytest_rageval.report.view.headline import headline_facts
from pytest_rageval.values.headline import Headline, Named, Pattern, Since


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
