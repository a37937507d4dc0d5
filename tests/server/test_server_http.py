from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.server import (
    MAX_ASK_BYTES,
    ServerHandle,
    start_in_thread,
)
from tests.server.builders import write_vault

QUESTION = {"question": "What is the retry limit of the ingest queue?"}


def error_of(reply: httpx.Response, status: int) -> str:
    assert reply.status_code == status, reply.text
    message: str = reply.json()["error"]
    return message


def put(client: httpx.Client, prefix: str, **texts: str) -> httpx.Response:
    documents = [{"rel_path": path, "text": text} for path, text in texts.items()]
    return client.put("/api/v1/documents", json={"scope_prefix": prefix, "documents": documents})


def delete(client: httpx.Client, prefix: str) -> httpx.Response:
    return client.request("DELETE", "/api/v1/documents", json={"scope_prefix": prefix})


def found(client: httpx.Client, question: str) -> list[str]:
    reply = client.post("/api/v1/ask?debug=true", json={"question": question})
    return [chunk["rel_path"] for chunk in reply.json()["debug"]["retrieved_chunks"]]


def test_a_question_over_http_gets_its_answer(client: httpx.Client) -> None:
    reply = client.post("/api/v1/ask?debug=true", json=QUESTION)
    assert reply.status_code == 200
    body = reply.json()
    assert "seven attempts" in body["answer"]
    assert body["debug"]["retrieved_chunks"][0]["rel_path"] == "work/queue.md"
    assert body["debug"]["folder_selection"]["selected_folders"] is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "question: missing"),
        ({"question": 3}, "question: got 3, expected an instance of str"),
        ({"question": "  "}, "question: got '  ', expected a text that is not blank"),
        ({"question": "x" * 200_001}, "expected at most 200,000 characters"),
        ({**QUESTION, "k": 0}, "k: got 0, expected greater than or equal to 1"),
        ({**QUESTION, "k": True}, "k: got True"),
        ({**QUESTION, "k": 2.5}, "k: got 2.5"),
        ({**QUESTION, "k": "5"}, "k: got '5'"),
        ({**QUESTION, "folders": "work"}, "folders: got 'work', expected a valid list"),
        ({**QUESTION, "vaults": [1]}, "vaults[0]: got 1"),
        (
            {**QUESTION, "vaults": ["dev"]},
            "vaults: got ['dev'], expected the vault of this server, '",
        ),
        ({**QUESTION, "folder_mode": "maybe"}, "expected 'off', 'on' or 'on_with_fallback'"),
        ({**QUESTION, "fusion": "max"}, "fusion: got 'max', expected 'weighted' or 'rrf'"),
        ({**QUESTION, "min_score": "high"}, "min_score: got 'high', expected a valid number"),
        ({**QUESTION, "rerank": "yes"}, "rerank: got 'yes', expected a valid boolean"),
        (
            {**QUESTION, "rerank_weights": [1]},
            "rerank_weights: got [1], expected a valid dictionary",
        ),
        ({**QUESTION, "rerank_weights": {"vector": -1}}, "rerank_weights: got"),
        ({**QUESTION, "rerank_weights": {"vector": 0, "lexical": 0}}, "not both 0"),
        ({**QUESTION, "rerank_weights": {"bm25": 1}}, "rerank_weights.bm25: unknown"),
        ({**QUESTION, "topk": 5}, "topk: unknown"),
        ([1], "body: got [1], expected a valid dictionary"),
    ],
)
def test_a_bad_field_is_refused_by_name(client: httpx.Client, body: Any, message: str) -> None:
    assert message in error_of(client.post("/api/v1/ask", json=body), 422)


def test_a_body_that_takes_much_memory_is_refused_before_it_is_read(client: httpx.Client) -> None:
    content = b'{"question": "' + b"x" * MAX_ASK_BYTES + b'"}'
    message = error_of(client.post("/api/v1/ask", content=content), 413)
    assert message == "request body: over the limit of 3,000,000 bytes"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 400),
        ({"Origin": "http://evil.test"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://127.0.0.1"}, 403),
        ({"Origin": "URL"}, 200),
    ],
)
def test_pages_of_other_origins_and_other_host_names_are_refused(
    client: httpx.Client, headers: dict[str, str], status: int
) -> None:
    own = str(client.base_url).rstrip("/")
    sent = {name: value.replace("URL", own) for name, value in headers.items()}
    reply = client.post("/api/v1/ask", json={"question": "retry"}, headers=sent)
    assert reply.status_code == status


def test_forty_questions_at_once_get_their_own_answers(client: httpx.Client) -> None:
    pairs = [
        ("What is the retry limit of the ingest queue?", "seven attempts"),
        ("When are tomatoes planted?", "in May"),
        ("How long does bread dough rest in the fridge?", "twelve hours"),
        ("When is a refund paid by bank transfer?", "fourteen days"),
    ] * 10

    def one(pair: tuple[str, str]) -> bool:
        reply = client.post("/api/v1/ask?debug=true", json={"question": pair[0]})
        return pair[1] in reply.json()["answer"]

    with ThreadPoolExecutor(40) as pool:
        assert list(pool.map(one, pairs)) == [True] * 40


def test_documents_can_be_put_found_and_taken_away(
    client: httpx.Client, server: ServerHandle
) -> None:
    before = sorted(server.engine.config.vault.rglob("*"))
    texts = {
        "datasets/x/a.md": "# Zebra\n\nThe zebra has stripes.\n",
        "datasets/x/b.md": "# Gnu\n\nThe gnu has horns.\n",
    }
    reply = put(client, "datasets/x/", **texts)
    assert reply.json() == {"put": 2, "documents": 2}
    assert found(client, "zebra stripes")[0] == "datasets/x/a.md"
    assert found(client, "retry limit of the queue")[0] == "work/queue.md"
    assert sorted(server.engine.config.vault.rglob("*")) == before
    assert delete(client, "datasets/x").json() == {"deleted": 2}
    assert "datasets/x/a.md" not in found(client, "zebra stripes")
    assert server.engine.index.coverage["docs_processed"] == 5


@pytest.mark.parametrize(
    "path",
    ["e/../a.md", "../a.md", "/e/a.md", "f/a.md", "e/./a.md", "e//a.md", "e/a.txt", "e\\a.md",
     "eve/a.md", "e/a\n.md", "C:/a.md", ""],
)  # fmt: skip
def test_a_document_out_of_its_scope_changes_nothing(client: httpx.Client, path: str) -> None:
    reply = put(client, "e/", **{"e/good.md": "the okapi text", path: "the okapi again"})
    assert error_of(reply, 422).startswith("documents[1].rel_path: ")
    assert "e/good.md" not in found(client, "okapi text")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"documents": []}, "scope_prefix: missing"),
        ({"scope_prefix": "a/"}, "documents: missing"),
        ({"scope_prefix": "a/", "documents": [1]}, "documents[0]: got 1"),
        ({"scope_prefix": "a/", "documents": [{"rel_path": "a/b.md"}]}, "documents[0].text: miss"),
        (
            {"scope_prefix": "a/", "documents": [{"rel_path": "a/b.md", "text": "x"}] * 2},
            "documents[1].rel_path: got 'a/b.md', expected each path once",
        ),
    ],
)
def test_a_bad_documents_body_is_refused_by_name(
    client: httpx.Client, body: Any, message: str
) -> None:
    assert message in error_of(client.put("/api/v1/documents", json=body), 422)


def test_stopping_frees_the_port_and_leaves_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    handle = start_in_thread(ReferenceConfig(vault=write_vault(tmp_path)))
    port = int(handle.url.rsplit(":", 1)[1])
    # A connection left open by a client must not hold the server up.
    lingering = http.client.HTTPConnection("127.0.0.1", port)
    lingering.request("POST", "/api/v1/ask", json.dumps(QUESTION))
    assert lingering.getresponse().status == 200
    handle.stop()
    handle.stop()
    lingering.close()
    # The pool of a closed event loop tells its workers to end but does not wait for them.
    for worker in set(threading.enumerate()) - before:
        worker.join(10)
        assert not worker.is_alive()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=1)


FOREGROUND = """
import sys, pathlib
from pytest_rageval.server.server import ReferenceConfig, serve
config = ReferenceConfig(vault=pathlib.Path(sys.argv[1]))
try:
    serve(config, 0, lambda url: print(url, flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_serving_in_the_foreground_ends_cleanly_on_interrupt(tmp_path: Path) -> None:
    import signal

    command = [sys.executable, "-W", "error", "-c", FOREGROUND, str(write_vault(tmp_path))]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert "seven" in httpx.post(f"{url}/api/v1/ask", json=QUESTION).json()["answer"]
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=20)
    assert (output, errors, process.returncode) == ("interrupted\n", "", 0)


def test_the_package_itself_imports_nothing_heavy() -> None:
    code = (
        "import sys, pytest_rageval.server\n"
        "heavy = {'numpy', 'starlette', 'uvicorn', 'httpx', 'markdown_it'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
