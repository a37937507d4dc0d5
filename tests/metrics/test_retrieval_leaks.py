"""Permission tests: what a user must not see, at any rank."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.metrics.retrieval import leaked_chunks
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseScores
from tests.build.scores import TIMEOUT, case, gold, response, score, view

ANA = {"metadata": {"user": "ana"}}
SECRET = {"irrelevant_supports": (gold("hr/salaries.md"),)}


def leak(found: CaseScores) -> float | str | None:
    """Return the value, the reason, or None for an error."""
    value = found.metrics["leak_rate"]
    return found.not_applicable.get("leak_rate") if value is None else value


@pytest.mark.parametrize(
    ("of", "chunks", "expected"),
    [
        (case(**ANA, **SECRET), ("a.md", "hr/salaries.md"), 1),
        (case(tags=("acl",), **SECRET), ("hr/salaries.md | # Any",), 1),
        (case(**ANA, **SECRET), ("a.md", "hr/rota.md"), 0),
        (case(**ANA, **SECRET), (), 0),
        (case(answerable=False, **ANA, **SECRET), ("hr/salaries.md",), 1),
        # an open section of a closed document, and a closed one of an open document
        (case("hr/salaries.md | # Open", **ANA, **SECRET), ("hr/salaries.md | # Open",), 0),
        (case("hr/salaries.md | # Open", **ANA, **SECRET), ("hr/salaries.md | # Shut",), 1),
        (
            case("a.md", irrelevant_supports=(gold("a.md | # Shut"),), **ANA),
            ("a.md | # Open", "a.md | # Shut > ## Deep"),
            1,
        ),
    ],
)
def test_a_chunk_that_the_user_must_not_see_is_a_leak(
    of: Case, chunks: tuple[str, ...], expected: float
) -> None:
    assert leak(score(of, response(*chunks, abstained=not of.answerable))) == expected


def test_a_leak_below_the_cut_is_one_and_the_case_is_missed() -> None:
    found = score(case("a.md", **ANA, **SECRET), response("a.md", "hr/salaries.md"), k=1)
    assert (found.metrics["hit_at_k"], found.metrics["specificity_accuracy"]) == (1, 1)
    assert leak(found) == 1
    assert (found.outcome, found.failure_stage) == ("missed", "irrelevant_retrieved")
    seen = view(case("a.md", **ANA, **SECRET), response("a.md", "hr/salaries.md"), k=1)
    assert [(rank, one.rel_path) for rank, one in leaked_chunks(seen)] == [(2, "hr/salaries.md")]


@pytest.mark.parametrize("of", [case(**SECRET), case(**ANA), case(tags=("acl",))])
def test_only_cases_that_say_who_asks_and_what_is_closed_test_permissions(of: Case) -> None:
    assert "does not test permissions" in str(leak(score(of, response("hr/salaries.md"))))


def test_what_cannot_be_known_is_no_pass() -> None:
    of = case("a.md | # A", **ANA, **SECRET)
    assert leak(score(of, None, error=TIMEOUT)) is None
    assert leak(score(of, response(retrieved_chunks=None))) == (
        "The target reports no retrieved_chunks."
    )
    # Headings of golds elsewhere do not matter for a closed document.
    bare = score(of, response("hr/salaries.md"), headings_reported=False)
    assert leak(bare) == 1
    section = case(irrelevant_supports=(gold("hr/salaries.md | # Shut"),), **ANA)
    assert isinstance(leak(score(section, response("x.md"), headings_reported=False)), str)


@given(st.lists(st.sampled_from(["a.md", "b.md", "hr/salaries.md", "hr/x.md"]), max_size=8))
def test_a_leak_is_what_a_second_reading_finds(paths: list[str]) -> None:
    found = score(case("a.md", **ANA, **SECRET), response(*paths), k=2)
    assert leak(found) == float("hr/salaries.md" in paths)
    more: Any = leak(score(case("a.md", **ANA, **SECRET), response(*paths, "b.md"), k=2))
    assert more == leak(found)
