from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_rageval.project.documents import LoadedDocument
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.server import ServerHandle, start_in_thread
from pytest_rageval.target.documents import BATCH_DOCUMENTS, DocumentsClient
from pytest_rageval.values.errors import ConfigError, EndpointError
from pytest_rageval.values.settings import TargetSettings
from tests.build.targets import drip, fake_target, http_reply, json_reply, unused_port

PREFIX = "evals/set/"


def documents(n: int, chars: int = 10) -> list[LoadedDocument]:
    return [
        LoadedDocument(
            rel_path=f"{PREFIX}{i}.md", text=f"word{i} " * (chars // 7 + 1), scope_prefix=PREFIX,
            metadata={},
        )
        for i in range(n)
    ]  # fmt: skip


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServerHandle]:
    (tmp_path / "own.md").write_text("# Own\n\nA note of the vault.\n", encoding="utf-8")
    with start_in_thread(ReferenceConfig(vault=tmp_path)) as handle:
        yield handle


def client(url: str, **target: object) -> DocumentsClient:
    settings = TargetSettings(url=url, **target)  # type: ignore[arg-type]
    return DocumentsClient(
        settings, "/api/v1/documents", environ={"TOKEN": "s3cret-token"}, sleep=lambda _: None
    )


def docs(handle: ServerHandle) -> int:
    return int(handle.engine.index.coverage["docs_processed"])


def test_documents_are_put_and_taken_away_below_their_prefix(served: ServerHandle) -> None:
    assert client(served.url).put(PREFIX, documents(3)) == 3
    assert docs(served) == 4
    client(served.url).delete("evals/another/")
    assert docs(served) == 4
    client(served.url).delete(PREFIX)
    assert docs(served) == 1


def test_many_documents_go_in_several_requests() -> None:
    with fake_target(json_reply({})) as target:
        client(target.url).put(PREFIX, documents(BATCH_DOCUMENTS + 1))
        assert [len(one.json["documents"]) for one in target.received] == [BATCH_DOCUMENTS, 1]
        client(target.url).put(PREFIX, documents(3, chars=3_000_000))
        assert [len(one.json["documents"]) for one in target.received[2:]] == [1, 1, 1]


@pytest.mark.parametrize("prefix", ["", "/", "notes/", "../x/evals/"])
def test_a_prefix_that_may_hold_other_things_is_never_sent(prefix: str) -> None:
    with fake_target(json_reply({})) as target:
        with pytest.raises(ConfigError, match="scope prefix"):
            client(target.url).delete(prefix)
        with pytest.raises(ConfigError, match="scope prefix"):
            client(target.url).put(prefix, documents(1))
        assert target.received == []


REFUSALS = [
    (json_reply({}, "404 Not Found"), "rageval_documents"),
    (
        http_reply(b"", "308 Permanent Redirect", location="https://rag.test/api/v1/documents"),
        "PUT: HTTP 308 redirects to https://rag.test/api/v1/documents; redirects are not",
    ),
    (json_reply({"error": "no such token s3cret-token"}, "403 Forbidden"), "PUT: HTTP 403"),
    (json_reply("x" * 190 + "s3cret-token", "403 Forbidden"), "PUT: HTTP 403"),
]


@pytest.mark.parametrize(("reply", "told"), REFUSALS)
def test_a_refusal_says_what_to_do_and_shows_no_secret_of_the_headers(
    reply: bytes, told: str
) -> None:
    headers = {"Authorization": "Bearer env:TOKEN"}
    with fake_target(reply) as target, pytest.raises(EndpointError, match=told) as caught:
        client(target.url, headers=headers).put(PREFIX, documents(1))
    assert "s3c" not in str(caught.value)
    assert target.received[0].headers["authorization"] == "Bearer s3cret-token"
    assert target.received[0].line.startswith("PUT /api/v1/documents ")


def test_a_busy_target_is_asked_again() -> None:
    with fake_target(json_reply({}, "503 Service Unavailable"), json_reply({})) as target:
        client(target.url).delete(PREFIX)
        assert len(target.received) == 2


def test_a_reply_in_small_pieces_does_not_extend_the_time_of_a_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pytest_rageval.target.documents.TIMEOUT_S", 0.4)
    over = threading.Event()
    with (
        fake_target(drip(json_reply({}), 0.1, over)) as target,
        pytest.raises(EndpointError, match=r"no complete reply within 0\.4 s") as caught,
    ):
        client(target.url).delete(PREFIX)
    over.set()
    assert (caught.value.kind, caught.value.attempts) == ("timeout", 1)
    assert len(target.received) == 1


def test_a_target_that_is_not_there_is_an_error_of_one_line() -> None:
    with pytest.raises(EndpointError, match="connection refused: is the server running"):
        client(f"http://127.0.0.1:{unused_port()}", retries=1).delete(PREFIX)
