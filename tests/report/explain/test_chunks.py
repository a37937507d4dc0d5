from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.report.explain.case import explain_record
from pytest_rageval.report.explain.chunks import LIES_THERE, relate
from pytest_rageval.values.record import ScoreSettings
from tests.build.scores import TIMEOUT, case, chunk, cite, gold, response
from tests.report.explain.builders import S, T, U, explained, metric, recorded


@pytest.mark.parametrize(
    ("anchor", "found", "settings", "rule", "words"),
    [
        ("a.md", "a.md | # S", {}, "whole_document", "gold [0] is the whole document"),
        (S, "a.md | # s", {}, "same_section", "the section of gold [0]"),
        (S, T, {}, "below_section", "below the section of gold [0]"),
        (T, U, {}, "other_section", 'heading 1 is "u", not "s"'),
        (T, "a.md | # S > ## X", {}, "other_section", 'heading 2 is "x", not "t"'),
        (T, S, {}, "above_section", 'its headings end at "s", above "t"'),
        (T, "a.md | ", {}, "above_section", 'before the first heading, above "s"'),
        (T, "a.md", {}, "no_heading", 'no heading reported, "s" needed'),
        (S, "b.md | # S", {}, "other_document", "other document"),
        (S, "A.md | # S", {}, "path_case", 'path_case = "insensitive" would match'),
        (S, "A.md | # S", {"path_case": "insensitive"}, "same_section", "the section of gold [0]"),
        (S, "vault/a.md | # S", {}, "path_prefix", 'one path ends with the other: "a.md"'),
        ("notes/retention.md", "notes/retentions.md", {}, "similar_path", 'similar: "notes/ret'),
        (
            "https://a.test/b1",
            "https://a.test/b",
            {},
            "similar_path",
            '"https://a.test/b1" is gold',
        ),
        ("a.md | # Retention", "a.md | # Retentions", {}, "other_section", "is the anchor up to"),
    ],
)
def test_a_chunk_is_told_by_which_rule_it_lies_at_an_anchor_or_how_far_off(
    anchor: str, found: str, settings: dict[str, Any], rule: str, words: str
) -> None:
    relation = relate(gold(anchor), "gold [0]", chunk(found), ScoreSettings(**settings))
    assert relation.rule == rule
    assert words in relation.text
    assert relation.lies_there == (rule in LIES_THERE)


@pytest.mark.parametrize(
    ("text", "settings", "rule", "words"),
    [
        ("alpha", {"snippets": "any"}, "same_section", "with a snippet of it"),
        ("alpha beta", {"snippets": "all"}, "same_section", "with all its snippets"),
        ("alpha", {"snippets": "all"}, "no_snippet", "without its snippets"),
    ],
)
def test_snippets_are_named_where_they_decide(
    text: str, settings: dict[str, Any], rule: str, words: str
) -> None:
    of = gold(S, snippets=("alpha", "beta"))
    relation = relate(of, "gold [0]", chunk(S, text=text), ScoreSettings(**settings))
    assert (relation.rule, words in relation.text) == (rule, True)


@pytest.mark.parametrize(
    ("golds", "bad", "rule", "words"),
    [
        ([U], S, "irrelevant_only", "the section of irrelevant [0]"),
        ([S], S.replace("S", "s"), "irrelevant_tie", "on a tie the irrelevant anchor wins"),
        (["a.md"], S, "irrelevant_deeper", "wins with 1 heading against 0 of gold [0]"),
    ],
)
def test_an_irrelevant_anchor_says_why_it_wins(
    golds: list[str], bad: str, rule: str, words: str
) -> None:
    of = case(*golds, irrelevant_supports=(gold(bad),))
    found = explained(of, response(S))
    assert found.chunks is not None
    (one,) = found.chunks
    assert (one.role, one.rule, one.irrelevant, one.golds) == ("irrelevant", rule, (0,), ())
    assert words in one.reason
    assert found.irrelevant[0].reason == "returned at rank 1, and should not be"
    assert metric(found, "specificity_accuracy").reason == "irrelevant [0] at rank 1"


def test_the_nearest_gold_explains_a_chunk_that_matches_none() -> None:
    found = explained(case("b.md", "a.md | # S > ## T"), response("a.md | # S > ## X"))
    assert found.chunks is not None
    assert found.chunks[0].reason == 'document of gold [1]; heading 2 is "x", not "t"'


@pytest.mark.parametrize("golds", [(7,), (0, 7), (-1,)])
def test_a_gold_that_the_case_lacks_is_as_another_tool_decided_it(golds: tuple[int, ...]) -> None:
    record = recorded(case(S), response(S))
    chunks = tuple(replace(one, matched_golds=golds) for one in record.reply.retrieved_chunks or ())
    assert record.response is not None
    record = replace(record, response=replace(record.response, retrieved_chunks=chunks))
    explanation = explain_record(record, ScoreSettings())
    assert explanation.chunks is not None
    assert explanation.chunks[0].reason.endswith("as decided when it was scored")
    assert explanation.chunks[0].golds == golds


# --- golds -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chunks", "words"),
    [
        (["x.md", S], "found at rank 2; cited by #1"),
        (["x.md", "y.md", S], "found at rank 3"),
        ([S, T], "found at ranks 1 and 2; cited by #1"),
        (["x.md", "x.md", "y.md", S], "below the cut: first at rank 4, so k >= 4 would count it"),
        ([U, "x.md"], "not returned; its document is at rank 1 (see rank 1)"),
        (["x.md"], "not returned, nor any chunk of its document"),
        (["A.md | # S"], "not returned; nearest is rank 1: the path of gold [0] but for case"),
        ([], "not returned: the list is empty"),
    ],
)
def test_a_gold_says_where_it_turned_up_or_how_near_the_target_came(
    chunks: list[str], words: str
) -> None:
    found = explained(case(S), response(*chunks, references=(cite("a.md"),)), k=3)
    assert words in found.golds[0].reason


def test_each_group_names_the_golds_that_it_lacks() -> None:
    of = case("a.md", "b.md", "c.md", required_support_groups=((0, 1), (0,)))
    assert [g.lacks for g in explained(of, response("a.md")).groups] == [(1,), ()]
    assert [g.lacks for g in explained(of, None, error=TIMEOUT).groups] == [None, None]
