"""Decisions by headings, snippets, pages and documents (docs/matching.md#matching)."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given

from pytest_rageval.metrics.deciding import (
    ReportedParts,
    cited_golds,
    decide_chunks,
    is_at,
    relevant_facts,
    rules_of_cut,
    unreadable_anchor,
)
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import Reported, ScoreSettings
from pytest_rageval.values.reply import AskResponse, Citation, RetrievedChunk
from tests.build.records import record
from tests.build.scores import case, chunk, gold, response, score, score_reply
from tests.properties.scenes import make_case, make_payload, seeded

BARE = ScoreSettings(headings_reported=False)
QUOTED = gold("a.md | # A", snippets=("set the model",))


def decided(of: Anchor, one: RetrievedChunk, settings: ScoreSettings = BARE) -> Any:
    [found] = decide_chunks(case(gold_supports=(of,)), [one], settings)
    return found.matched_golds, found.matched_by


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (chunk("a.md | # A", text="x", pages=(9,)), ((0,), ("heading",))),
        (chunk("a.md | # B", text="set the model", pages=(1,)), ((), ("heading",))),
        (chunk("a.md", text="Set the `model`", pages=(9,)), ((0,), ("snippet",))),
        (chunk("a.md", text="x", pages=(1,)), ((), ("snippet",))),
        (chunk("a.md", text="set the", text_truncated=True, pages=(1,)), ((0,), ("pages",))),
        (chunk("a.md", pages=(2, 9)), ((0,), ("pages",))),
        (chunk("a.md", pages=(3,)), ((), ("pages",))),
        (chunk("a.md"), (None, None)),
        (chunk("b.md", pages=(1,)), ((), None)),
    ],
)
def test_the_first_rule_decides_that_chunk_and_anchor_allow(
    one: RetrievedChunk, expected: Any
) -> None:
    anchor = replace(QUOTED, pages=(1, 2))
    assert decided(anchor, one) == expected
    assert is_at(anchor, one, BARE) is {(0,): True, (): False, None: None}[expected[0]]


def test_a_chunk_of_several_anchors_names_every_rule() -> None:
    of = case(gold_supports=(QUOTED, gold("a.md", pages=(4,)), gold("a.md")))
    [found] = decide_chunks(of, [chunk("a.md", text="set the model", pages=(4,))], BARE)
    assert found.matched_golds == (0, 1, 2)
    assert found.matched_by == ("snippet", "pages", "document")


@pytest.mark.parametrize(
    ("pages", "one", "known"),
    [
        ((), chunk("b.md", pages=(1,)), False),
        ((1,), chunk("b.md"), False),
        ((1,), chunk("b.md", pages=(1,)), True),
        ((), chunk("b.md", text="x"), True),
        ((), chunk("b.md | # B"), True),
    ],
)
def test_a_text_that_an_anchor_needs_is_missing_in_every_document(
    pages: tuple[int, ...], one: RetrievedChunk, known: bool
) -> None:
    assert decided(replace(QUOTED, pages=pages), one) == (() if known else None, None)


@pytest.mark.parametrize(
    ("own", "reported", "expected"),
    [
        ("v", "v", ((0,), ("heading",))),
        ("v", None, ((0,), ("heading",))),
        (None, "v", ((0,), ("heading",))),
        ("v", "w", ((), None)),
    ],
)
@pytest.mark.parametrize("mode", ["heading", "auto"])
def test_a_document_of_another_vault_is_not_that_of_the_anchor(
    own: str | None, reported: str | None, expected: Any, mode: Any
) -> None:
    settings = ScoreSettings(matching_mode=mode)
    one = chunk("a.md | # A", vault=reported)
    assert decided(gold("a.md | # A", vault=own), one, settings) == expected


@pytest.mark.parametrize(
    ("good", "bad", "irrelevant"),
    [
        (gold("a.md", pages=(1,)), gold("a.md", pages=(2,)), True),
        (gold("a.md", pages=(1,)), gold("a.md"), False),
        (gold("a.md"), gold("a.md", pages=(2,)), True),
        (gold("a.md | # A", pages=(1,)), gold("a.md", pages=(2,)), False),
        (gold("a.md", pages=(1,)), gold("a.md | # A", pages=(2,)), True),
    ],
)
def test_the_more_specific_anchor_wins_and_on_a_tie_the_irrelevant_one(
    good: Anchor, bad: Anchor, irrelevant: bool
) -> None:
    of = case(gold_supports=(good,), irrelevant_supports=(bad,))
    [found] = decide_chunks(of, [chunk("a.md", pages=(1, 2))], BARE)
    assert (found.irrelevant, found.matched_golds) == (irrelevant, () if irrelevant else (0,))


def test_a_cited_chunk_points_into_no_gold_only_where_the_run_could_tell() -> None:
    of, one = case(gold_supports=(QUOTED,)), chunk("b.md", matched_golds=())
    citation = Citation(rel_path="b.md", chunk_rank=1)
    assert cited_golds(citation, of, [one], BARE) == frozenset()
    assert cited_golds(citation, of, [one], replace(BARE, texts_reported=False)) is None


def test_a_decision_by_a_text_that_was_cut_for_storage_is_kept() -> None:
    of = case(gold_supports=(QUOTED,))
    whole = chunk("a.md", text=f"{'x ' * 200}set the model")
    for settings in (BARE, ScoreSettings()):
        [found] = decide_chunks(of, [whole], settings)
        cut = replace(found, text=whole.text[:200], text_truncated=True)  # type: ignore[index]
        [again] = decide_chunks(of, [cut], ScoreSettings())
        assert (again.matched_golds, again.matched_by) == ((0,), ("snippet",))


@pytest.mark.parametrize(
    ("anchor", "facts", "reason"),
    [
        (gold("a.md"), {}, None),
        (gold("a.md", snippets=("x",)), {}, None),
        (gold("a.md | # A"), {}, "a heading, and the case names one"),
        (QUOTED, {}, "a heading or its whole text"),
        (QUOTED, {"texts_reported": True}, None),
        (replace(QUOTED, pages=(1,)), {}, "a heading, its whole text or its pages"),
        (gold("a.md | # A", pages=(1,)), {"pages_reported": True}, None),
        (gold("a.md", pages=(1,)), {"headings_reported": True}, "its pages"),
    ],
)
def test_an_anchor_needs_something_that_the_run_reports(
    anchor: Anchor, facts: dict[str, Any], reason: str | None
) -> None:
    nothing: dict[str, Any] = dict.fromkeys(
        ("headings_reported", "texts_reported", "pages_reported"), False
    )
    for of in (case(gold_supports=(anchor,)), case("b.md", irrelevant_supports=(anchor,))):
        found = unreadable_anchor(of, ScoreSettings(**nothing | facts))
        assert (found is None) == (reason is None)
        assert reason is None or reason in str(found)


def test_what_cannot_be_known_is_not_applicable_whatever_came_back() -> None:
    facts: dict[str, Any] = {
        "headings_reported": False,
        "texts_reported": False,
        "pages_reported": False,
    }
    for chunks in (("a.md",), ("b.md",), ()):
        found = score(case("a.md | # A"), response(*chunks), **facts)
        assert found.metrics["recall_at_k"] is None
        assert "heading" in found.not_applicable["recall_at_k"]
        assert found.metrics["doc_recall_at_k"] == float(chunks == ("a.md",))


def test_a_chunk_that_cannot_be_decided_names_the_reason_and_is_not_a_miss() -> None:
    of = case(gold_supports=(gold("m.pdf", pages=(1,)),))
    found = score(of, response("m.pdf | # A", "m.pdf"), k=5)
    assert found.metrics["hit_at_k"] is None
    assert "no heading, full text or page" in found.not_applicable["hit_at_k"]
    assert found.outcome == "passed"  # by its document


def test_facts_of_the_run_matter_only_to_cases_that_need_them() -> None:
    none = Reported(headings=False, texts=False, pages=False)
    plain, quoted = case("a.md | # A"), case(gold_supports=(QUOTED,))
    paged = case(gold_supports=(gold("a.md", pages=(1,)),))
    assert relevant_facts(plain, none, "auto") == Reported(headings=False)
    assert relevant_facts(quoted, none, "auto") == Reported(headings=False, texts=False)
    assert relevant_facts(quoted, replace(none, headings=True), "auto") == Reported()
    assert relevant_facts(paged, replace(none, headings=True), "auto").pages is False
    assert relevant_facts(paged, none, "heading") == Reported(headings=False)


def test_a_run_without_chunks_may_report_everything() -> None:
    parts = ReportedParts()
    assert parts.found() == Reported()
    parts.add([chunk("a.md", text="x", text_truncated=True)])
    assert parts.found() == Reported(headings=False, texts=False, pages=False)
    parts.add([chunk("a.md | # A"), chunk("b.md", text="x")])
    assert parts.found() == Reported(pages=False)


def test_rules_are_those_of_chunks_within_the_cut() -> None:
    chunks = (
        chunk("a.md", matched_golds=(0,), matched_by=("snippet", "pages")),
        chunk("b.md", matched_golds=()),
        chunk("a.md"),
        chunk("a.md", matched_golds=(0,)),
        chunk("a.md", matched_golds=(0,), matched_by=("document",)),
    )
    rules = rules_of_cut(record("x", retrieved_chunks=chunks, k=4))
    assert rules == [("snippet", "pages"), ("undecided",), ("heading",)]


# --- properties ------------------------------------------------------------------------------


def _headed(dice: Random) -> tuple[Any, ...]:
    payload = make_payload(dice)
    payload["debug"]["retrieved_chunks"] = payload["debug"]["retrieved_chunks"] or []
    chunks = parse_ask_response(payload).retrieved_chunks or ()
    headed = tuple(replace(one, heading_path=one.heading_path or "") for one in chunks)
    return make_case(dice, golds=True), headed, dice


@given(seeded(_headed))
def test_with_headings_nothing_differs_from_the_rule_of_headings(drawn: tuple[Any, ...]) -> None:
    of, chunks, dice = drawn
    auto = ScoreSettings(
        k=dice.randint(1, 9),
        snippets=dice.choice(("off", "any", "all")),
        coarse_chunks=dice.choice((False, True)),
    )
    reply = AskResponse(answer="a", retrieved_chunks=chunks)
    old = score_reply(of, reply, replace(auto, matching_mode="heading"))
    new = score_reply(of, reply, auto)
    assert (new.metrics, new.not_applicable) == (old.metrics, old.not_applicable)


def _bare(dice: Random) -> tuple[Any, ...]:
    of, chunks, dice = _headed(dice)
    texts = ("we set the model", "other", "redis and \u00df", "**set** model", "x set")
    bare = tuple(
        replace(
            one,
            heading_path=None,
            text=dice.choice(texts),
            pages=dice.choice((None, (1,), (2, 3))),
        )
        for one in chunks
    )
    paged = tuple(
        replace(one, pages=dice.choice(((), (), (1,), (3, 4)))) for one in of.gold_supports
    )
    return replace(of, gold_supports=paged, irrelevant_supports=(), k=None), bare, dice


@given(seeded(_bare))
def test_a_further_chunk_never_takes_evidence_away(drawn: tuple[Any, ...]) -> None:
    of, chunks, dice = drawn
    at = dice.randint(0, len(chunks))
    more = replace(chunk(dice.choice(("a.md", "z.md")), text="set model", pages=(1,)))
    for settings in (BARE, ScoreSettings()):
        few = decide_chunks(of, chunks, settings)
        many = decide_chunks(of, (*chunks[:at], more, *chunks[at:]), settings)
        kept = (*many[:at], *many[at + 1 :])
        assert few == tuple(sorted(kept, key=kept.index)) or few == kept


@given(seeded(_bare))
def test_no_case_applies_by_its_outcome(drawn: tuple[Any, ...]) -> None:
    of, chunks, _ = drawn
    nothing = replace(BARE, k=9, pages_reported=False)
    found = score_reply(of, AskResponse(answer="a", retrieved_chunks=chunks), nothing)
    elsewhere = tuple(replace(one, rel_path="elsewhere.md") for one in chunks)
    missed = score_reply(of, AskResponse(answer="a", retrieved_chunks=elsewhere), nothing)
    if unreadable_anchor(of, nothing) is not None:
        assert found.metrics["recall_at_k"] is missed.metrics["recall_at_k"] is None
        assert found.not_applicable["recall_at_k"] == missed.not_applicable["recall_at_k"]


def test_an_earlier_decision_is_replaced_where_no_anchor_is_in_the_document() -> None:
    asked = case(gold_supports=(gold("a.md"),))
    told = RetrievedChunk(
        rel_path="b.md", text="t", matched_golds=(0,), matched_by=("heading",), irrelevant=True
    )
    [found] = decide_chunks(asked, (told,), ScoreSettings())
    assert (found.matched_golds, found.matched_by, found.irrelevant) == ((), None, False)


def test_what_parts_of_a_run_report_the_whole_run_reports() -> None:
    whole, paged = ReportedParts(), ReportedParts(citations=True)
    whole.extend(ReportedParts())
    assert whole.found() == Reported(headings=True, texts=True, pages=True, citations=False)
    paged.add([chunk("a.md", pages=(1,))])
    whole.extend(paged)
    whole.extend(ReportedParts())
    assert whole.found() == Reported(headings=False, texts=False, pages=True, citations=True)
