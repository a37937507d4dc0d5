"""Rerankers over real sockets and as functions of a project."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.analysis.rerank import Candidates, Reordered, read_candidates
from pytest_rageval.engine.endpoint import ModelEndpoint
from pytest_rageval.engine.reranking import (
    EndpointReranker,
    FunctionReranker,
    reorder,
)
from pytest_rageval.values.errors import ConfigError, EndpointError
from pytest_rageval.values.settings import Settings
from tests.build.records import record
from tests.build.scores import case, chunk
from tests.build.targets import Reply, fake_target, http_reply, json_reply

KEY = "s3cret-rerank-key"


def cases(n: int = 2, *, chunks: int = 2) -> list[Candidates]:
    texts = [
        chunk("a.md | # A", text=f"text {place}", matched_golds=(), irrelevant=False)
        for place in range(chunks)
    ]
    records = [
        record(
            f"c{number}",
            case=case("a.md | # A"),
            question=f"q{number}",
            retrieved_chunks=tuple(texts),
        )
        for number in range(n)
    ]
    return read_candidates(records, path_case="sensitive", level="anchor")[0]


def endpoint(url: str, **fields: Any) -> EndpointReranker:
    return EndpointReranker(
        ModelEndpoint(**{"url": url, "model": "m", **fields}),
        concurrency=1,
        environ={"RERANK_KEY": KEY},
        sleep=lambda _: None,
        rng=random.Random(7),
    )


def results(*scores: tuple[int, float], **rest: Any) -> Reply:
    entries = [{"index": index, "relevance_score": score} for index, score in scores]
    return json_reply({"results": entries, **rest})


def ask(*replies: Reply, of: Sequence[Candidates] | None = None, **fields: Any) -> Reordered:
    with fake_target(*replies) as target, endpoint(target.url, **fields) as client:
        return reorder(cases(len(replies)) if of is None else of, client)


def test_documents_are_sent_in_the_shape_of_cohere_and_jina_with_the_key() -> None:
    with (
        fake_target(results((0, 0.1), (1, 0.9))) as target,
        endpoint(f"{target.url}/v2", api_key_env="RERANK_KEY") as client,
    ):
        found = reorder(cases(1), client)
    assert list(found.orders.values()) == [[1, 0]]
    (received,) = target.received
    assert received.line == "POST /v2/rerank HTTP/1.1"
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(received.body) == {
        "model": "m",
        "query": "q0",
        "documents": ["text 0", "text 1"],
        "top_n": 2,
    }


@pytest.mark.parametrize(
    "body",
    [
        {"results": [{"index": 1, "relevance_score": 2.5}, {"index": 0, "relevance_score": -1}]},
        {"data": [{"index": 1, "score": 0.5}, {"index": 0, "score": 0}]},
        [{"index": 0, "score": 0.1}, {"index": 1, "score": 0.2}],
    ],
)
def test_replies_of_several_servers_are_read(body: Any) -> None:
    assert list(ask(json_reply(body)).orders.values()) == [[1, 0]]


def test_documents_without_a_score_keep_their_order_at_the_end() -> None:
    found = ask(results((2, 0.5)), of=cases(1, chunks=3))
    assert list(found.orders.values()) == [[2, 0, 1]]
    assert found.n_unranked == 2


def test_a_case_that_fails_later_is_left_out_with_its_reason() -> None:
    found = ask(results((0, 1.0), (1, 0.0)), http_reply(b"too long", "400 Bad Request"), retries=0)
    assert len(found.orders) == 1
    ((key, reason),) = found.failed.items()
    assert key[1] == "c1"
    assert "HTTP 400" in reason


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "not a reply with scores: Expected `array`, got `null`"),
        ({"results": [{"index": 5, "relevance_score": 1}]}, "results[0].index: 5, expected 0 to 1"),
        ({"results": [{"index": True, "relevance_score": 1}]}, "got `bool` - at `$[0].index`"),
        ({"results": [{"index": 0}]}, "results[0].relevance_score: None, expected a finite number"),
        ({"results": [{"index": 0, "score": math.nan}]}, "relevance_score: None, expected"),
        ({"results": [{"index": 0, "relevance_score": "1"}]}, "got `str`"),
        ({"results": ["x"]}, "got `str` - at `$[0]`"),
        ({"results": []}, "no score for any of 2 documents"),
        (
            {"results": [{"index": 0, "score": 1}, {"index": 0, "score": 2}]},
            "results[1].index: 0, expected 0 to 1, each once",
        ),
    ],
)
def test_another_shape_is_an_error_that_names_the_field(body: Any, says: str) -> None:
    with pytest.raises(EndpointError) as caught:
        ask(json_reply(body))
    assert says in str(caught.value)


# --- functions -------------------------------------------------------------------------------


def of_function(function: Any, tmp_path: Path) -> FunctionReranker:
    return FunctionReranker("mine:score", function, Settings(rootdir=str(tmp_path)))


def test_a_function_gives_one_score_for_each_document(tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    client = of_function(lambda query, texts: np.array([0.25, 0.5]), tmp_path)
    assert list(reorder(cases(1), client).orders.values()) == [[1, 0]]


def test_the_error_of_a_function_is_shown_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def score(query, texts):\n    return {}['x']\n")
    scope: dict[str, Any] = {}
    source = (tmp_path / "mine.py").read_text()
    exec(compile(source, str(tmp_path / "mine.py"), "exec"), scope)
    with pytest.raises(ConfigError) as caught:
        reorder(cases(1), of_function(scope["score"], tmp_path))
    assert "mine:score: KeyError: 'x'" in str(caught.value)
    assert "mine.py:2: in score" in str(caught.value)


@pytest.mark.parametrize("wrong", [[1.0], None, "ab", [1.0, float("nan")], {0: 1.0}])
def test_another_result_of_a_function_is_refused(wrong: object, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected 2 finite numbers"):
        reorder(cases(1), of_function(lambda *_: wrong, tmp_path))
