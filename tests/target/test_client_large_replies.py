"""Memory and time of replies of the largest size that come at once."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys

import pytest

from tests.build.targets import fake_target, http_reply

LIMIT_MB = 150
AT_ONCE = 8
WIDE = "\U0001f600"
"""A character that makes all others of its text take four bytes."""
ASKING = """
import json, sys, threading
from pathlib import Path
from pytest_rageval.engine.endpoint import EndpointClient, ModelEndpoint
from pytest_rageval.judges.model.endpoint import ChatEndpoint
from pytest_rageval.support.slots import Turns
from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.values.errors import EndpointError
from pytest_rageval.values.reply import AskRequest
from pytest_rageval.values.settings import JudgeSettings, TargetSettings

kind, url, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
target = HttpRagClient(TargetSettings(url=url, timeout_s=60.0))
judge = ChatEndpoint("m", JudgeSettings(base_url=url, timeout_s=60.0), needs_key=False)
vectors = EndpointClient(ModelEndpoint(url=url, model="m"), "embeddings", ("--url", "--key"))
turns, gate = Turns(), threading.Barrier(n)

def peak_mb():
    line = next(one for one in open("/proc/self/status") if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1024

def ask():
    gate.wait()
    with turns.computing():
        if kind == "target":
            target.ask_result(AskRequest(question="q"))
        elif kind == "judge":
            judge.ask(b"{}", 1)
        else:
            with vectors.connect() as http:
                vectors.post(http, {})

before = peak_mb()
threads = [threading.Thread(target=ask) for _ in range(n)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(peak_mb() - before)
"""


def large(size: int) -> bytes:
    document = {"answer": "x" * size + WIDE, "data": []}
    return json.dumps(document, ensure_ascii=False).encode()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
@pytest.mark.parametrize("kind", ["target", "judge", "embeddings"])
@pytest.mark.parametrize("coding", ["", "gzip"])
def test_replies_in_flight_take_a_bounded_part_of_memory_together(kind: str, coding: str) -> None:
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


# --- time ---------------------------------------------------------------------------------------

LIMIT_S = 2.0
FLOOD = """
import os, socket, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from pytest_rageval.support.slots import Turns
from pytest_rageval.target.client import HttpRagClient
from pytest_rageval.values.reply import AskRequest
from pytest_rageval.values.settings import TargetSettings

head, piece, then = sys.argv[1].encode(), sys.argv[2].encode(), sys.argv[3]
n, limit_s = int(sys.argv[4]), float(sys.argv[5])
server = socket.create_server(("127.0.0.1", 0))
url = f"http://127.0.0.1:{server.getsockname()[1]}"

def reply(connection):
    try:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Type: " + head + b"\\r\\n\\r\\n")
        block = piece * (65536 // len(piece))
        for _ in range(15 * 16 if then == "hang" else 10**9):
            connection.sendall(block)
        time.sleep(60)
    except OSError:
        pass

def serve():
    while True:
        threading.Thread(target=reply, args=(server.accept()[0],), daemon=True).start()

stream = "sse" if "event-stream" in sys.argv[1] else "off"
target = HttpRagClient(TargetSettings(url=url, stream=stream, timeout_s=limit_s, retries=0))
turns = Turns()

def ask(_):
    with turns.computing():
        began = time.monotonic()
        result = target.ask_result(AskRequest(question="q"))
        return time.monotonic() - began, result.error.message

if not (flood := os.fork()):
    serve()
try:
    with ThreadPoolExecutor(n) as pool:
        found = list(pool.map(ask, range(n)))
finally:
    os.kill(flood, 9)
print(max(took for took, _ in found))
print(*(said for _, said in found), sep="\\n")
"""


def asked_at_once(content_type: str, piece: str, then: str, n: int) -> tuple[float, list[str]]:
    """Ask a server that sends a piece again and again; return the longest time and all errors."""
    done = subprocess.run(
        [sys.executable, "-c", FLOOD, content_type, piece, then, str(n), str(LIMIT_S)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    longest, *errors = done.stdout.splitlines()
    return float(longest), errors


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the server is a fork of the client")
@pytest.mark.parametrize("piece", ["data:\n\n", "data:{}\n\n", "\n", "x\n", ":\n"])
def test_streams_that_only_cost_time_end_together_with_the_limit(piece: str) -> None:
    # Each of the eight would take a second or two of computing. A quiet machine needs at most half
    # a second more than the limit.
    longest, errors = asked_at_once("text/event-stream", piece, "go on", AT_ONCE)
    assert len(errors) == AT_ONCE
    assert longest < LIMIT_S + 2


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the server is a fork of the client")
def test_large_replies_that_stand_still_end_together_with_the_limit() -> None:
    longest, errors = asked_at_once("application/json", " ", "hang", 4)
    assert longest < LIMIT_S + 2
    assert all("no complete reply within 2 s" in error for error in errors)
    assert any("took all room in memory: lower concurrency" in error for error in errors)
