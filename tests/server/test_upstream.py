from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openai
import pytest

from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.server import start_in_thread
from pytest_rageval.server.terms import terms
from pytest_rageval.server.upstream import Endpoint, EndpointEmbedder, UpstreamError
from tests.build.http_server import Handler, serving
from tests.server.builders import ask, make_engine, retrieved, write_vault

Reply = Callable[[dict[str, Any]], tuple[int, Any]]


@dataclass
class ModelServer:
    """A loopback stand-in for an OpenAI-compatible API that records what it was sent."""

    url: str = ""
    replies: dict[str, Reply] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, Any], str | None]] = field(default_factory=list)

    @property
    def embedded(self) -> list[str]:
        return [
            text for path, body, _ in self.requests if "input" in body for text in body["input"]
        ]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setattr(openai._base_client, "INITIAL_RETRY_DELAY", 0.0)
    state = ModelServer(replies={"/v1/embeddings": hashed_embeddings})

    class Models(Handler):
        def do_POST(self) -> None:
            body = json.loads(self.body())
            state.requests.append((self.path, body, self.headers["Authorization"]))
            status, reply = state.replies[self.path](body)
            self.send(reply if isinstance(reply, bytes) else json.dumps(reply).encode(), status)

    with serving(Models) as url:
        state.url = f"{url}/v1"
        yield state


def hashed_embeddings(body: dict[str, Any]) -> tuple[int, Any]:
    data = []
    for index, text in enumerate(body["input"]):
        vector = [0.0] * 64
        for term in terms(text):
            vector[hashlib.sha256(term.encode()).digest()[0] % 64] += 1.0
        data.append({"index": index, "embedding": vector})
    # Out of order on purpose: the index says which text each belongs to.
    return 200, {"data": data[::-1]}


def endpoint_settings(models: ModelServer) -> dict[str, Any]:
    return {"embedder": "endpoint", "embedder_url": models.url, "embedder_model": "toy-embed"}


def chat(text: str) -> Reply:
    return lambda body: (200, {"choices": [{"message": {"content": text}}]})


def test_an_embedding_endpoint_takes_the_place_of_lsa(tmp_path: Path, models: ModelServer) -> None:
    engine = make_engine(write_vault(tmp_path), **endpoint_settings(models))
    response = ask(engine, "retry limit queue", rerank_weights={"vector": 1, "lexical": 0})
    assert retrieved(response)[0]["rel_path"] == "work/queue.md"
    assert response["debug"]["models"]["embedding_model"] == "toy-embed"
    assert models.requests[0][1]["model"] == "toy-embed"
    assert models.requests[-1][1]["input"] == ["retry limit queue"]


def test_the_key_comes_from_the_named_variable(
    models: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = Endpoint(url=models.url, model="m", api_key_env="TOY_KEY")
    monkeypatch.setenv("TOY_KEY", "s3cret")
    EndpointEmbedder(endpoint).embed(["a"])
    assert models.requests[0][2] == "Bearer s3cret"
    monkeypatch.delenv("TOY_KEY")
    with pytest.raises(UpstreamError, match="TOY_KEY is not set"):
        EndpointEmbedder(endpoint).embed(["a"])


@pytest.mark.parametrize("key", ["s3cret\nof-two-lines", "s3crèt"])
def test_a_key_that_no_header_may_hold_is_refused_unshown(
    models: ModelServer, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("TOY_KEY", key)
    with pytest.raises(UpstreamError, match="TOY_KEY contains a character") as error:
        EndpointEmbedder(Endpoint(url=models.url, model="m", api_key_env="TOY_KEY")).embed(["a"])
    assert "s3cr" not in str(error.value)


@pytest.mark.parametrize(
    "reply",
    [
        b"not json",
        {"data": []},
        {"vectors": []},
        {"data": [{"index": 0, "embedding": "x"}]},
        {"data": [{"index": 0, "embedding": [float("nan")]}]},
        {"data": [{"index": 0, "embedding": [10**400]}]},
        {"data": [{"index": float("inf"), "embedding": [1.0]}]},
    ],
)
def test_a_reply_that_is_no_embedding_is_an_error(models: ModelServer, reply: Any) -> None:
    models.replies["/v1/embeddings"] = lambda body: (200, reply)
    with pytest.raises(UpstreamError):
        EndpointEmbedder(Endpoint(url=models.url, model="m")).embed(["a"])


@pytest.mark.parametrize("suffix", ["", "/v1", "/v1/", "/v1/embeddings"])
def test_the_address_may_be_given_in_each_usual_form(models: ModelServer, suffix: str) -> None:
    base = models.url.removesuffix("/v1")
    vectors = EndpointEmbedder(Endpoint(url=base + suffix, model="m")).embed(["heron"])
    assert isinstance(vectors[0], np.ndarray)
    assert models.requests[0][0] == "/v1/embeddings"


def test_a_model_may_write_the_answer_and_its_citations_are_checked(
    tmp_path: Path, models: ModelServer
) -> None:
    models.replies["/v1/chat/completions"] = chat("Seven attempts [1]. Or eight [99].")
    settings = {"llm_url": models.url, "llm_model": "toy-chat"}
    engine = make_engine(write_vault(tmp_path), **settings)
    response = ask(engine, "What is the retry limit?")
    assert response["answer"] == "Seven attempts [1]. Or eight."
    assert [r["rel_path"] for r in response["references"]] == ["work/queue.md"]
    assert response["debug"]["models"]["llm_model"] == "toy-chat"
    assert response["debug"]["models"]["prompt_version"].startswith("answer-")
    _, body, authorization = models.requests[0]
    assert body["temperature"] == 0
    assert authorization is None
    assert "seven attempts" in body["messages"][1]["content"]


@pytest.mark.parametrize("reply", [{"choices": []}, {"choices": [{"message": {"content": " "}}]}])
def test_a_failing_model_is_a_502_with_its_reason(
    tmp_path: Path, models: ModelServer, reply: Any
) -> None:
    models.replies["/v1/chat/completions"] = lambda body: (200, reply)
    config = ReferenceConfig(vault=write_vault(tmp_path), llm_url=models.url, llm_model="m")
    with start_in_thread(config) as server:
        answer = httpx.post(f"{server.url}/api/v1/ask", json={"question": "retry limit"})
    assert answer.status_code == 502
    assert answer.json()["error"].startswith("model endpoint: ")


@pytest.mark.parametrize("status", [200, 400])
def test_an_error_holds_neither_the_key_nor_credentials_of_the_url(
    models: ModelServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("MODEL_KEY", "k3y-of-the-model")
    url = models.url.replace("//", "//ann:passw0rd@")

    def echo(_: dict[str, Any]) -> tuple[int, Any]:
        return status, f"Bearer k3y-of-the-model is wrong for {url}".encode()

    models.replies["/v1/embeddings"] = echo
    embedder = EndpointEmbedder(Endpoint(url=url, model="m", api_key_env="MODEL_KEY"))
    with pytest.raises(UpstreamError) as error:
        embedder.embed(["a"])
    assert "k3y" not in str(error.value)
    assert "passw0rd" not in str(error.value)
    assert models.url in str(error.value)
