from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.metrics.deciding import decide_chunks
from pytest_rageval.metrics.matching import (
    citation_in_chunks,
    citation_points_into,
    cited_ranks,
    duplicate_flags,
    in_scope,
    matches_anchor,
    norm_heading,
    norm_path,
    norm_text,
    order_chunks,
    text_hash,
)
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import Citation, RetrievedChunk
from tests.build.scores import case, chunk, cite, gold


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("./docs//a%20b.md", "docs/a b.md"),
        (r"docs\a b.md", "docs/a b.md"),
        ("docs/x/../y.md", "docs/y.md"),
        ("../a.md", "../a.md"),
        ("a/../../b.md", "../b.md"),
        ("../../a.md", "../../a.md"),
        ("/../a.md", "../a.md"),
        ("  a.md\n", "a.md"),
        ("%20a.md", "a.md"),
        ("a%2Fb.md", "a/b.md"),
        ("a%2520b.md", "a%20b.md"),
        ("a+b.md", "a+b.md"),
        ("caf%C3%A9.md", "café.md"),
        ("cafe\u0301.md", "caf\u00e9.md"),
        ("a%20%FF.md", "a%20%FF.md"),
        ("100%.md", "100%.md"),
        ("a.md#part", "a.md#part"),
        ("README", "README"),
        ("", ""),
        ("/", ""),
        (".", ""),
    ],
)
def test_a_path_has_one_spelling(path: str, normal: str) -> None:
    assert norm_path(path) == normal


def test_path_case_is_kept_unless_set() -> None:
    assert norm_path("Docs/A.md") == "Docs/A.md"
    assert norm_path("Docs/STRASSE.md", "insensitive") == norm_path("docs/Straße.md", "insensitive")


@given(st.text(alphabet=st.sampled_from("./\\aé\u0301A~"), max_size=20))
def test_a_normal_path_stays_as_it_is(path: str) -> None:
    assert norm_path(norm_path(path)) == norm_path(path)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("  RAG \n\t Systems\u00a0x ", "rag systems x"),
        ("so\u00adft\u200b hy\ufeffphen", "soft hyphen"),
        ("STRASSE Straße", "strasse strasse"),
        ("Cafe\u0301", "caf\u00e9"),
        ("“quotes” – dash ﬁ", "“quotes” – dash fi"),
        ("①", "①"),
        ("\u200b", ""),
    ],
)
def test_text_compares_caselessly_without_compatibility_mapping(text: str, normal: str) -> None:
    assert norm_text(text) == normal
    length = 100_001  # from which on it is normalised in another way
    assert norm_text(f"{text}\n {'A' * length}") == f"{normal} {'a' * length}".strip()


@pytest.mark.parametrize(
    ("heading", "segments"),
    [
        (None, None),
        ("", ()),
        (" > ", ()),
        ("# Setup>##  Embeddings ##", ("setup", "embeddings")),
        ("Setup > Embeddings", ("setup", "embeddings")),
        ("> Setup >", ("setup",)),
        ("#Overview", ("#overview",)),
        ("# C#", ("c#",)),
        ("# C# ##", ("c#",)),
        ("C ##", ("c ##",)),
        ("####### Seven", ("####### seven",)),
        ("# Vec<T> > ## Foo", ("vec<t>", "foo")),
        ("a -> b", ("a -> b",)),
        ("Setup>Embeddings", ("setup>embeddings",)),
        ("# # twice", ("# twice",)),
        ("# Über\u00a0uns > ## ΣΊΣΥΦΟΣ", ("über uns", "σίσυφοσ")),
        ("### Deep > # Shallow", ("deep", "shallow")),
    ],
)
def test_a_heading_path_has_one_list_of_segments(
    heading: str | None, segments: tuple[str, ...] | None
) -> None:
    assert norm_heading(heading) == segments


@pytest.mark.parametrize(
    ("anchor", "passage", "matches"),
    [
        ("a.md | # Over", "a.md | # Overview", False),
        ("a.md | # Overview", "a.md | # Overview > ## Goals", True),
        ("a.md | # S > ## E", "a.md | # S", False),
        ("a.md", "a.md | # Any", True),
        ("a.md", "a.md", True),
        ("a.md | # S", "a.md", False),
        ("a.md | # S", "a.md | ", False),
        ("a.md | # S", "A.md | # S", False),
        ("a.md | # S", "../a.md | # S", False),
        ("a.md | S", "./a.md | ### s ###", True),
    ],
)
def test_a_chunk_matches_at_or_below_its_anchor(anchor: str, passage: str, matches: bool) -> None:
    assert matches_anchor(gold(anchor), chunk(passage), ScoreSettings()) is matches


def test_vaults_part_documents_only_where_both_sides_know_theirs() -> None:
    anchor = gold("a.md", vault="work")
    assert matches_anchor(anchor, chunk("a.md"), ScoreSettings())
    assert matches_anchor(gold("a.md"), chunk("a.md", vault="home"), ScoreSettings())
    assert not matches_anchor(anchor, chunk("a.md", vault="home"), ScoreSettings())


@pytest.mark.parametrize(
    ("setting", "text", "matches"),
    [
        ("off", "nothing", True),
        ("any", "about  ALPHA", True),
        ("any", "nothing", False),
        ("any", None, False),
        ("all", "about alpha", False),
        ("all", "beta, then alpha", True),
    ],
)
def test_snippets_narrow_a_match_by_setting(setting: str, text: str | None, matches: bool) -> None:
    anchor = gold("a.md | # S", snippets=("Alpha", "Beta"))
    settings = ScoreSettings(snippets=setting)  # type: ignore[arg-type]
    assert matches_anchor(anchor, chunk("a.md | # S", text=text), settings) is matches


@pytest.mark.parametrize(
    ("snippets", "text", "matches"),
    [(("x", "y"), "y x", True), (("x", "y"), "x", False), ((), "x", False)],
)
@pytest.mark.parametrize("where", ["a.md | # S", "a.md | ", "a.md"])
def test_a_coarser_chunk_matches_only_by_all_snippets(
    snippets: tuple[str, ...], text: str, matches: bool, where: str
) -> None:
    anchor = gold("a.md | # S > ## E", snippets=snippets)
    passage = chunk(where, text=text)
    assert matches_anchor(anchor, passage, ScoreSettings(coarse_chunks=True)) is matches
    assert not matches_anchor(anchor, passage, ScoreSettings())


def test_a_sibling_is_not_a_coarser_chunk() -> None:
    anchor = gold("a.md | # S > ## E", snippets=("x",))
    settings = ScoreSettings(coarse_chunks=True)
    assert not matches_anchor(anchor, chunk("a.md | # T", text="x"), settings)


@pytest.mark.parametrize(
    ("golds", "bad", "where", "irrelevant"),
    [
        ("a.md | # A", "a.md | # A > ## Old", "a.md | # A > ## Old", True),
        ("a.md | # A", "a.md | # A > ## Old", "a.md | # A", False),
        ("a.md | # A > ## New", "a.md | # A", "a.md | # A > ## New", False),
        ("a.md | # A > ## New", "a.md | # A", "a.md | # A > ## Other", True),
        ("a.md | # A", "b.md", "b.md | # A", True),
    ],
)
def test_the_more_specific_anchor_wins(golds: str, bad: str, where: str, irrelevant: bool) -> None:
    of = case(golds, irrelevant_supports=(gold(bad),))
    [decided] = decide_chunks(of, [chunk(where)], ScoreSettings())
    assert decided.irrelevant is irrelevant
    assert decided.matched_golds == (() if irrelevant else (0,))


def test_irrelevant_wins_a_tie() -> None:
    bad = gold("a.md | # A", snippets=("old",))
    of = case("a.md | # A", irrelevant_supports=(bad,))
    [decided] = decide_chunks(of, [chunk("a.md | # A")], ScoreSettings())
    assert decided.irrelevant is True


def test_an_earlier_decision_stands_where_the_text_was_cut() -> None:
    of = case(gold_supports=(gold("a.md | # S", snippets=("x",)),))
    settings = ScoreSettings(snippets="any")
    full = chunk("a.md | # S", text="y" * 300 + "x")
    cut = RetrievedChunk(
        rel_path="a.md", heading_path="# S", text="y" * 200, text_truncated=True, matched_golds=(0,)
    )
    decided = decide_chunks(of, [full, cut], settings)
    assert [one.matched_golds for one in decided] == [(0,), (0,)]


def test_ranks_order_chunks_only_if_every_chunk_has_one() -> None:
    ranked = (chunk("a", rank=2), chunk("b", rank=1), chunk("c", rank=2), chunk("d", rank=0))
    assert [c.rel_path for c in order_chunks(ranked)] == ["d", "b", "a", "c"]
    partly = (chunk("a", rank=2), chunk("b"))
    assert order_chunks(partly) == partly


@pytest.mark.parametrize(
    ("one", "other", "duplicate"),
    [
        (chunk("a.md | # S", chunk_id="1"), chunk("./a.md | # T", chunk_id="1"), True),
        (chunk("a.md | # S", chunk_id="1"), chunk("b.md | # S", chunk_id="1"), False),
        (chunk("a.md | # S", chunk_id="1"), chunk("a.md | # S", chunk_id="2"), False),
        (chunk("a.md | # S", text="x  Y"), chunk("a.md | S", text="X y"), True),
        (chunk("a.md | # S", text="x"), chunk("a.md | # T", text="x"), False),
        (chunk("a.md | # S", text="x"), chunk("a.md | # S", text="y"), False),
        (chunk("a.md | # S"), chunk("a.md | # S"), False),
        (chunk("a.md", chunk_id="1", text="x"), chunk("a.md", text="x"), False),
    ],
)
def test_a_duplicate_is_the_same_chunk_again(
    one: RetrievedChunk, other: RetrievedChunk, duplicate: bool
) -> None:
    assert duplicate_flags((one, other)) == (False, duplicate)


def test_every_later_copy_is_one_even_where_texts_were_cut_and_only_their_hashes_differ() -> None:
    one, two = (chunk("a.md", text="x", text_hash=text_hash(text)) for text in ("x y", "x z"))
    again = replace(one, text="other")
    assert duplicate_flags((one, two, again, chunk("a.md"), two)) == (0, 0, 1, 0, 1)
    assert text_hash("x  Y") == text_hash("X y") == one.text_hash


@pytest.mark.parametrize(
    ("citation", "anchor", "hits"),
    [
        (cite("a.md"), gold("a.md | # S"), True),
        (cite("a.md | # S > ## T"), gold("a.md | # S"), True),
        (cite("a.md | # S"), gold("a.md | # S > ## T"), False),
        (cite("a.md | "), gold("a.md | # S"), False),
        (cite("a.md | "), gold("a.md"), True),
        (cite("b.md"), gold("a.md"), False),
        (Citation(rel_path=None), gold("a.md"), False),
        (Citation(rel_path="a.md", vault="v"), gold("a.md", vault="v"), True),
        (Citation(rel_path="a.md", vault="v"), gold("a.md", vault="w"), False),
    ],
)
def test_a_citation_points_into_a_gold_at_or_below_it(
    citation: Citation, anchor: Anchor, hits: bool
) -> None:
    assert citation_points_into(citation, anchor) is hits


@pytest.mark.parametrize(
    ("citation", "passage", "found"),
    [
        (cite("a.md | # S"), chunk("a.md | # S > ## T"), True),
        (cite("a.md | # S > ## T"), chunk("a.md | # S"), False),
        (cite("a.md"), chunk("a.md | # S"), True),
        (cite("a.md | # S"), chunk("a.md"), True),
        (cite("a.md | # S"), chunk("a.md | "), False),
        (cite("b.md"), chunk("a.md"), False),
        (Citation(rel_path=None), chunk("a.md"), False),
    ],
)
def test_a_citation_points_at_a_chunk_at_or_below_it(
    citation: Citation, passage: RetrievedChunk, found: bool
) -> None:
    assert citation_in_chunks(citation, (passage,)) is found


def test_a_citation_points_at_every_chunk_of_its_section_in_its_vault() -> None:
    places = ("a.md | # S", "b.md | # S", "a.md | # S > ## T", "a.md | # T", "a.md | # S")
    vaults = ("v", "v", None, "v", "w")
    chunks = [chunk(where, vault=own) for where, own in zip(places, vaults, strict=True)]
    citation = Citation(rel_path="./a.md", heading_path="S", vault="v")
    assert [*cited_ranks(citation, chunks)] == [1, 3]
    assert [*cited_ranks(replace(citation, vault=None), chunks)] == [1, 3, 5]


@pytest.mark.parametrize(
    ("folder", "inside"),
    [
        ("notes", True),
        ("./notes/", True),
        ("notes/sub", False),
        ("note", False),
        ("notes-archive", False),
        ("notes/x.md", False),
        ("", True),
        (".", True),
        ("/", True),
        ("*", True),
        ("..", False),
    ],
)
def test_a_folder_holds_what_lies_below_it(folder: str, inside: bool) -> None:
    assert in_scope("notes/x.md", [folder]) is inside


def test_no_folder_holds_nothing() -> None:
    assert not in_scope("notes/x.md", [])


def test_paths_are_normalised_however_many_there_are() -> None:
    for i in range(20_000):
        assert norm_path(f"./a//{i % 10_000}%20b.md") == f"a/{i % 10_000} b.md"
    assert norm_path("A//b.md", "insensitive") == "a/b.md"
    assert norm_path("A//b.md") == "A/b.md"
