"""Memory of replies of the largest size that come at once."""

from __future__ import annotations

import gzip
import json
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
