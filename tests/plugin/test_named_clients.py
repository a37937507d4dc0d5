"""Targets that the settings name as code of the project: clients and headers."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# pytester forgets every module that a run inside it was the first to import.
import vcr.stubs.httpx_stubs  # type: ignore[import-untyped]  # noqa: F401

from tests.build.targets import fake_target, http_reply, json_reply
from tests.plugin.own_code import rageval
from tests.plugin.scratch import SERIAL_AND_PARALLEL, Project, case, outcomes

CLIENT = """
CHUNK = {"chunk_id": "c1", "rel_path": "a.md", "heading_path": "# A", "text": "It is so."}

class Engine:
    def ask(self, request):
        return {
            "answer": "It is so [1].", "abstained": False,
            "debug": {"retrieved_chunks": [CHUNK], "latency": {"retrieval_ms": 1}},
        }

def make():
    return Engine()

async def make_later():
    return Engine()
"""
SETTINGS = """
[tool.pytest.ini_options]
filterwarnings = ["error"]
[tool.rageval]
judge = "none"
no_report = true
[tool.rageval.target]
"""


@pytest.fixture
def scratch(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setattr(sys, "path", [*sys.path])
    project.write("conftest.py", "")
    project.write("thresholds.toml", "version = 1\n")
    project.write("src13/__init__.py", "")
    project.write("src13/engine.py", CLIENT)
    project.cases([case("ok-1", "hit one"), case("ok-2", "hit two")])
    monkeypatch.chdir(project.path)
    yield project
    for name in [name for name in sys.modules if name.partition(".")[0] == "src13"]:
        del sys.modules[name]


def named(project: Project, **target: str) -> None:
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in target.items())
    project.write("pyproject.toml", SETTINGS + lines)


@SERIAL_AND_PARALLEL
def test_a_client_that_the_settings_name_is_asked(
    scratch: Project, workers: tuple[str, ...]
) -> None:
    named(scratch, client="src13.engine:make_later")
    result = scratch.run(*workers)
    assert result.ret == 0
    assert outcomes(result)["passed"] == 2
    result.stdout.fnmatch_lines(["*target client src13.engine:make_later*"])
    assert scratch.stored("config.json")["asked"] == ["client src13.engine:make_later"]


def test_an_address_on_the_command_line_goes_before_a_named_client(scratch: Project) -> None:
    named(scratch, client="src13.engine:make")
    with fake_target(json_reply({"answer": "a"})) as target:
        scratch.run("--rag-url", target.url)
    assert len(target.received) == 2


@pytest.mark.parametrize(
    ("lines", "message", "place"),
    [
        ("\n\nraise LookupError('no index')\n", "LookupError: no index", "src13/broken.py:3"),
        ("def make():\n    return open('no-file')\n", "FileNotFoundError: ", "src13/broken.py:2"),
        ("import no_such_13\n", "ModuleNotFoundError: No module", "src13/broken.py:1"),
    ],
)
def test_what_the_code_of_a_client_raises_is_shown_with_its_place(
    scratch: Project, capsys: pytest.CaptureFixture[str], lines: str, message: str, place: str
) -> None:
    scratch.write("src13/broken.py", lines)
    named(scratch, client="src13.broken:make")
    result = scratch.run()
    assert result.ret == 1
    error = scratch.records()["ok-1"]["error"]
    assert error["kind"] == "fixture"
    assert error["message"].startswith(message)
    assert place in error["traceback"]
    assert place in result.stdout.str()
    for command in (["label", "--web", "evals/eval_set.jsonl"], ["check", "--target"]):
        code, said = rageval(capsys, *command)
        assert code == 2
        text = " ".join(said.split())
        assert f"[tool.rageval.target] client: {message}" in text
        assert place in text
    assert place in rageval(capsys, "doctor", "--probe-chars", "0")[1]


def test_what_the_close_of_a_client_raises_is_one_error_with_its_place(scratch: Project) -> None:
    scratch.write(
        "src13/closing.py",
        "from src13.engine import Engine\n"
        "class Closing(Engine):\n"
        "    async def aclose(self):\n"
        "        raise RuntimeError('no loop')\n",
    )
    named(scratch, client="src13.closing:Closing")
    # The installed command, which unlike ``python -m`` does not import from the folder.
    done = scratch.pytester.run(Path(sys.executable).with_name("rageval"), "ask", "hit one")
    assert done.ret == 2
    done.stdout.fnmatch_lines(["answer *It is so*"])
    assert done.stderr.lines[0] == "[tool.rageval.target] client: RuntimeError: no loop"
    assert done.stderr.lines[1].startswith("src13/closing.py:4: in aclose")
    assert "Traceback" not in done.stderr.str()


def test_commands_ask_a_named_client_as_pytest_does(
    scratch: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    named(scratch, client="src13.engine:make")
    said = rageval(capsys, "doctor", "--probe-chars", "0")[1]
    assert re.search("ok .* asked: client src13.engine:make, by case ok-1", said)
    assert re.search("ok .* target reachable: answered in ", said)
    code, said = rageval(capsys, "check", "--target")
    assert (code, "not-in-index" in said) == (0, False)
    scratch.cases([case("x", "q", gold_supports=[{"rel_path": "b.md"}])])
    assert "'b.md' was not retrieved by its own words" in rageval(capsys, "check", "--target")[1]
    (scratch.path / "evals" / "eval_set.jsonl").unlink()
    said = rageval(capsys, "doctor", "--probe-chars", "0")[1]
    assert re.search("ok .* target reachable: answered in ", said)


def test_what_a_function_of_headers_raises_names_its_place_in_every_command(
    scratch: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    scratch.write("src13/broken.py", "def headers():\n    raise LookupError('no login')\n")
    scratch.cases([case("x", "q", gold_supports=[{"rel_path": "b.md"}])])
    named(scratch, url="http://127.0.0.1:9", auth="src13.broken:headers")
    told = "target auth: LookupError: no login, at src13/broken.py:2: in headers; fix: change the"
    assert told in " ".join(rageval(capsys, "doctor", "--probe-chars", "0")[1].split())
    for command in (["label", "--web", "evals/eval_set.jsonl"], ["check", "--target"]):
        said = rageval(capsys, *command)[1]
        assert "LookupError: no login" in said
        assert "src13/broken.py:2" in said


AUTH = """
import json, httpx
n = 0

def headers():
    global n
    n += 1
    reply = httpx.post("URL/token", json={"client_secret": "cl1ent-s3cret"}).json()
    return {"Authorization": "Bearer " + reply["token"]}, 3600
"""


def test_the_token_of_a_function_is_in_no_file_of_a_run_or_its_cassettes(
    scratch: Project,
) -> None:
    token = "tok-9c1e2b8d6f3a"
    chunk = {"rel_path": "a.md", "text": f"It is so, {token}."}
    reply = json_reply({"answer": f"So, {token}.", "debug": {"retrieved_chunks": [chunk]}})
    replies = [json_reply({"token": token}), http_reply(b"", "401 Unauthorized")]
    with fake_target(*replies, replies[0], reply) as target:
        scratch.write("src13/auth.py", AUTH.replace("URL", target.url))
        named(scratch, url=target.url, path="/ask", auth="src13.auth:headers")
        recorded = scratch.run("--record-mode=once")
    assert recorded.ret == 0
    lines = [one.line.split()[1] for one in target.received]
    assert lines == ["/token", "/ask", "/token", "/ask", "/ask"]
    assert target.received[-1].headers["authorization"] == f"Bearer {token}"
    replayed = scratch.run("--record-mode=none", "--block-network")
    assert replayed.ret == 0
    files = [path for path in scratch.path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".yaml" for path in files)
    for path in files:
        text = path.read_bytes()
        assert token.encode() not in text, path
        assert b"cl1ent-s3cret" not in text or path.name == "auth.py" or path.suffix == ".pyc", path
    for run in (recorded, replayed):
        assert token not in run.stdout.str() + run.stderr.str()
