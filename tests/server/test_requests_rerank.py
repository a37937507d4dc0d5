from __future__ import annotations

from typing import Any

import httpx
import pytest

QUESTION = "What is the retry limit of the ingest queue?"
DOCUMENTS = ["Tomatoes are planted in May.", "The retry limit of the ingest queue is seven."]


def rerank(client: httpx.Client, **body: Any) -> httpx.Response:
    return client.post("/v1/rerank", json={"query": QUESTION, "documents": DOCUMENTS, **body})


def test_the_best_document_comes_first_in_the_shape_of_the_api(client: httpx.Client) -> None:
    body = rerank(client, model="any", top_n=2).json()
    assert [entry["index"] for entry in body["results"]] == [1, 0]
    scores = [entry["relevance_score"] for entry in body["results"]]
    assert 1 >= scores[0] > scores[1] >= 0
    assert body["usage"]["total_tokens"] > 0


def test_only_as_many_as_asked_for_are_returned(client: httpx.Client) -> None:
    assert [entry["index"] for entry in rerank(client, top_n=1).json()["results"]] == [1]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"query": " "}, "query: got ' ', expected a text that is not blank"),
        ({"documents": []}, "documents: got [], List should have at least 1 item"),
        ({"documents": ["a", 3]}, "documents[1]: got 3, expected an instance of str"),
        ({"top_n": 0}, "top_n: got 0"),
        ({"texts": []}, "texts: unknown"),
    ],
)
def test_a_wrong_field_is_named(client: httpx.Client, body: dict[str, Any], says: str) -> None:
    reply = rerank(client, **body)
    assert reply.status_code == 422
    assert says in reply.json()["error"]
