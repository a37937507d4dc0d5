"""The reranking study on hand-computed candidates, by brute force, and against ir_measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.analysis.rerank import (
    MEASURES,
    Candidates,
    OrderStudy,
    ceiling,
    read_candidates,
    study_order,
    tabulate,
)
from pytest_rageval.values.record import CaseRecord
from tests.build.records import changed, failed, record
from tests.build.scores import case, chunk

KS = (1, 2, 3)


def asked(
    case_id: str, *matched: tuple[int, ...], grades: Sequence[int] = (1, 1), **fields: Any
) -> CaseRecord:
    """Record whose chunks match golds by position."""
    chunks = tuple(
        chunk(f"{case_id}-{place}.md | # A", matched_golds=golds, irrelevant=False, text="t")
        for place, golds in enumerate(matched)
    )
    golds = case(*(f"g{n}.md | # A" for n in range(len(grades))))
    graded = tuple(
        replace(gold, grade=grade) for gold, grade in zip(golds.gold_supports, grades, strict=True)
    )
    one = case("a.md", gold_supports=graded)
    return record(case_id, retrieved_chunks=chunks, **{"case": one, **fields})


def candidates(*records: CaseRecord, level: Any = "anchor") -> list[Candidates]:
    found, left_out = read_candidates(records, path_case="sensitive", level=level)
    assert not left_out
    return found


def study(*records: CaseRecord, **orders: Sequence[int]) -> OrderStudy:
    table = tabulate(candidates(*records), KS, 2)
    return study_order(table, {(one.file, one.name): orders[one.case.id] for one in records})


def test_a_reranker_gains_and_harms_by_hand() -> None:
    gains = asked("gains", (), (), (0,), grades=(1,))
    harmed = asked("harmed", (0,), (), (), grades=(1,))
    found = study(gains, harmed, gains=(2, 0, 1), harmed=(1, 2, 0))
    summary = found.metrics["mrr", 3]
    assert (summary.before, summary.after) == ((1 / 3 + 1) / 2, (1 + 1 / 3) / 2)
    assert (summary.improved, summary.worsened, summary.stayed) == (1, 1, 0)
    hit = found.metrics["hit", 1]
    assert (hit.before, hit.after, hit.delta) == (0.5, 0.5, 0.0)
    (broken,) = found.worsened
    assert (broken.case_id, broken.before, broken.after) == ("harmed", 1.0, 0.0)
    assert (broken.first_before, broken.first_after) == (1, 3)
    assert [one.case_id for one in found.improved] == ["gains"]
    assert found.ceiling["recall", 1] == 1.0
    assert found.gap_closed(("recall", 2)) == 0.0


def test_the_gap_to_the_ceiling_is_shared_out() -> None:
    found = study(asked("x", (), (0,), (1,)), x=(1, 0, 2))
    # Delivered recall@1 0, ceiling 1/2, reranked 1/2; recall@2: 1/2, ceiling 1, reranked 1/2.
    assert found.gap_closed(("recall", 1)) == 1.0
    assert found.gap_closed(("recall", 2)) == 0.0
    assert found.gap_closed(("hit", 2)) is None


def test_the_ceiling_has_its_own_order_for_each_measure() -> None:
    # Two ordinary golds in one chunk, an important one alone in the other.
    (one,) = candidates(asked("x", (0, 1), (2,), grades=(1, 1, 3)))
    found = ceiling(one, (1, 2))
    assert found.exact
    assert found.values["recall", 1] == pytest.approx(2 / 3)
    assert found.values["ndcg", 1] == 1.0
    assert found.values["recall", 2] == 1.0
    assert found.values["map", 2] == pytest.approx(2 / 3)


_GOLDS = st.sets(st.integers(0, 3), max_size=3).map(lambda s: tuple(sorted(s)))


@given(
    st.lists(_GOLDS, min_size=1, max_size=5),
    st.lists(st.integers(1, 3), min_size=4, max_size=4),
)
def test_the_ceiling_is_the_best_of_every_order(
    matched: list[tuple[int, ...]], grades: list[int]
) -> None:
    (one,) = candidates(asked("x", *matched, grades=grades))
    best = {(name, k): 0.0 for name in MEASURES for k in KS}
    for order in permutations(range(len(matched))):
        for metric, value in one.measured(order, KS).items():
            best[metric] = max(best[metric], value)
    assert ceiling(one, KS).values == pytest.approx(best, abs=1e-12)


def test_figures_agree_with_ir_measures() -> None:
    ranked = {"a": ((), (0,), (1,), ()), "b": ((1,), (), (), (0,)), "c": ((), (), (), ())}
    records = [asked(name, *golds, grades=(1, 2)) for name, golds in ranked.items()]
    orders = {"a": (1, 3, 2, 0), "b": (3, 2, 1, 0), "c": (0, 1, 2, 3)}
    ours = study(*records, **orders)
    qrels, runs = [], {"before": [], "after": []}  # type: ignore[var-annotated]
    for name, golds in ranked.items():
        docs = [f"{name}{g[0]}" if g else f"{name}-{n}" for n, g in enumerate(golds)]
        qrels += [ir_measures.Qrel(name, f"{name}{n}", g) for n, g in enumerate((1, 2))]
        for which, order in (("before", range(4)), ("after", orders[name])):
            runs[which] += [
                ir_measures.ScoredDoc(name, docs[place], 10 - rank)
                for rank, place in enumerate(order)
            ]
    theirs = {
        "recall": ir_measures.R,
        "precision": ir_measures.P,
        "mrr": ir_measures.RR,
        "ndcg": ir_measures.nDCG,
        "map": ir_measures.AP,
    }
    for name, measure in theirs.items():
        for k in KS:
            for which in ("before", "after"):
                (value,) = ir_measures.calc_aggregate([measure @ k], qrels, runs[which]).values()
                assert getattr(ours.metrics[name, k], which) == pytest.approx(value, abs=1e-9)


def test_cases_that_no_order_can_change_are_left_out_with_their_reason() -> None:
    undecided = (chunk("a.md | # A", matched_golds=None),)
    records = [
        asked("kept", (0,)),
        asked("again", (0,), repeat=1),
        record("unanswerable", case=case(answerable=False), retrieved_chunks=()),
        record("goldless", case=case(), retrieved_chunks=()),
        failed("down", case=case("a.md | # A")),
        record("silent", case=case("a.md | # A"), answer="x"),
        record("undecided", case=case("a.md | # A"), retrieved_chunks=undecided),
    ]
    found, left_out = read_candidates(records, path_case="sensitive", level="anchor")
    assert [one.record.case.id for one in found] == ["kept"]
    assert left_out == {
        "unanswerable": 1,
        "no gold_supports": 1,
        "the target failed": 1,
        "no retrieved_chunks": 1,
        "a chunk could not be compared with the golds": 1,
    }


def test_the_order_before_the_targets_own_reranking_is_known_where_all_ranks_are() -> None:
    ranked = asked("x", (0,), ())
    chunks = ranked.reply.retrieved_chunks or ()
    both = tuple(
        replace(one, rank_before_rerank=rank) for one, rank in zip(chunks, (2, 1), strict=True)
    )
    (found,) = candidates(changed(ranked, retrieved_chunks=both))
    assert found.before() == [1, 0]
    (unknown,) = candidates(ranked)
    assert unknown.before() is None
