from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.requests import RequestError, embed_texts
from pytest_rageval.server.server import start_in_thread
from tests.build.targets import fake_target, json_reply
from tests.server.builders import write_vault

LSA = {"model": "lsa"}
QUESTION = "What is the retry limit of the ingest queue?"


def vectors(client: httpx.Client, *texts: str, **fields: Any) -> list[list[float]]:
    reply = client.post("/v1/embeddings", json={**LSA, "input": list(texts), **fields})
    assert reply.status_code == 200, reply.text
    return [entry["embedding"] for entry in reply.json()["data"]]


def test_the_reply_has_the_shape_of_the_api(client: httpx.Client) -> None:
    reply = client.post("/v1/embeddings", json={**LSA, "input": [QUESTION, "tomatoes"]})
    body = reply.json()
    assert {key: body[key] for key in ("object", "model")} == {
        "object": "list",
        "model": "lsa-192/1",
    }
    assert [(e["object"], e["index"]) for e in body["data"]] == [("embedding", 0), ("embedding", 1)]
    assert body["usage"] == {"prompt_tokens": 11, "total_tokens": 11}


def test_related_texts_lie_closer_than_others(client: httpx.Client) -> None:
    question, answer, other = np.asarray(
        vectors(
            client,
            QUESTION,
            "The retry limit of the ingest queue is seven attempts.",
            "Tomatoes are planted in May.",
        )
    )
    assert question @ answer > 0.5 > abs(question @ other)
    assert np.linalg.norm([question, answer, other], axis=1) == pytest.approx([1, 1, 1], abs=1e-5)


def test_base64_holds_the_same_numbers(client: httpx.Client) -> None:
    reply = client.post(
        "/v1/embeddings", json={**LSA, "input": "retry limit", "encoding_format": "base64"}
    )
    packed = base64.b64decode(reply.json()["data"][0]["embedding"])
    assert np.frombuffer(packed, "<f4").tolist() == vectors(client, "retry limit")[0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ([], "body: got [], expected a valid dictionary"),
        ({"input": "x"}, "model: missing"),
        ({"model": "ada", "input": "x"}, "model: got 'ada', expected 'lsa' or 'lsa-192/1'"),
        (LSA, "input: missing"),
        ({**LSA, "input": []}, "input: got [], List should have at least 1 item"),
        ({**LSA, "input": {"a": 1}}, "input: got {'a': 1}, expected a valid list"),
        ({**LSA, "input": " "}, "input[0]: got ' ', expected a text that is not blank"),
        ({**LSA, "input": ["x", ""]}, "input[1]: got '', expected a text that is not blank"),
        ({**LSA, "input": [1, 2]}, "input[0]: got 1, expected an instance of str"),
        ({**LSA, "input": ["x", None]}, "input[1]: got None"),
        ({**LSA, "input": ["x"] * 2049}, "List should have at most 2048 items"),
        ({**LSA, "input": "x" * 200_001}, "expected at most 200,000 characters"),
        (
            {**LSA, "input": ["x" * 200_000] * 21},
            "expected at most 4,000,000 characters in all",
        ),
        ({**LSA, "input": "x", "encoding_format": "int8"}, "expected 'float' or 'base64'"),
        ({**LSA, "input": "x", "dimensions": 8}, "dimensions: unknown"),
    ],
)
def test_a_bad_request_is_refused_by_name(client: httpx.Client, body: Any, message: str) -> None:
    reply = client.post("/v1/embeddings", json=body)
    assert reply.status_code == 422
    assert message in reply.json()["error"]


def test_texts_go_on_to_the_endpoint_that_the_server_embeds_with(tmp_path: Path) -> None:
    data = {"data": [{"index": i, "embedding": [float(i), 1.0]} for i in range(8)]}
    two = {"data": data["data"][:2]}
    vault = write_vault(tmp_path)
    with fake_target(json_reply(data), json_reply(two), json_reply({}, "422 No")) as upstream:
        config = ReferenceConfig(
            vault=vault, embedder="endpoint", embedder_url=upstream.url, embedder_model="m"
        )
        with start_in_thread(config) as handle:

            def post(*texts: str, model: str = "m") -> httpx.Response:
                body = {"model": model, "input": list(texts)}
                return httpx.post(f"{handle.url}/v1/embeddings", json=body, timeout=30)

            reply = post("one", "two")
            assert [e["embedding"] for e in reply.json()["data"]] == [[0.0, 1.0], [1.0, 1.0]]
            assert reply.json()["model"] == "m"
            assert upstream.received[-1].json == {"model": "m", "input": ["one", "two"]}
            assert post("one", model="lsa").status_code == 422
            refused = post("too long")
    assert refused.status_code == 502
    assert refused.json()["error"].startswith("model endpoint: ")


def test_a_refused_text_is_named() -> None:
    class Embedder:
        def embed(self, texts: tuple[str, ...]) -> list[Any]:
            return [np.ones(2, dtype=np.float32), None]

    class Index:
        lsa = None
        embedder = Embedder()

    config = ReferenceConfig(
        vault=Path(), embedder="endpoint", embedder_url="http://127.0.0.1:1", embedder_model="m"
    )
    index: Any = Index()
    with pytest.raises(RequestError, match=r"input\[1\]: refused"):
        embed_texts({"model": "m", "input": ["good", "bad"]}, index, config)
