"""The map of embeddings as data and as markup; its behaviour is in the browser's tests."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pytest_rageval.analysis.embedding_map import project_pca
from tests.report.html.maps import example, hostile_map, page_of


def data_of(html: str) -> dict[str, Any]:
    (text,) = re.findall(r'<script type="application/json" id="map-data">(.*?)</script>', html)
    found: dict[str, Any] = json.loads(text)
    return found


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html))


def test_the_data_has_a_column_entry_for_every_point_and_names_its_shape() -> None:
    data = data_of(page_of(example()))
    assert data["kind"] == [0, 0, 0, 1, 2, 3]
    assert data["title"][0] == "docs/file1.md > # File 1 > ## Part"
    assert data["title"][4:] == ["alpha", "beta"]
    assert data["text"][3] == "Whole text of the gold."
    assert {len(data[name]) for name in ("x", "y", "title", "text")} == {6}
    assert {len(group["of"]) for group in data["groups"].values()} == {6}
    assert data["groups"]["outcome"]["names"][data["groups"]["outcome"]["of"][5]] == (
        "question: missed"
    )
    assert data["groups"]["folder"]["names"] == ["docs"]


def test_a_question_is_linked_with_its_gold_and_its_chunks() -> None:
    found = example()
    alpha, beta = data_of(page_of(found))["cases"]
    assert (alpha["point"], beta["point"], beta["outcome"], beta["stage"]) == (
        4,
        5,
        "missed",
        "not_retrieved",
    )
    assert [point for point, _ in beta["golds"]] == [3]
    assert [(point, relevant) for point, _, relevant in alpha["retrieved"]] == [
        (0, True),
        (1, False),
    ]
    assert beta["gold"] == pytest.approx(found.cases[1].gold_similarity, abs=1e-4)
    assert {point for point, _ in beta["wrong"]} == {1, 2}


def test_figures_notes_and_the_shown_share_are_on_the_page() -> None:
    found = example()
    words = text_of(page_of(found))
    first = project_pca(found.vectors).explained
    assert first is not None
    assert f"PCA of 6 dimensions: the axes show {first[0] * 100:.1f} %" in words
    assert "3 chunks, 1 gold, 2 questions." in words
    assert "Vectors of lsa, http://h/v1/embeddings." in words
    assert "a warning" in words
    assert "document 3 2 -0.250" in words


def test_hostile_text_stays_text() -> None:
    html = page_of(hostile_map())
    assert html.count("<script") == 2
    assert html.count("</script>") == 2
    assert html.count("<style") == 1
    body = html[html.index("<body") :]
    assert not re.search(r"<(img|svg|iframe|a href='|meta|base|form|object)", body)
    data = data_of(html)
    assert "<script>window.pwned = 1</script>" in data["text"]
    assert any("[U+202E]" in text for text in data["text"])
