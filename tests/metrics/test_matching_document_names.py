"""Paths of chunks, references and citations, compared with those that golds use."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.metrics.matching import own_names, with_own_names, without_roots
from pytest_rageval.metrics.scoring import score_case
from pytest_rageval.metrics.view import view_case
from pytest_rageval.values.case import Anchor, Case
from pytest_rageval.values.record import CaseScores, ScoreSettings
from pytest_rageval.values.reply import AskResponse, Citation, RetrievedChunk


def own(path: str, gold: str, **settings: Any) -> str | None:
    chunk = RetrievedChunk(rel_path=path)
    (found,) = own_names([chunk], [Anchor(rel_path=gold)], ScoreSettings(**settings))
    return found.rel_path


def scored(response: AskResponse, gold: str, **settings: Any) -> CaseScores:
    case = Case(id="c", question="q", gold_supports=(Anchor(rel_path=gold),))
    return score_case(view_case(case, response, ScoreSettings(**settings)))


@pytest.mark.parametrize(
    ("path", "root", "name"),
    [
        ("/srv/docs/shop.md", "/srv/docs", "shop.md"),
        ("/srv/docs/shop.md", "/srv/docs/", "shop.md"),
        ("/srv/docs/a/shop.md", "/srv/docs", "a/shop.md"),
        ("./docs/shop.md", "docs", "shop.md"),
        ("C:\\docs\\shop.md", "C:\\docs", "shop.md"),
        ("https://wiki.example/kb/shop.md", "https://wiki.example/kb", "shop.md"),
        ("/srv/my%20docs/a%20b.md", "/srv/my docs", "a%20b.md"),
        ("/srv/docs-old/shop.md", "/srv/docs", "/srv/docs-old/shop.md"),
        ("/other/srv/docs/shop.md", "/srv/docs", "/other/srv/docs/shop.md"),
        ("/srv/docs", "/srv/docs", "/srv/docs"),
        ("", "/srv/docs", ""),
    ],
)
def test_a_root_is_taken_off_whole_segments_at_the_front(path: str, root: str, name: str) -> None:
    assert own(path, "gold.md", strip_root=(root,)) == name


def test_only_one_of_several_roots_is_taken_off() -> None:
    assert own("docs/old/a.md", "gold.md", strip_root=("docs", "old")) == "old/a.md"


def test_a_path_that_a_gold_names_stays() -> None:
    assert own("/srv/docs/shop.md", "srv/docs/shop.md", strip_root=("/srv",)) == "/srv/docs/shop.md"


def test_letters_of_a_root_may_differ_in_case_where_those_of_paths_may() -> None:
    assert own("/SRV/a.md", "gold.md", strip_root=("/srv",)) == "/SRV/a.md"
    assert own("/SRV/a.md", "gold.md", strip_root=("/srv",), path_case="insensitive") == "a.md"


@pytest.mark.parametrize(
    ("path", "gold", "name"),
    [
        ("a.md#1", "a.md", "a.md"),
        ("a.md#chunk-3", "./a.md", "a.md"),
        ("a.md?page=2", "a.md", "a.md"),
        ("a.md?page=2#top", "a.md", "a.md"),
        ("C#.md#4", "C#.md", "C#.md"),
        ("C#.md", "C#.md", "C#.md"),
        ("faq.md#refunds", "faq.md#refunds", "faq.md#refunds"),
        ("faq.md#shipping", "faq.md#refunds", "faq.md#shipping"),
        ("view.php?id=3", "view.php?id=4", "view.php?id=3"),
        ("b.md#1", "a.md", "b.md#1"),
        ("a#b#c#d", "a", "a"),
        ("a#b#c#d", "a#b", "a#b#c#d"),  # neither the first nor the last
        ("a#b#c#d", "a#b#c", "a#b#c"),
        ("#1", "a.md", "#1"),
    ],
)
def test_a_suffix_is_taken_off_where_a_gold_names_the_rest(path: str, gold: str, name: str) -> None:
    assert own(path, gold) == name
    assert own(name, gold) == name


def test_root_and_suffix_are_taken_off_together() -> None:
    assert own("/srv/a.md#1", "a.md", strip_root=("/srv",)) == "a.md"


def test_a_long_path_of_suffixes_is_read_in_no_time() -> None:
    assert own("a.md" + "#" * 1_000_000, "a.md") == "a.md"


def test_what_names_documents_alike_is_returned_itself() -> None:
    response = AskResponse(answer="x", retrieved_chunks=(RetrievedChunk(rel_path="a.md"),))
    assert with_own_names(response, [], ScoreSettings(strip_root=("/srv",))) is response


def test_citations_of_nothing_stay() -> None:
    assert own_names([Citation(rel_path=None)], [], ScoreSettings(strip_root=("/srv",)))


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("[File: /srv/docs/a.md, Section: B]", "[File: a.md, Section: B]"),
        ("[/srv/docs/a.md] (/srv/docs/b.md)", "[a.md] (b.md)"),
        ("/opt/srv/docs/a.md", "/opt/srv/docs/a.md"),
        ("/srv/docs-old/a.md and /srv/docs", "/srv/docs-old/a.md and /srv/docs"),
    ],
)
def test_an_answer_is_read_without_the_root(answer: str, shown: str) -> None:
    assert without_roots(answer, ["/srv/docs"]) == shown


@pytest.mark.parametrize("root", ["C:\\kb", "C:\\kb\\"])
def test_a_root_of_windows_may_end_with_its_separator(root: str) -> None:
    path = "C:\\kb\\a.md"
    assert (without_roots(f"[{path}]", [root]), own(path, "b.md", strip_root=(root,))) == (
        "[a.md]",
        "a.md",
    )


@pytest.mark.parametrize("form", ["[1]", "[File: /srv/kb/shop.md, Section: Hours]", ""])
def test_chunks_references_and_citations_are_scored_by_their_own_names(form: str) -> None:
    chunk = RetrievedChunk(
        rel_path="/srv/kb/shop.md#2", text="It opens at nine.", heading_path="# Hours"
    )
    response = AskResponse(
        answer=f"At nine. {form}",
        retrieved_chunks=(chunk,),
        references=None if form else (Citation(rel_path="/srv/kb/shop.md#2"),),
    )
    found = scored(response, "shop.md", strip_root=("/srv/kb",))
    for key in ("hit_at_k", "doc_hit_at_k", "attribution_hit_rate", "citation_in_context_rate"):
        assert found.metrics[key] == 1, key
    assert [one.rel_path for one in found.citations or ()] == ["shop.md"]
    assert scored(response, "shop.md").metrics["hit_at_k"] == 0


def test_scores_of_stored_chunks_are_the_same() -> None:
    chunk = RetrievedChunk(rel_path="docs/docs/shop.md")
    response = AskResponse(answer="x", retrieved_chunks=(chunk,))
    case = Case(id="c", question="q", gold_supports=(Anchor(rel_path="docs/shop.md"),))
    settings = ScoreSettings(strip_root=("docs",))
    once = view_case(case, response, settings)
    again = view_case(case, once.response, settings)
    assert once.chunks == again.chunks
    assert [one.rel_path for one in again.chunks or ()] == ["docs/shop.md"]
