from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.metrics.view import Verdicts
from pytest_rageval.values.record import CheckedClaim, CitationCheck, Evidence
from pytest_rageval.values.reply import AskResponse
from tests.build.scores import TIMEOUT, case, chunk, cite, response, score, status

KEYS = ("attribution_hit_rate", "attribution_recall", "attribution_precision")
IN_CONTEXT, RECENCY = "citation_in_context_rate", "recency_conflict_accuracy"
SUPPORT = ("citation_support_precision", "citation_support_recall")
NEW, OLD = "docs/v2.md | # O", "docs/v1.md | # O"


def citing(*citations: str, chunks: tuple[str, ...] = (), **fields: Any) -> AskResponse:
    return response(*chunks, references=tuple(map(cite, citations)), **fields)


@pytest.mark.parametrize(
    ("citations", "expected"),
    [
        (["a.md | # S"], (1, 1 / 2, 1)),
        (["a.md | # S > ## T", "z.md | # O", "z.md | # O"], (1, 1 / 2, 1 / 2)),
        (["a.md"], (1, 1 / 2, 1)),
        (["a.md", "b.md"], (1, 1, 1)),
        (["a.md | # S", "a.md"], (1, 1 / 2, 1)),
        (["a.md | # Other"], (0, 0, 0)),
        ([], (0, 0, None)),
    ],
)
def test_attribution_counts_distinct_citations_and_golds(
    citations: list[str], expected: tuple[float | None, ...]
) -> None:
    scores = score(case("a.md | # S", "b.md"), citing(*citations))
    assert tuple(scores.metrics[key] for key in KEYS) == expected
    if not citations:
        assert status(scores, "attribution_precision") == "not_applicable"


def test_one_whole_document_citation_hits_every_gold_in_it() -> None:
    metrics = score(case("a.md | # S", "a.md | # T"), citing("a.md")).metrics
    assert metrics["attribution_recall"] == 1


def test_citations_in_the_answer_text_count() -> None:
    reply = response("a.md | # S", answer="So it is [1], or not [7].")
    metrics = score(case("a.md | # S"), reply).metrics
    assert metrics["attribution_hit_rate"] == 1
    assert metrics["attribution_precision"] == 1 / 2
    assert metrics[IN_CONTEXT] == 1 / 2


@pytest.mark.parametrize(
    ("citations", "chunks", "rate"),
    [
        (["a.md | # S"], ["a.md | # S > ## T"], 1),
        (["a.md | # S", "z.md"], ["a.md | # S"], 1 / 2),
        (["a.md | # S > ## T"], ["a.md | # S"], 0),
        (["a.md | # S"], ["a.md"], 1),
        (["a.md"], [], 0),
    ],
)
def test_citations_are_in_context_if_retrieved(
    citations: list[str], chunks: list[str], rate: float
) -> None:
    for of in (case("a.md"), case(answerable=False)):
        assert score(of, citing(*citations, chunks=tuple(chunks))).metrics[IN_CONTEXT] == rate


def test_context_is_all_that_was_retrieved_and_not_the_cut() -> None:
    reply = citing("b.md", chunks=("a.md", "b.md"))
    assert score(case("a.md"), reply, k=1).metrics[IN_CONTEXT] == 1


@pytest.mark.parametrize(
    ("of", "reply", "attribution", "in_context"),
    [
        (case("a.md"), response(), "not_applicable", "not_applicable"),
        (case("a.md"), None, "error", "error"),
        (case("a.md"), citing("a.md", answer=" "), "error", "error"),
        (case("a.md"), response(answer=" "), "error", "error"),
        (case(), None, "not_applicable", "error"),
        (case(answerable=False), None, "not_applicable", "error"),
        (case("a.md"), citing("a.md", retrieved_chunks=None), "scored", "not_applicable"),
    ],
)
def test_a_failed_case_keeps_its_place_and_an_unreported_one_does_not(
    of: Any, reply: Any, attribution: str, in_context: str
) -> None:
    scores = score(of, reply, error=None if reply else TIMEOUT)
    assert {status(scores, key) for key in KEYS} == {attribution}
    assert status(scores, IN_CONTEXT) == in_context


@pytest.mark.parametrize(
    ("rule", "citations", "accuracy"),
    [
        ("cite_newer", [NEW], 1),
        ("cite_newer", [OLD], 0),
        ("cite_newer", [OLD, NEW], 1),
        ("cite_newer", [], 0),
        ("cite_both", [NEW], 0),
        ("cite_both", [NEW, OLD], 1),
    ],
)
def test_recency_rules_without_a_judge(rule: Any, citations: list[str], accuracy: float) -> None:
    of = case(NEW, OLD, recency_conflict_rule=rule)
    assert score(of, citing(*citations)).metrics[RECENCY] == accuracy


@pytest.mark.parametrize(
    ("citations", "verdicts", "expected"),
    [
        ([NEW, OLD], Verdicts(acknowledges_conflict=True), 1.0),
        ([NEW, OLD], Verdicts(acknowledges_conflict=False), 0.0),
        ([NEW, OLD], Verdicts(acknowledges_conflict=None), "error"),
        ([NEW, OLD], None, "error"),
        ([NEW], Verdicts(acknowledges_conflict=True), 0.0),
        ([NEW], None, 0.0),
    ],
)
def test_acknowledging_asks_the_judge_only_when_all_are_cited(
    citations: list[str], verdicts: Verdicts | None, expected: float | str
) -> None:
    of = case(NEW, OLD, recency_conflict_rule="acknowledge_both")
    scores = score(of, citing(*citations), verdicts=verdicts, judge_configured=True)
    value = scores.metrics[RECENCY]
    assert (status(scores, RECENCY) if value is None else value) == expected


@pytest.mark.parametrize("reply", [citing(NEW, OLD), citing(NEW), citing(), None])
def test_acknowledging_without_a_judge_never_applies(reply: AskResponse | None) -> None:
    of = case(NEW, OLD, recency_conflict_rule="acknowledge_both")
    scores = score(of, reply, error=None if reply else TIMEOUT)
    assert status(scores, RECENCY) == "not_applicable"


@pytest.mark.parametrize(
    ("of", "reply", "state"),
    [
        (case(NEW, OLD), citing(NEW), "not_applicable"),
        (case(NEW, recency_conflict_rule="cite_newer"), citing(NEW), "not_applicable"),
        (case(NEW, OLD, recency_conflict_rule="cite_newer"), response(), "not_applicable"),
        (case(NEW, OLD, recency_conflict_rule="cite_newer"), None, "error"),
    ],
)
def test_the_population_of_recency_conflicts(of: Any, reply: Any, state: str) -> None:
    assert status(score(of, reply, error=None if reply else TIMEOUT), RECENCY) == state


def supported(*claims: str, reply: AskResponse | None = None, **settings: Any) -> tuple[Any, Any]:
    """Score claims written as the marks of their citations: ``+``, ``-`` or ``?`` for unknown."""
    marks = {"+": True, "-": False, "?": None}
    checked = tuple(
        CheckedClaim(text="x", citations=tuple(CitationCheck(supports=marks[m]) for m in one))
        for one in claims
    )
    verdicts = Verdicts(evidence=Evidence(claims=checked))
    reply = reply or response(retrieved_chunks=(chunk("a.md", text="x"),), abstained=False)
    settings = {"judge_configured": True, "citations_in_text": True, **settings}
    found = score(case("a.md"), reply, verdicts=verdicts, **settings)
    precision, recall = [
        status(found, key) if found.metrics[key] is None else found.metrics[key] for key in SUPPORT
    ]
    return precision, recall


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        (["+"], (1, 1)),
        (["+-", "-", "", "++"], (3 / 5, 2 / 4)),
        (["-"], (0, 0)),
        (["", ""], ("not_applicable", 0)),
        (["+", "?"], ("not_applicable", "not_applicable")),
        ([], ("not_applicable", "not_applicable")),
    ],
)
def test_the_support_of_citations_counts_pairs_and_that_of_claims_any(
    claims: list[str], expected: tuple[Any, Any]
) -> None:
    assert supported(*claims) == expected


@pytest.mark.parametrize(
    ("reply", "settings", "state"),
    [
        (None, {"judge_configured": False}, "not_applicable"),
        (response(abstained=True, retrieved_chunks=()), {}, "not_applicable"),
        (response(retrieved_chunks=None), {}, "not_applicable"),
        (response("a.md"), {}, "not_applicable"),
        (response(answer=" "), {}, "error"),
    ],
)
def test_claims_that_cannot_be_looked_up_have_no_support(
    reply: AskResponse | None, settings: dict[str, Any], state: str
) -> None:
    assert supported("+", reply=reply, **settings) == (state, state)


def test_uncited_claims_lack_support_only_where_the_target_cites_in_its_text() -> None:
    outside = ("not_applicable", "not_applicable")
    assert supported("", citations_in_text=False) == outside
    assert supported("+", citations_in_text=False) == (1, 1)
