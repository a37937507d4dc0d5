from __future__ import annotations

import os
import re
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.target.opening import (
    configured_target,
    embedded_config,
    open_target,
    serve_vault,
    target_notes,
)
from pytest_rageval.values.errors import ConfigError, EndpointError
from pytest_rageval.values.reply import AskRequest
from pytest_rageval.values.settings import Settings, TargetSettings
from tests.build.targets import fake_target, http_reply, json_reply

QUESTION = AskRequest(question="Which attempts of the queue makes seven?", k=3)


def settings(rootdir: Path, **target: Any) -> Settings:
    given: dict[str, Any] = {"retries": 0} | target
    return Settings(rootdir=str(rootdir), target=TargetSettings(**given))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    text = "# Queue\n\nThe queue makes seven attempts.\n"
    (folder / "queue.md").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("target", "named"),
    [
        ({}, ""),
        ({"vault": "notes"}, "embedded server over notes"),
        (
            {"url": "http://ann:s3cret@rag.test/v1/", "path": "/ask?api_key=s3cret"},
            "http://rag.test/v1/ask",
        ),
        ({"url": "http://rag.test", "path": "/ask", "vault": "notes"}, "http://rag.test/ask"),
    ],
)
def test_the_configured_target_is_named_without_its_secrets(
    tmp_path: Path, target: dict[str, Any], named: str
) -> None:
    assert configured_target(settings(tmp_path, **target)) == named


FIXTURE = "the rag_client fixture of conftest.py"
SERVER = "embedded server over notes"


@pytest.mark.parametrize(
    ("asked", "notes"),
    [
        (set(), []),
        ({SERVER}, []),
        ({FIXTURE}, [f"the cases asked {FIXTURE}, not {SERVER}"]),
        ({FIXTURE, SERVER}, [f"some cases asked {FIXTURE}"]),
        ({f"{FIXTURE} around {SERVER}"}, [f"the cases asked {FIXTURE} around {SERVER}"]),
    ],
)
def test_a_summary_says_what_took_the_place_of_the_configured_target(
    tmp_path: Path, asked: set[str], notes: list[str]
) -> None:
    assert [*target_notes(settings(tmp_path, vault="notes"), asked)] == notes
    assert [*target_notes(settings(tmp_path), asked)] == []  # no place was taken


@pytest.mark.parametrize(
    ("request_", "noted"),
    [
        (None, False),
        ({"q": "question"}, True),
        ({"q": "question", "about": "'the history'"}, True),
        ({"m": "[history, {content: question}][]"}, False),
        ({"q": "question", "id": "session || uuid"}, False),
        ("merge(@, {x: `1`})", False),
    ],
)
def test_a_request_that_sends_nothing_of_a_conversation_is_noted(
    tmp_path: Path, request_: str | dict[str, str] | None, noted: bool
) -> None:
    found = settings(tmp_path, url="http://127.0.0.1:1", request=request_)
    assert bool([*target_notes(found, set(), talks=True)]) == noted
    assert [*target_notes(found, set())] == []
    assert [*target_notes(found, {FIXTURE}, talks=True)] == [*target_notes(found, {FIXTURE})]


def test_a_url_opens_a_client_that_sends_headers_from_the_given_environment(
    tmp_path: Path,
) -> None:
    with fake_target(json_reply({"answer": "Seven."})) as fake:
        chosen = settings(tmp_path, url=fake.url, headers={"X-Key": "env:RAG_KEY"})
        with open_target(chosen, environ={"RAG_KEY": "k-123"}) as client:
            assert isinstance(client, HttpRagClient)
            assert client.ask(QUESTION).answer == "Seven."
        assert fake.received[0].headers["x-key"] == "k-123"


def test_leaving_closes_the_client_even_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[HttpRagClient] = []
    monkeypatch.setattr(HttpRagClient, "close", lambda client: closed.append(client))
    with (
        pytest.raises(KeyError),
        open_target(settings(tmp_path, url="http://127.0.0.1:9"), environ={}) as client,
    ):
        raise KeyError("a test failed")
    assert closed == [client]


def test_no_target_is_refused_with_the_ways_to_one(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match=r"url.*vault.*--rag-url.*rag_client"),
        open_target(settings(tmp_path), environ={}),
    ):
        pass


def test_a_vault_that_another_process_serves_is_not_served_twice(tmp_path: Path) -> None:
    with fake_target(json_reply({"answer": "Seven."})) as fake:
        # The folder does not exist here: whoever serves it has read it.
        chosen = settings(tmp_path, vault="elsewhere")
        with open_target(chosen, environ={}, served_at=fake.url) as client:
            assert isinstance(client, HttpRagClient)
            assert client.ask(QUESTION).answer == "Seven."


@pytest.mark.parametrize(
    ("name", "shown"),
    [("nowhere", "'nowhere'"), ("notes/queue.md", "'notes/queue.md'"), ("v" * 5_000, "'vvv.*")],
)
def test_a_vault_that_is_no_folder_is_refused_by_name_in_a_short_line(
    tmp_path: Path, vault: Path, name: str, shown: str
) -> None:
    with (
        pytest.raises(ConfigError, match=rf"vault: got {shown}, expected a folder") as refused,
        serve_vault(settings(tmp_path, vault=name)),
    ):
        pass
    assert len(str(refused.value)) < 500 + len(str(tmp_path))


def test_the_settings_of_the_embedded_server_are_its_own(tmp_path: Path, vault: Path) -> None:
    (vault / "long.md").write_text("# Long\n\n" + "A wall of tomatoes. " * 200, encoding="utf-8")
    lengths = []
    for embedded in ({}, {"chunk_tokens": 60, "chunk_overlap": 0}):
        chosen = settings(tmp_path, vault=vault.name, embedded=embedded)
        with open_target(chosen, environ={}) as client:
            assert isinstance(client, HttpRagClient)
            reply = client.ask(AskRequest(question="Where are tomatoes?", k=1))
        assert reply.retrieved_chunks
        lengths.append(len(reply.retrieved_chunks[0].text or ""))
    assert lengths[1] < lengths[0] / 2


@pytest.mark.parametrize(
    ("embedded", "fault"),
    [
        ({"chunk_token": 60}, "unknown key 'chunk_token', did you mean \"chunk_tokens\"?"),
        ({"vault": "x"}, "unknown key 'vault'"),
        ({"chunk_tokens": 2}, "chunk_tokens: got 2, expected greater than or equal to 20"),
        (
            {"chunk_overlap": 0, "chunk_tokens": "400"},
            "chunk_tokens: got '400', expected a valid integer",
        ),
        ({"chunk_tokens": 400.5}, "chunk_tokens: got 400.5, expected a valid integer"),
        ({"vector_weight": "high"}, "vector_weight: got 'high', expected a valid number"),
        ({"rerank": "yes"}, "rerank: got 'yes', expected a valid boolean"),
        ({"fusion": 3}, "fusion: got 3, expected 'weighted' or 'rrf'"),
    ],
)
def test_a_wrong_setting_of_the_embedded_server_is_named(
    tmp_path: Path, vault: Path, embedded: dict[str, object], fault: str
) -> None:
    chosen = settings(tmp_path, vault=vault.name, embedded=embedded)
    with pytest.raises(ConfigError, match=re.escape(fault)), serve_vault(chosen):
        pass


def test_an_embedder_and_a_model_that_repeat_their_key_are_not_repeated(
    tmp_path: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "a/b+c4ret-2")
    with fake_target(http_reply(b"no a%2fb%2bc4ret-2", "401 No")) as model:
        address = {"embedder_url": model.url, "embedder_api_key_env": "MINE"}
        embedded = {"embedder": "endpoint", "embedder_model": "m", **address}
        chosen = settings(tmp_path, vault=vault.name, embedded=embedded)
        opened = open_target(chosen, environ=os.environ)
        with pytest.raises(EndpointError, match=r"HTTP 401: no \*\*\*$"), opened:
            pass
        address = {"llm_url": model.url, "llm_model": "m", "llm_api_key_env": "MINE"}
        chosen = settings(tmp_path, vault=vault.name, embedded=address)
        with open_target(chosen, environ=os.environ) as client:
            assert isinstance(client, HttpRagClient)
            with pytest.raises(EndpointError, match=r"no \*\*\*$"):
                client.ask(QUESTION)


def test_the_embedded_server_answers_caches_its_index_and_ends(tmp_path: Path, vault: Path) -> None:
    chosen = settings(tmp_path, vault=vault.name)
    with open_target(chosen, environ={}) as client:
        assert isinstance(client, HttpRagClient)
        response = client.ask(QUESTION)
        address = urlsplit(repr(client).split("'")[1])
    assert "seven" in response.answer
    assert response.retrieved_chunks is not None
    assert response.retrieved_chunks[0].rel_path == "queue.md"
    assert (tmp_path / "evals" / "cache" / "reference" / ".gitignore").is_file()
    assert address.hostname == "127.0.0.1"
    with socket.socket() as probe:
        assert probe.connect_ex((address.hostname, address.port or 0)) != 0


def test_the_index_is_kept_beside_a_test_path_that_is_a_file(tmp_path: Path, vault: Path) -> None:
    (tmp_path / "set.jsonl").write_text("", encoding="utf-8")
    given = replace(settings(tmp_path, vault=vault.name), testpaths=("set.jsonl",))
    assert embedded_config(given).cache_dir == tmp_path / "cache/reference"


def test_an_opened_target_pauses_between_attempts_as_it_is_told(tmp_path: Path) -> None:
    pauses: list[float] = []
    with fake_target(http_reply(b"", "503 Busy"), json_reply({"answer": "Seven."})) as target:
        of = settings(tmp_path, url=target.url, retries=1)
        with open_target(of, environ={}, sleep=pauses.append) as client:
            assert isinstance(client, HttpRagClient)
            assert client.ask_result(QUESTION).attempts == 2
    assert len(pauses) == 1
