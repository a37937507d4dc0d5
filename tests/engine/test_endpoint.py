"""The client of an embeddings endpoint against servers that misbehave, over real sockets."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine import endpoint as embeddings
from pytest_rageval.engine.endpoint import EmbeddingsClient, ModelEndpoint, load_vectors
from pytest_rageval.values.errors import ConfigError, DatasetError, EndpointError
from tests.build.files import write_lines
from tests.build.scores import chunk
from tests.build.targets import (
    FakeTarget,
    Pauses,
    Reply,
    fake_target,
    hang_up,
    http_reply,
    json_reply,
    reset,
    silence,
)

KEY = "s3cret-embedding-key"


def vectors(*rows: Sequence[float]) -> Reply:
    return json_reply({"data": [{"index": i, "embedding": list(v)} for i, v in enumerate(rows)]})


def client_of(
    url: str,
    *,
    pauses: Pauses | None = None,
    environ: Mapping[str, str] | None = None,
    **fields: Any,
) -> EmbeddingsClient:
    return EmbeddingsClient(
        ModelEndpoint(**{"url": url, "model": "m", **fields}),
        environ=environ or {},
        sleep=Pauses() if pauses is None else pauses,
        rng=random.Random(7),
    )


def embed(target: FakeTarget, *texts: str, **settings: Any) -> dict[str, list[float]]:
    found = client_of(target.url, **settings).embed(texts)
    return {text: vector.tolist() for text, vector in found.vectors.items()}


def failure(*replies: Reply, texts: Sequence[str] = ("one",), **settings: Any) -> EndpointError:
    with fake_target(*replies) as target, pytest.raises(EndpointError) as caught:
        client_of(target.url, **settings).embed(texts)
    assert target.url in str(caught.value)
    return caught.value


# --- the request -----------------------------------------------------------------------------


def test_texts_are_sent_once_and_get_their_vectors_by_index() -> None:
    data = [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0.5]}]
    with fake_target(json_reply({"object": "list", "data": data})) as target:
        assert embed(target, "one", "zwei ö", "one") == {"one": [1, 0.5], "zwei ö": [0, 1]}
    (received,) = target.received
    assert received.line == "POST /v1/embeddings HTTP/1.1"
    assert received.headers["content-type"] == "application/json"
    assert received.json == {"model": "m", "input": ["one", "zwei ö"]}
    assert "authorization" not in received.headers


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ("", "/v1/embeddings"),
        ("/", "/v1/embeddings"),
        ("/api", "/api/v1/embeddings"),
        ("/v1", "/v1/embeddings"),
        ("/v1beta/", "/v1beta/embeddings"),
        ("/vectors", "/vectors/v1/embeddings"),
        ("/x/embeddings", "/x/embeddings"),
    ],
)
def test_the_address_of_the_endpoint(base: str, path: str) -> None:
    with fake_target(vectors([1])) as target:
        client_of(target.url + base).embed(["one"])
    assert target.received[0].line == f"POST {path} HTTP/1.1"


def test_batches_are_limited_by_texts_and_by_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "BATCH_TEXTS", 3)
    monkeypatch.setattr(embeddings, "BATCH_CHARS", 10)
    replies = [vectors(*([float(n)] for n in range(size))) for size in (3, 2, 1, 1)]
    with fake_target(*replies) as target:
        found = embed(target, "a", "b", "c", "d", "e" * 8, "f" * 30, "g")
    batches = [received.json["input"] for received in target.received]
    assert batches == [["a", "b", "c"], ["d", "e" * 8], ["f" * 30], ["g"]]
    assert found["e" * 8] == [1.0]


# --- secrets ---------------------------------------------------------------------------------


def test_the_key_comes_from_the_named_variable() -> None:
    with fake_target(vectors([1])) as target:
        embed(target, "one", environ={"EMB_KEY": f"{KEY}\n"}, api_key_env="EMB_KEY")
    assert target.received[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("status", ["401 No", "400 Bad"])
def test_an_echoed_key_is_blotted_out(status: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = http_reply(f"wrong key {KEY}".encode(), status)
    error = failure(echo, environ={"EMB_KEY": KEY}, api_key_env="EMB_KEY")
    assert "wrong key ***" in str(error)
    assert KEY not in repr(error) + caplog.text
    assert error.__context__ is None or error.__suppress_context__


@pytest.mark.parametrize(
    ("variable", "environ", "message"),
    [
        (KEY, {}, "expected the name of an environment variable, not a key"),
        ("sk4b9b0a7e", {}, "the environment variable of this name is not set"),
        ("EMB", {"EMB": "  "}, "the environment variable of this name is not set"),
        ("EMB", {"EMB": "sk4b9b0a7é"}, "a character that headers do not allow"),
        ("EMB", {"EMB": "sk4b9\nb0a7e"}, "a character that headers do not allow"),
    ],
)
def test_a_wrong_key_variable_is_refused_without_showing_it(
    variable: str, environ: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        client_of("http://localhost:1", api_key_env=variable, environ=environ)
    assert message in str(caught.value)
    assert "sk4b9" not in str(caught.value)
    assert KEY not in str(caught.value)


# --- failures --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply", [hang_up, reset, json_reply({}, "429 Slow"), json_reply({}, "503 No")]
)
def test_what_may_pass_is_tried_again(reply: Reply) -> None:
    pauses = Pauses()
    with fake_target(reply, reply, vectors([1])) as target:
        assert embed(target, "one", pauses=pauses) == {"one": [1.0]}
    assert len(target.received) == 3
    assert 0.5 <= pauses[0] <= 1 <= pauses[1] <= 2


def test_a_server_says_how_long_to_wait() -> None:
    pauses = Pauses()
    with fake_target(json_reply({}, "429 Slow", retry_after="7"), vectors([1])) as target:
        embed(target, "one", pauses=pauses)
    assert pauses == [7.0]


def test_a_server_that_is_silent_meets_the_deadline(over: threading.Event) -> None:
    error = failure(silence(over), timeout_s=0.1)
    assert (error.kind, error.attempts) == ("timeout", 1)
    assert "no complete reply within 0.1 s" in str(error)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ([], "not a reply with embeddings: Expected `object`, got `array`"),
        ({"error": "no"}, "missing required field `data`"),
        ({"data": [1, 2]}, "got `int` - at `$.data[0]`"),
        ({"data": [{"index": 0, "embedding": [1]}]}, "1 vector for 2 texts"),
        ({"data": [{"index": 0, "embedding": [1]}] * 2}, "2 vectors for 2 texts"),
        ({"data": [{"embedding": [1]}] * 2}, "missing required field `index` - at `$.data[0]`"),
        ({"data": [{"index": [0], "embedding": [1]}] * 2}, "got `array` - at `$.data[0].index`"),
        (
            {"data": [{"index": False, "embedding": [1]}, {"index": True, "embedding": [1]}]},
            "got `bool` - at `$.data[0].index`",
        ),
        ({"data": [{"index": i, "embedding": []} for i in (0, 1)]}, "expected finite numbers"),
        (
            {"data": [{"index": i, "embedding": ["1"]} for i in (0, 1)]},
            "got `str` - at `$.data[0].embedding[0]`",
        ),
        (
            {"data": [{"index": i, "embedding": [None]} for i in (0, 1)]},
            "got `null` - at `$.data[0].embedding[0]`",
        ),
        (
            {"data": [{"index": i, "embedding": "AAAA"} for i in (0, 1)]},
            "got `str` - at `$.data[0].embedding`",
        ),
        ({"data": [{"index": i} for i in (0, 1)]}, "missing required field `embedding`"),
    ],
)
def test_a_reply_of_another_shape_is_a_protocol_error(payload: object, message: str) -> None:
    error = failure(json_reply(payload), texts=("one", "two"))
    assert (error.kind, error.attempts) == ("protocol", 1)
    assert message in str(error)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"\xff", b'{"data": [{"index": 0, "embedding": [NaN]}]}']
)
def test_a_reply_that_is_no_json_or_not_finite_is_a_protocol_error(body: bytes) -> None:
    assert failure(http_reply(body)).kind == "protocol"


# --- refused texts ---------------------------------------------------------------------------


def test_a_refused_text_is_found_by_halves_and_left_out() -> None:
    too_long = json_reply({"error": "too long"}, "400 Bad")
    replies = [too_long, vectors([0], [1]), too_long, too_long, vectors([3])]
    with fake_target(*replies) as target:
        found = client_of(target.url).embed(["a", "b", "c", "d"])
    sent = [received.json["input"] for received in target.received]
    assert sent == [["a", "b", "c", "d"], ["a", "b"], ["c", "d"], ["c"], ["d"]]
    assert ({t: v.tolist() for t, v in found.vectors.items()}, found.n_refused) == (
        {"a": [0], "b": [1], "d": [3]},
        1,
    )


# ---


def faults(path: Path, *lines: object) -> list[str]:
    write_lines(path, *lines)
    with chdir(path.parent), pytest.raises(DatasetError) as caught:
        load_vectors(Path(path.name))
    return str(caught.value).splitlines()


def test_vectors_are_found_by_text_and_by_chunk_id(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "v.jsonl",
        {"text": "one", "embedding": [1, 0.5]},
        "",
        {"chunk_id": "c1", "embedding": [0, -1e3], "model": "m"},
        {"chunk_id": "c2", "text": "two", "embedding": [3, 4]},
        {"text": "one", "embedding": [1.0, 0.5]},
    )
    table = load_vectors(path)
    assert {key: v.tolist() for key, v in table.by_text.items()} == {"one": [1, 0.5], "two": [3, 4]}
    assert sorted(table.by_chunk_id) == ["c1", "c2"]
    by_id, by_text = chunk("a.md", chunk_id="c1", text="one"), chunk("a.md", text="one")
    for found, expected in ((by_id, [0, -1000]), (by_text, [1, 0.5])):
        vector = table.of_chunk(found)
        assert vector is not None
        assert vector.tolist() == expected
    assert table.of_chunk(chunk("a.md", chunk_id="c9", text="three")) is None


def test_every_faulty_line_is_named(tmp_path: Path) -> None:
    expected = 'expected {"text" or "chunk_id": a string, "embedding": a list of numbers}'
    huge = "1" + "0" * 400
    assert faults(
        tmp_path / "v.jsonl",
        {"text": "one", "embedding": [1, 0]},
        [],
        '{"text" 1}',
        {"embedding": [1, 0]},
        {"text": 7, "embedding": [1, 0]},
        {"text": "", "embedding": [1, 0]},
        {"text": "a"},
        {"text": "b", "embedding": "1, 0"},
        {"text": "c", "embedding": []},
        {"text": "d", "embedding": [1, True]},
        {"text": "e", "embedding": [1, "0"]},
        {"text": "f", "embedding": [1, 0, 0]},
        '{"text": "g", "embedding": [1, NaN]}',
        f'{{"text": "h", "embedding": [1, {huge}]}}',
        {"text": "one", "embedding": [1, 1]},
    ) == [
        f"v.jsonl:2: got [], {expected}",
        f"v.jsonl:3: not JSON: Expecting ':' delimiter at column 9, {expected}",
        f"v.jsonl:4: text and chunk_id missing, {expected}",
        "v.jsonl:5: text: got 7, expected a string that is not empty",
        'v.jsonl:6: text: got "", expected a string that is not empty',
        "v.jsonl:7: embedding: missing",
        'v.jsonl:8: embedding: got "1, 0", expected a list of at least 1',
        "v.jsonl:9: embedding: got [], expected a list of at least 1",
        "v.jsonl:10: embedding[1]: got true, expected a finite number",
        'v.jsonl:11: embedding[1]: got "0", expected a finite number',
        "v.jsonl:12: embedding: got 3 numbers, expected 2 as above",
        "v.jsonl:13: embedding[1]: got NaN, expected a finite number",
        f"v.jsonl:14: embedding[1]: got 1{'0' * 56}..., expected a finite number",
        "v.jsonl:15: text: 'one' has a different vector on an earlier line",
    ]
