"""The judge against llama.cpp's own server, which enforces a JSON schema by a grammar.

Needs llama-cpp-python with its server: in this environment, or in the one whose interpreter
``RAGEVAL_LLAMA_PYTHON`` names.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_rageval.values.settings import JudgeSettings
from pytest_rageval.values.verdict import JudgeRequest, Passage
from tests.judges.model.conftest import DictCache, model_judge
from tests.llama.make_tiny_model import CONTEXT, write_model

pytestmark = pytest.mark.slow

START_S = 120.0
REQUEST = JudgeRequest(
    question="How long are logs kept?",
    answer="Logs are kept for 30 days [1].",
    context=(Passage(text="Logs are kept for 30 days.", rel_path="ops.md"),),
    expected_key_facts=("30 days",),
)


@pytest.fixture(scope="module")
def llama_python() -> str:
    python = os.environ.get("RAGEVAL_LLAMA_PYTHON", sys.executable)
    code = "import llama_cpp.server.app, uvicorn"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=120)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["it does not start"])[-1]
        pytest.skip(f"llama-cpp-python[server] is not importable by {python}: {reason}")
    return python


@pytest.fixture(scope="module")
def llama_url(llama_python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("llama")
    write_model(folder / "tiny.gguf")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [llama_python, "-m", "llama_cpp.server", "--model", str(folder / "tiny.gguf")]
    options = {"host": "127.0.0.1", "port": port, "n_ctx": CONTEXT, "n_threads": 1}
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    with (
        open(folder / "server.log", "w", encoding="utf-8") as log,
        subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT) as server,
    ):
        try:
            _wait_for(f"http://127.0.0.1:{port}/v1/models", server, folder / "server.log")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    tail = log.read_text(encoding="utf-8", errors="replace")[-2000:]
    pytest.fail(f"llama.cpp's server did not start:\n{tail}")


@pytest.mark.parametrize("rubric", ["groundedness", "correctness", "abstention"])
def test_a_model_that_knows_nothing_gives_valid_verdicts_under_a_schema(
    llama_url: str, rubric: str
) -> None:
    settings = JudgeSettings(base_url=llama_url, max_tokens=8192, timeout_s=300.0, retries=0)
    with model_judge("tiny-random", settings, environ={}, cache=DictCache()) as judge:
        judgement = judge.judge(rubric, REQUEST)
        again = judge.judge(rubric, REQUEST)
    assert judgement.failure is None
    assert judgement.verdict is not None
    # Its server knows no json_schema type, but enforces a schema that comes with json_object.
    assert judgement.level in {"json_schema", "json_object"}
    assert not judgement.repaired
    assert judgement.usage.tokens_reported
    assert judgement.usage.prompt_tokens > 100
    assert again.usage.cached
    assert again.verdict == judgement.verdict
