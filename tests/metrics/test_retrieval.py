from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.values.case import Case
from pytest_rageval.values.reply import RetrievedChunk
from tests.build.scores import TIMEOUT, case, chunk, gold, response, score, status, view

LOG3 = math.log2(3)
OTHERS = {"specificity_accuracy", "leak_rate", "recall_at_tokens", "context_carry"}
ANCHOR_KEYS = [k for k, m in BUILT_IN.cases.items() if m.level == "anchor" and k not in OTHERS]
DOCUMENT_KEYS = [key for key, info in BUILT_IN.cases.items() if info.level == "document"]
S, T, X = "a.md | # S", "a.md | # S > ## T", "b.md | # X"


@pytest.mark.parametrize(
    ("golds", "chunks", "k", "expected"),
    [
        pytest.param(
            [S],
            [S, T, X],
            5,
            {"hit_at_k": 1, "recall_at_k": 1, "mrr": 1, "precision_at_k": 2 / 5, "ndcg_at_k": 1}
            | {"precision_returned_at_k": 2 / 3, "doc_precision_returned_at_k": 1 / 2, "map": 1},
            id="several chunks of one section are relevant but gain once",
        ),
        pytest.param(
            [S, T],
            [T],
            2,
            {"recall_at_k": 1, "ndcg_at_k": 1 / (1 + 1 / LOG3), "map": 1 / 2, "doc_recall_at_k": 1},
            id="nested golds: one chunk finds both and gains one",
        ),
        pytest.param(
            [S, T],
            [T, S],
            2,
            {"recall_at_k": 1, "ndcg_at_k": 1 / (1 + 1 / LOG3), "map": 1 / 2, "precision_at_k": 1},
            id="a gold found beside a larger one does not gain later",
        ),
        pytest.param(
            [S, T],
            [S, T],
            2,
            {"ndcg_at_k": 1, "map": 1},
            id="nested golds in order gain one each",
        ),
        pytest.param(
            ["a.md | # A"],
            ["x.md | # 1", "x.md | # 2", "a.md | # A"],
            5,
            {"mrr": 1 / 3, "doc_mrr": 1 / 2, "doc_precision_at_k": 1 / 5},
            id="documents collapse before they are ranked",
        ),
        pytest.param(
            ["a.md | # A"],
            ["x.md | # 1", "x.md | # 2", "a.md | # A"],
            2,
            {"mrr": 0, "doc_mrr": 0, "doc_hit_at_k": 0, "doc_precision_returned_at_k": 0},
            id="k counts delivered chunks, not documents",
        ),
        pytest.param(
            ["a.md | # A"],
            ["a.md | # B"],
            1,
            {"hit_at_k": 0, "doc_hit_at_k": 1, "doc_ndcg_at_k": 1},
            id="the right document is a hit at document level only",
        ),
        pytest.param(
            ["a.md"],
            ["a.md | # A"],
            20,
            {"precision_at_k": 1 / 20, "precision_returned_at_k": 1},
            id="k beyond the results",
        ),
        pytest.param(
            ["a.md | # A"],
            [],
            5,
            {
                "hit_at_k": 0,
                "recall_at_k": 0,
                "mrr": 0,
                "ndcg_at_k": 0,
                "map": 0,
                "precision_at_k": 0,
                "precision_returned_at_k": 0,
                "doc_precision_returned_at_k": 0,
            },
            id="an empty list is a zero",
        ),
        pytest.param(
            ["a.md | # A", "a.md | # B"],
            ["a.md | # B", "a.md | # A"],
            5,
            {"recall_at_k": 1, "doc_recall_at_k": 1, "doc_map": 1, "doc_precision_at_k": 1 / 5},
            id="two golds of one document are one gold document",
        ),
    ],
)
def test_worked_examples(
    golds: list[str], chunks: list[str], k: int, expected: dict[str, float]
) -> None:
    metrics = score(case(*golds), response(*chunks), k=k).metrics
    assert {key: metrics[key] for key in expected} == pytest.approx(expected)


def test_a_copy_keeps_its_rank_and_is_not_relevant() -> None:
    again = chunk(S, chunk_id="7")
    reply = response(retrieved_chunks=(chunk(X, chunk_id="1"), again, again))
    metrics = score(case(S), reply, k=3).metrics
    assert metrics["precision_at_k"] == pytest.approx(1 / 3)
    assert metrics["precision_returned_at_k"] == pytest.approx(1 / 3)
    assert metrics["mrr"] == 1 / 2
    assert metrics["ndcg_at_k"] == pytest.approx(1 / LOG3)


def test_a_copy_under_another_heading_finds_its_gold_but_gains_nothing() -> None:
    copies = (chunk("a.md | # X", chunk_id="7"), chunk(S, chunk_id="7"))
    metrics = score(case(S), response(retrieved_chunks=copies), k=2).metrics
    assert (metrics["hit_at_k"], metrics["recall_at_k"], metrics["mrr"]) == (1, 1, 1 / 2)
    assert (metrics["precision_at_k"], metrics["ndcg_at_k"], metrics["map"]) == (0, 0, 0)


def test_the_largest_new_grade_is_the_gain() -> None:
    golds = (gold(S, grade=1), gold(T, grade=3), gold(X, grade=2))
    metrics = score(case(gold_supports=golds), response(X, T), k=2).metrics
    assert metrics["ndcg_at_k"] == pytest.approx((2 + 3 / LOG3) / (3 + 2 / LOG3))


def test_a_document_has_the_largest_grade_of_its_golds() -> None:
    golds = (gold(S, grade=1), gold("a.md | # U", grade=4), gold(X, grade=2))
    metrics = score(case(gold_supports=golds), response(X, S), k=2).metrics
    assert metrics["doc_ndcg_at_k"] == pytest.approx((2 + 4 / LOG3) / (4 + 2 / LOG3))


@pytest.mark.parametrize(
    ("groups", "chunks", "whole", "best"),
    [
        (((0, 1), (2,)), ["a.md"], 0, 1 / 2),
        (((0, 1), (2,)), ["c.md"], 1, 1),
        (((0, 1), (2,)), ["b.md", "a.md"], 1, 1),
        (((0, 1), (2,)), ["x.md"], 0, 0),
        (((0, 0),), ["a.md"], 1, 1),
        (((0, 0, 1),), ["a.md"], 0, 1 / 2),
        (((0, 1, 2), (0, 1)), ["a.md", "c.md"], 0, 2 / 3),
    ],
)
def test_groups_are_alternatives_of_golds_needed_together(
    groups: tuple[tuple[int, ...], ...], chunks: list[str], whole: float, best: float
) -> None:
    of = case("a.md", "b.md", "c.md", required_support_groups=groups)
    metrics = score(of, response(*chunks)).metrics
    assert metrics["recall_all_at_k"] == whole
    assert metrics["group_recall_at_k"] == pytest.approx(best)


@pytest.mark.parametrize(
    ("of", "reply", "key", "state"),
    [
        (case(S), None, "mrr", "error"),
        (case(S), None, "doc_mrr", "error"),
        (case(S), None, "recall_all_at_k", "not_applicable"),
        (case(S, required_support_groups=((0,),)), None, "recall_all_at_k", "error"),
        (case(), None, "mrr", "not_applicable"),
        (case(answerable=False), None, "doc_mrr", "not_applicable"),
        (case(answerable=False), None, "negative_accuracy", "error"),
        (case(S), None, "negative_accuracy", "not_applicable"),
        (case(S), None, "specificity_accuracy", "not_applicable"),
        (case(S, irrelevant_supports=(gold(X),)), None, "specificity_accuracy", "error"),
        (case(S), response(retrieved_chunks=None), "mrr", "not_applicable"),
        (case(S), response(retrieved_chunks=None), "doc_map", "not_applicable"),
        (case(S), response(S, answer=" \n"), "mrr", "scored"),
        (case(answerable=False), response(answer=""), "negative_accuracy", "scored"),
    ],
)
def test_the_population_is_decided_before_the_error(
    of: Case, reply: Any, key: str, state: str
) -> None:
    assert status(score(of, reply, error=None if reply else TIMEOUT), key) == state


@pytest.mark.parametrize("reply", [response("a.md"), response("z.md"), None])
def test_without_any_heading_in_the_run_anchor_level_never_applies(reply: Any) -> None:
    of = case(S, required_support_groups=((0,),), irrelevant_supports=(gold(X),))
    scores = score(of, reply, error=None if reply else TIMEOUT, headings_reported=False)
    keys = [*ANCHOR_KEYS, "specificity_accuracy"]
    assert {status(scores, key) for key in keys} == {"not_applicable"}
    document = {status(scores, key) for key in DOCUMENT_KEYS}
    assert document == ({"scored"} if reply else {"error"})


def test_an_irrelevant_heading_also_needs_headings() -> None:
    of = case("a.md", irrelevant_supports=(gold(X),))
    scores = score(of, response("a.md"), headings_reported=False)
    assert status(scores, "hit_at_k") == "not_applicable"
    plain = score(case("a.md"), response("a.md"), headings_reported=False)
    assert plain.metrics["hit_at_k"] == 1


@pytest.mark.parametrize("settings", [{"snippets": "any"}, {"coarse_chunks": True}])
def test_a_text_missing_from_the_cut_blocks_anchor_level(settings: dict[str, Any]) -> None:
    of = case(gold_supports=(gold(S, snippets=("x",)),))
    texts = (chunk(X, text="x"), chunk(S, text="x"), chunk(S))
    inside = score(of, response(retrieved_chunks=texts), k=3, **settings)
    outside = score(of, response(retrieved_chunks=texts), k=2, **settings)
    assert status(inside, "mrr") == "not_applicable"
    assert inside.metrics["doc_mrr"] == 1 / 2
    assert outside.metrics["mrr"] == 1 / 2
    decided = view(of, response(retrieved_chunks=texts), k=3, **settings).cut
    assert decided[2].matched_golds is None


def test_texts_are_not_needed_where_no_anchor_has_a_snippet() -> None:
    assert score(case(S), response(S), snippets="all").metrics["hit_at_k"] == 1


def test_a_cut_text_scores_as_the_whole_one_did() -> None:
    of = case(gold_supports=(gold(S, snippets=("needle",)),))
    whole = response(retrieved_chunks=(chunk(S, text="x" * 300 + "needle"),))
    first = score(of, whole, snippets="any")
    stored = tuple(
        RetrievedChunk(
            rel_path=c.rel_path,
            heading_path=c.heading_path,
            text="x" * 200,
            text_truncated=True,
            matched_golds=c.matched_golds,
            irrelevant=c.irrelevant,
        )
        for c in view(of, whole, snippets="any").cut
    )
    again = score(of, response(retrieved_chunks=stored), snippets="any")
    assert again.metrics == {**first.metrics, "context_tokens": None}
    assert first.metrics["hit_at_k"] == 1


@pytest.mark.parametrize(("k", "specific"), [(1, 1.0), (2, 0.0)])
def test_specificity_looks_at_the_cut(k: int, specific: float) -> None:
    of = case(S, irrelevant_supports=(gold(X),))
    assert score(of, response(S, X), k=k).metrics["specificity_accuracy"] == specific


def test_specificity_does_not_need_an_answerable_case() -> None:
    of = case(answerable=False, irrelevant_supports=(gold(X),))
    assert score(of, response(X)).metrics["specificity_accuracy"] == 0


def test_an_irrelevant_chunk_is_relevant_nowhere_at_anchor_level() -> None:
    of = case(
        "a.md | # A",
        irrelevant_supports=(gold("a.md | # A > ## Old"),),
        required_support_groups=((0,),),
    )
    metrics = score(of, response("a.md | # A > ## Old")).metrics
    assert {metrics[key] for key in (*ANCHOR_KEYS, "specificity_accuracy")} == {0.0}


def test_negative_cases_want_an_empty_list_beyond_the_cut_too() -> None:
    of = case(answerable=False)
    assert score(of, response()).metrics["negative_accuracy"] == 1
    assert score(of, response(X), k=1).metrics["negative_accuracy"] == 0


def test_the_k_of_the_case_wins() -> None:
    assert score(case("a.md", k=1), response("x.md", "a.md"), k=5).metrics["mrr"] == 0


# --- properties ----------------------------------------------------------------------------

PLACES = [
    f"{path}.md | {heading}"
    for path in "abc"
    for heading in ("", "# S", "# S > ## T", "# S > ## T > ### U", "# V")
]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    places = draw(st.lists(st.sampled_from(PLACES), unique=True, min_size=1, max_size=6))
    split = draw(st.integers(1, len(places)))
    golds = tuple(gold(place, grade=draw(st.integers(1, 4))) for place in places[:split])
    group = st.lists(st.integers(0, split - 1), min_size=1, max_size=4).map(tuple)
    groups = draw(st.none() | st.lists(group, min_size=1, max_size=3).map(tuple))
    return case(
        gold_supports=golds,
        irrelevant_supports=tuple(map(gold, places[split:])),
        required_support_groups=groups,
    )


_chunk = st.builds(
    chunk, st.sampled_from(PLACES), chunk_id=st.none() | st.sampled_from(["1", "2", "3"])
)
_chunks = st.lists(_chunk, max_size=10).map(tuple)
_k = st.integers(1, 12)


@given(of=cases(), chunks=_chunks, k=_k)
def test_every_score_is_finite_and_within_its_scale(
    of: Case, chunks: tuple[RetrievedChunk, ...], k: int
) -> None:
    scores = score(of, response(retrieved_chunks=chunks), k=k)
    for key, value in scores.metrics.items():
        info = BUILT_IN.cases[key]
        if value is not None:
            assert info.scale[0] <= value <= (info.scale[1] or math.inf), key
            assert value in {0.0, 1.0} or not info.binary, key
    assert scores.metrics.keys() == BUILT_IN.cases.keys()


@given(of=cases(), chunks=_chunks, k=_k)
def test_a_deeper_cut_never_loses_evidence(
    of: Case, chunks: tuple[RetrievedChunk, ...], k: int
) -> None:
    reply = response(retrieved_chunks=chunks)
    cut, deeper = score(of, reply, k=k).metrics, score(of, reply, k=k + 1).metrics
    for key in ("hit_at_k", "recall_at_k", "mrr", "map", "recall_all_at_k", "group_recall_at_k"):
        for name in (key, f"doc_{key}"):
            before, after = cut.get(name), deeper.get(name)
            if before is not None and after is not None:
                assert after >= before, name


@given(of=cases(), chunks=_chunks, rest=_chunks, k=_k)
def test_what_lies_below_the_cut_changes_nothing(
    of: Case, chunks: tuple[RetrievedChunk, ...], rest: tuple[RetrievedChunk, ...], k: int
) -> None:
    assume(len(chunks) >= k)
    short = score(of, response(retrieved_chunks=chunks[:k]), k=k)
    long = score(of, response(retrieved_chunks=chunks[:k] + rest), k=k)
    assert long.metrics == short.metrics


@given(of=cases(), chunks=_chunks, k=_k)
def test_junk_at_the_end_never_helps(of: Case, chunks: tuple[RetrievedChunk, ...], k: int) -> None:
    plain = score(of, response(retrieved_chunks=chunks), k=k).metrics
    noisy = score(of, response(retrieved_chunks=(*chunks, chunk("z.md | # Z"))), k=k).metrics
    for key in (*ANCHOR_KEYS, *DOCUMENT_KEYS):
        before, after = plain[key], noisy[key]
        if before is not None and after is not None:
            assert after <= before + 1e-12, key


@given(of=cases(), chunks=_chunks, k=_k)
def test_metrics_agree_on_whether_anything_was_found(
    of: Case, chunks: tuple[RetrievedChunk, ...], k: int
) -> None:
    metrics = score(of, response(retrieved_chunks=chunks), k=k).metrics
    assert (metrics["hit_at_k"] == 1) == bool(metrics["recall_at_k"]) == bool(metrics["mrr"])
    assert bool(metrics["ndcg_at_k"]) == bool(metrics["map"])
    assert (metrics["doc_hit_at_k"] or 0) >= (metrics["hit_at_k"] or 0)
    if metrics["recall_all_at_k"] is not None:
        assert (metrics["recall_all_at_k"] == 1) == (metrics["group_recall_at_k"] == 1)
