"""Rules of matching that differ between two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_rageval.analysis.compare.settings import Invariant, rules_difference
from pytest_rageval.values.record import CaseRecord
from tests.build.records import record
from tests.build.scores import case, chunk


def decided(number: int, rules: Sequence[Any] | None, **fields: Any) -> CaseRecord:
    one = chunk("a.md", matched_golds=None if rules is None else (0,))
    if rules:
        one = chunk("a.md", matched_golds=(0,), matched_by=tuple(rules))
    name = f"c{number}"
    return record(name, case=case("a.md | # A"), retrieved_chunks=(one,), lineno=number, **fields)


def run(*rules: Sequence[Any] | None) -> list[CaseRecord]:
    return [decided(number, of, file=f"evals/{number}.jsonl") for number, of in enumerate(rules)]


def test_records_of_older_versions_were_decided_by_headings() -> None:
    assert rules_difference(run([]), run(["heading"])) is None
    found = rules_difference(run([], []), run(["snippet"], ["document"]))
    assert isinstance(found, Invariant)
    assert (found.name, found.affects) == ("matching.rules", "everything")
    assert found.base == "heading (2 of 2 cases)"
    assert found.new == "snippet, document (2 of 2 cases)"


def test_cases_without_anchors_to_compare_are_undecided_by_every_version() -> None:
    reason = {"recall_at_k": "No chunk of the run reports a heading, and the case names one."}
    old, new = decided(1, [], not_applicable=reason), decided(1, None, not_applicable=reason)
    assert rules_difference([old], [new]) is None
    found = rules_difference([old], [decided(1, ["snippet"])])
    assert found is not None
    assert found.base == "undecided (1 of 1 case)"
