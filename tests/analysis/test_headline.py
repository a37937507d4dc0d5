"""The headline: what is new, what the failing cases share, and the case to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_rageval.analysis.compare.metrics import compare_records
from pytest_rageval.analysis.headline import headline_of
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.headline import Headline, Pattern
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import RetrievedChunk
from tests.build.records import changed, failed
from tests.build.runs import scored

GOLD = (Anchor(rel_path="a.md"),)


def replied(
    case_id: str, value: float = 1.0, *, chunks: int = 5, rank: int = 1, **fields: Any
) -> CaseRecord:
    """Record of a case whose evidence is at a rank of the chunks that came back; 0: nowhere."""
    found = [
        RetrievedChunk(rel_path="a.md", matched_golds=(0,) if n == rank else ())
        for n in range(1, chunks + 1)
    ]
    return scored(case_id, value, gold_supports=GOLD, retrieved_chunks=tuple(found), **fields)


def missed(case_id: str, **fields: Any) -> CaseRecord:
    return replied(case_id, 0.0, rank=0, failure_stage="not_retrieved", **fields)


def since(base: Sequence[CaseRecord], new: Sequence[CaseRecord]) -> Headline:
    return headline_of(new, compare_records(base, new), name="main", run_id="r1")


def sentences(found: Headline) -> list[str]:
    return [one.sentence for one in found.patterns]


def test_new_failures_errors_and_fixed_cases_are_named_the_worst_first() -> None:
    base = [replied("a"), replied("b"), replied("c"), missed("d"), missed("e")]
    new = [
        missed("a"),
        replied("b", outcome="flawed", failure_stage="not_cited"),
        failed("c", case_hash="c-content"),
        replied("d"),
        missed("e"),
    ]
    found = since(base, new)
    assert found.since is not None
    assert found.since.broke.names == ("a", "b")
    assert found.since.erred.names == ("c",)
    assert found.since.fixed.names == ("d",)
    assert (found.since.counts, found.worst) == ("2 broke, 1 fixed, 1 error now, of 5", "a")


def test_the_worst_of_the_new_comes_before_older_failures() -> None:
    base = [replied("new"), missed("old")]
    found = since(base, [replied("new", outcome="flawed"), missed("old")])
    assert found.worst == "new"
    assert headline_of(base).worst == "old"


def test_a_flaw_that_becomes_a_miss_is_worse_and_no_new_failure() -> None:
    found = since([replied("a", outcome="flawed")], [missed("a")]).since
    assert found is not None
    assert (found.broke.n, found.worse, found.better) == (0, 1, 0)


def test_time_and_cost_that_change_much_are_told() -> None:
    def run(ms: float, usd: float) -> list[CaseRecord]:
        return [
            changed(replied(f"c{i}"), latency={"total_ms": ms + i}, usage={"cost_usd": usd})
            for i in range(10)
        ]

    found = since(run(10, 0.01), run(1000, 0.03)).since
    assert found is not None
    assert found.rates == ("calls 69 times slower (14 -> 1004 ms)", "answers 3.0 times dearer")
    same = since(run(10, 0.01), run(11, 0.0101)).since
    assert same is not None
    assert same.rates == ()


def test_replies_with_fewer_chunks_than_asked_for_are_the_pattern() -> None:
    names = [f"c{i}" for i in range(6)]
    base = [replied(name) for name in names]
    new = [(missed if i < 3 else replied)(name, chunks=1) for i, name in enumerate(names)]
    assert sentences(since(base, new)) == ["every reply held 1 of 5 chunks, main 5"]
    assert sentences(headline_of(new)) == ["every reply held 1 of 5 chunks"]
    assert "chunks" not in {one.code for one in since(new, new).patterns}


def test_a_document_category_or_tag_that_explains_most_is_the_pattern() -> None:
    def run(lost: bool) -> list[CaseRecord]:
        return [
            (missed if lost and i < 4 else replied)(
                f"c{i}", cluster=f"d{i}.md", category="multi_hop" if i < 4 else "factual"
            )
            for i in range(12)
        ]

    assert sentences(since(run(False), run(True))) == [
        "4 of 4 in category multi_hop",
        "all 4 not retrieved",
    ]


def test_errors_of_one_cause_are_the_pattern_and_their_message_stays_here() -> None:
    new = [failed(f"c{i}", case_hash=f"c{i}-content") for i in range(3)]
    (one,) = since([replied(f"c{i}") for i in range(3)], new).patterns
    assert one.sentence == "http in 3 of 3 cases: no answer"
    assert one.public == "http in 3 of 3 cases"


def test_cases_that_vary_between_repeats_are_counted_the_worst_first() -> None:
    records = [
        (replied if n < passes else missed)(name, repeat=n)
        for name, passes in (("often", 4), ("seldom", 1), ("always", 5))
        for n in range(5)
    ]
    found = headline_of(records)
    assert found.patterns[0] == Pattern(
        code="repeats",
        facts={"n": 2, "of": 3, "repeats": 5, "every": 33, "cases": "seldom 1/5, often 4/5"},
    )
