"""Memory and time of replies of the largest size that come at once."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from typing import Any

import pytest

from tests.build.targets import fake_target, http_reply

AT_ONCE = 8
LIMIT_MB = 40 * AT_ONCE
WIDE = "\U0001f600"
"""A character that makes all others of its text take four bytes."""
ASKING = """
import asyncio, json, sys
from pytest_rageval.engine.endpoint import EndpointClient, ModelEndpoint
from pytest_rageval.judges.model.endpoint import ChatEndpoint
from pytest_rageval.support.http import transport
from pytest_rageval.support.threads import session_loop
from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.values.errors import EndpointError
from pytest_rageval.values.reply import AskRequest
from pytest_rageval.values.settings import JudgeSettings, TargetSettings

kind, url, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
target = HttpRagClient(TargetSettings(url=url, timeout_s=60.0))
judge = ChatEndpoint("m", JudgeSettings(base_url=url, timeout_s=60.0), needs_key=False)
vectors = EndpointClient(ModelEndpoint(url=url, model="m"), "embeddings", ("--url", "--key"))

def peak_mb():
    line = next(one for one in open("/proc/self/status") if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1024

async def ask():
    if kind == "target":
        await target.ask_on_loop(AskRequest(question="q"))
    elif kind == "judge":
        await judge.ask(b"{}", 1)
    else:
        with vectors.connect() as http:
            await vectors.post(http, {})

async def ask_all():
    await asyncio.gather(*(ask() for _ in range(n)), return_exceptions=True)

before = peak_mb()
session_loop().submit(ask_all()).result()
print(peak_mb() - before)
"""


def large(size: int) -> bytes:
    document = {"answer": "x" * size + WIDE, "data": []}
    return json.dumps(document, ensure_ascii=False).encode()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
@pytest.mark.parametrize(
    ("kind", "coding"), [("target", ""), ("judge", "gzip"), ("embeddings", "")]
)
def test_replies_in_flight_take_a_bounded_part_of_memory_each(kind: str, coding: str) -> None:
    body = large(7_000_000)
    sent = (
        http_reply(gzip.compress(body, 1), content_encoding=coding) if coding else http_reply(body)
    )
    with fake_target(sent) as target:
        asked = subprocess.run(
            [sys.executable, "-c", ASKING, kind, target.url, str(AT_ONCE)],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    assert float(asked.stdout) < LIMIT_MB


MAPPED = """
import json, sys, time
from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.values.reply import AskRequest
from pytest_rageval.values.settings import TargetSettings

url = sys.argv[1]

def peak_mb():
    line = next(one for one in open("/proc/self/status") if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1024

before, began = peak_mb(), time.process_time()
errors = []
for references in sys.argv[2:]:
    response = {"answer": "'a'", "references": references}
    client = HttpRagClient(TargetSettings(url=url, response=response, timeout_s=60.0))
    errors.append(client.ask_result(AskRequest(question="q")).error.message)
print(json.dumps([errors, time.process_time() - began, peak_mb() - before]))
"""
TITLE, TEXT = "x" * 100_000, "x" * 500_000
GROWING: list[tuple[dict[str, Any], str]] = [
    (
        {"chunks": [{"title": TITLE}], "cited": [[0] * 2_000]},
        "pick(chunks, cited[])[].{rel_path: title}",
    ),
    ({"chunks": [TEXT], "cited": [0] * 30_000}, "pick(chunks, cited)[].{rel_path: @}"),
    ({"name": TEXT, "texts": ["x"] * 30_000}, "rows({rel_path: name, section: texts})"),
    ({"files": [{"rel_path": TEXT, "parts": ["x"] * 30_000}]}, "unnest(files, 'parts')"),
    (
        {"files": [{"id": 1, "rel_path": TEXT}], "cited": [1] * 30_000},
        "lookup(files, 'id', cited)",
    ),
]
"""Small replies, and the references that a mapping makes of them."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
def test_a_small_reply_that_a_mapping_makes_large_is_refused() -> None:
    replies = [http_reply(json.dumps(reply).encode()) for reply, _ in GROWING]
    with fake_target(*replies) as target:
        asked = subprocess.run(
            [sys.executable, "-c", MAPPED, target.url, *(one for _, one in GROWING)],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    messages, took_s, more_mb = json.loads(asked.stdout)
    assert len(messages) == len(GROWING)
    assert all("its results have over 30,000,000 characters" in one for one in messages)
    assert (took_s < 10, more_mb < 60) == (True, True), (took_s, more_mb)


# --- time ---------------------------------------------------------------------------------------

LIMIT_S = 1.0
FLOOD = """
import asyncio, gzip, json, os, socket, sys, threading, time
from pytest_rageval.support.http import transport
from pytest_rageval.support.threads import session_loop
from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.values.reply import AskRequest
from pytest_rageval.values.settings import TargetSettings

content_type, piece, then, n, settings = json.loads(sys.argv[1])
block = piece.encode() * (65536 // len(piece))
head = b"HTTP/1.1 200 OK\\r\\nContent-Type: " + content_type.encode()
if then == "gzip":
    head += b"\\r\\nContent-Encoding: gzip"
    block = gzip.compress(block * 15 * 15)
server = socket.create_server(("127.0.0.1", 0))
url = f"http://127.0.0.1:{server.getsockname()[1]}"

def reply(connection):
    try:
        connection.recv(65536)
        connection.sendall(head + b"\\r\\n\\r\\n")
        for _ in range({"go on": 10**9, "hang": 15 * 16, "gzip": 1}[then]):
            connection.sendall(block)
        time.sleep(60)
    except OSError:
        pass

def serve():
    while True:
        threading.Thread(target=reply, args=(server.accept()[0],), daemon=True).start()

def peak_mb():
    line = next(one for one in open("/proc/self/status") if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1024

async def ask():
    began = time.monotonic()
    result = await target.ask_on_loop(AskRequest(question="q"))
    return time.monotonic() - began, result.error.message

async def ask_all():
    return await asyncio.gather(*(ask() for _ in range(n)))

target = HttpRagClient(TargetSettings(url=url, retries=0, **settings))
if not (flood := os.fork()):
    serve()
before = peak_mb()
try:
    found = session_loop().submit(ask_all()).result()
finally:
    os.kill(flood, 9)
print(json.dumps([*zip(*found), peak_mb() - before]))
"""
HEAVY = (
    "data.type == 'end' || length(not_null(data.items, `[]`)[?done][]) > `3` || "
    "contains(['a', 'b'], to_string(data.kind))"
)


def asked_at_once(
    content_type: str, piece: str, then: str, n: int = AT_ONCE, **settings: Any
) -> tuple[list[float], list[str], float]:
    """Return the times and errors of requests to a server that sends a piece again and again.

    Third is the memory that they took, in MB.
    """
    given = [content_type, piece, then, n, {"timeout_s": LIMIT_S, **settings}]
    done = subprocess.run(
        [sys.executable, "-c", FLOOD, json.dumps(given)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    times, errors, more_mb = json.loads(done.stdout)
    return times, errors, more_mb


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the server is a fork, the peak from /proc")
@pytest.mark.parametrize(
    ("piece", "then", "settings"),
    [
        pytest.param("data:\U0001f600\n\n", "go on", {}, id="wide events"),
        pytest.param("\n", "gzip", {}, id="compressed blank lines"),
        pytest.param(":\n", "go on", {}, id="comments"),
        pytest.param("1\n", "go on", {"stream": "ndjson", "last_event": HEAVY}, id="expression"),
    ],
)
def test_streams_that_only_cost_time_end_together_with_the_limit(
    piece: str, then: str, settings: dict[str, Any]
) -> None:
    # Each would take a second or two of computing. A quiet machine needs at most half
    # a second more than the limit.
    settings = {"stream": "sse", **settings}
    times, _, more_mb = asked_at_once("text/event-stream", piece, then, **settings)
    assert max(times) < LIMIT_S + 2
    assert more_mb < LIMIT_MB
