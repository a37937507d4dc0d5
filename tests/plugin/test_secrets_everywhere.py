"""A canary in every place where a secret can enter, looked for in every file and every output.

The server repeats all of them in every reply: answers, chunks, verdicts, errors, headers, reasons.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from pytest_rageval.cli.main import run as rageval
from tests.build.hostile_server import HostileServer, hostile_server
from tests.build.targets import Received, http_reply
from tests.plugin.scratch import Project, case

pytestmark = pytest.mark.slow

CANARIES = {
    name: f"c4nary{name.lower().replace('_', '')}x9z7q5"
    for name in (
        "RAG_HEADER", "RAG_TOKEN", "RAG_COOKIE", "RAG_BODY_KEY", "QUERY", "JUDGE_KEY", "EMBED_KEY",
        "APP_TOKEN", "PROXY_USER", "PROXY_PASSWORD", "DATABASE_PASSWORD",
    )
}  # fmt: skip
PROXY = f"{CANARIES['PROXY_USER']}:{CANARIES['PROXY_PASSWORD']}"
DATABASE = f"postgresql://lead:{CANARIES['DATABASE_PASSWORD']}@127.0.0.1:9/runs"
ECHO = " ".join([*CANARIES.values(), base64.b64encode(PROXY.encode()).decode()])
FORMS = {
    name: {value, base64.b64encode(value.encode()).decode()} for name, value in CANARIES.items()
} | {"proxy": {base64.b64encode(PROXY.encode()).decode()}}
KINDS = ("good", "500", "html", "redirect", "reset", "401", "stream")
SETTINGS = f"""
[tool.rageval.judge]
model = "m-2024-01-01"
base_url = "URL/v1"
api_key_env = "JUDGE_KEY"
retries = 0
[tool.rageval.target]
url = "URL"
path = "/ask?api_key={CANARIES["QUERY"]}"
request = "{{question: question, key: env.RAG_BODY_KEY}}"
retries = 0
[tool.rageval.target.headers]
X-Api-Key = "env:RAG_HEADER"
Authorization = "Bearer env:RAG_TOKEN"
Cookie = "env:RAG_COOKIE"
"""
CLIENT = """
import logging, os, pytest

@pytest.fixture(scope="session")
def rag_client():
    def ask(request):
        token, said = os.environ["APP_TOKEN"], " ".join(os.environ.values())
        if "500" in request.question:
            raise RuntimeError(f"refused {token}: {said}")
        if "html" in request.question:
            return {"error": said}
        return {"answer": said, "debug": {"retrieved_chunks": [{"rel_path": "a.md", "text": said}]}}
    return ask
"""


def echoed(got: Received) -> bytes:
    headers = " ".join(f"{name}: {value}" for name, value in got.headers.items())
    asked = got.body.decode("latin-1")
    said = f"{got.line} {headers} {asked} {ECHO}"
    if "/chat/completions" in got.line:
        verdict = {"claims": [], "key_facts": [], "reasoning": said, "score": 1}
        message = {"role": "assistant", "content": json.dumps(verdict)}
        body = {
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "model": said,
        }
        return http_reply(json.dumps(body).encode())
    if "case-500" in asked or "/embeddings" in got.line:
        return http_reply(json.dumps({"detail": said}).encode(), f"500 {ECHO}")
    if "case-html" in asked:
        return http_reply(f"<html>{said}".encode())
    if "case-redirect" in asked:
        return http_reply(b"", "302 Found", location=f"http://{PROXY}@x.test/{quote(said)}")
    if "case-reset" in asked:
        return b""
    if "case-401" in asked:
        return http_reply(said.encode(), "401 No", set_cookie=ECHO, www_authenticate=ECHO)
    answer = {
        "answer": f"Monthly. {said}",
        "references": [{"rel_path": said}],
        "debug": {
            "retrieved_chunks": [{"rel_path": "a.md", "chunk_id": ECHO, "text": said}],
            "models": {"chat": said},
            "session": said,
        },
    }
    return http_reply(json.dumps(answer).encode(), set_cookie=ECHO, x_request_id=ECHO)


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with hostile_server(echoed) as served:
        yield served


@pytest.fixture
def asking(project: Project, server: HostileServer, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name, value in CANARIES.items():
        if name not in {"QUERY", "PROXY_USER", "PROXY_PASSWORD", "DATABASE_PASSWORD"}:
            monkeypatch.setenv(name, value)
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, f"http://{PROXY}@127.0.0.1:{server.port}")
    monkeypatch.setenv("DATABASE_URL", DATABASE)
    project.write("pyproject.toml", SETTINGS.replace("URL", server.url))
    project.write("conftest.py", "")
    project.write("thresholds.toml", "version = 1\n")
    project.cases([case(f"c-{kind}", f"case-{kind} how often?") for kind in KINDS])
    monkeypatch.chdir(project.path)
    return project


def found_in(text: str) -> list[str]:
    """Return the canaries in a text, each with what stands before it."""
    return [
        f"{name}: {text[max(0, match.start() - 80) : match.end()]!r}"
        for name, forms in FORMS.items()
        for form in forms
        for match in [re.search(re.escape(form), text)]
        if match is not None
    ]


def found_on_disk(folder: Path) -> dict[str, list[str]]:
    """Return the canaries by file, in all that is below a folder but the settings themselves."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "pyproject.toml"]
    assert len(files) > 20
    texts = {str(path): path.read_bytes().decode("utf-8", "replace") for path in files}
    return {name: hits for name, text in texts.items() if (hits := found_in(text))}


LOUD = ("-vv", "-rA", "--showlocals", "--tb=long", "--log-cli-level=debug", "--log-level=debug")
SESSIONS = {
    "files": ("--junitxml=o.xml", "--json-report", "--log-file=o.log", "--log-file-level=debug"),
    "recorded": ("--record-mode=once",),
    "workers": ("-n", "2", "--debug"),
}
COMMANDS = (
    "doctor", "check", "explain files c-good", "explain files c-500", "compare files workers",
    "runs list", "runs show files", "runs site -o site", "ask case-500", "ask case-401 --json",
    "ask how --json", "export otlp files -o o.json", "rerank files", "judge files", "gate files",
    f"runs sync --db {DATABASE}", "sweep --quick --dry-run",
    "embeddings files --embeddings-url URL --embeddings-model m --embeddings-api-key-env EMBED_KEY",
)  # fmt: skip


def run_all(
    project: Project,
    url: str,
    capfd: pytest.CaptureFixture[str],
    sessions: Iterable[str] = ("files",),
    commands: Iterable[str] = ("doctor", "explain files c-500", "ask how --json"),
) -> dict[str, list[str]]:
    """Return the canaries in the outputs of sessions and commands, and on the disk."""
    hits = {}
    for name in sessions:
        printed = project.run_apart("--rageval-run-id", name, *LOUD, *SESSIONS[name])
        hits[name] = found_in(f"{printed.stdout.str()}{printed.stderr.str()}")
    capfd.readouterr()
    for command in commands:
        rageval(command.replace("URL", url).split())
        hits[command] = found_in("".join(capfd.readouterr()))
    return {name: found for name, found in hits.items() if found} | found_on_disk(project.path)


def test_no_secret_of_a_target_reaches_an_output_or_a_file(
    asking: Project, server: HostileServer, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_all(asking, server.url, capfd, SESSIONS, COMMANDS) == {}


def test_no_secret_of_a_projects_own_client_reaches_an_output_or_a_file(
    asking: Project, server: HostileServer, capfd: pytest.CaptureFixture[str]
) -> None:
    asking.write("conftest.py", CLIENT)
    assert run_all(asking, server.url, capfd) == {}


def test_a_proxy_that_repeats_its_credentials_is_not_repeated(
    asking: Project, server: HostileServer, capfd: pytest.CaptureFixture[str]
) -> None:
    file = asking.path / "pyproject.toml"
    text = file.read_text("utf-8").replace(f'url = "{server.url}"', 'url = "http://rag.test"')
    file.write_text(text, encoding="utf-8")
    assert run_all(asking, server.url, capfd) == {}
    through = [got for got in server.received if got.line.startswith("POST http://rag.test/ask")]
    assert through
    assert all("proxy-authorization" in got.headers for got in through)
