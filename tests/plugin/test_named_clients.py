"""Targets that the settings name as code of the project: clients and headers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

# pytester forgets every module that a run inside it was the first to import.
import vcr.stubs.httpx_stubs  # type: ignore[import-untyped]  # noqa: F401

from tests.build.targets import fake_target, http_reply, json_reply
from tests.plugin.scratch import Project, case, outcomes

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


def run_command(project: Project, *words: str) -> pytest.RunResult:
    """Run the installed command, which unlike ``python -m`` does not import from the folder."""
    return project.pytester.run(Path(sys.executable).with_name("rageval"), *words)


@pytest.fixture
def scratch(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    project.write("conftest.py", "")
    project.write("thresholds.toml", "version = 1\n")
    project.write("src13/__init__.py", "")
    project.write("src13/engine.py", CLIENT)
    project.cases([case("ok-1", "hit one"), case("ok-2", "hit two")])
    monkeypatch.chdir(project.path)
    return project


def named(project: Project, **target: str) -> None:
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in target.items())
    project.write("pyproject.toml", SETTINGS + lines)


def test_a_client_that_the_settings_name_is_asked(scratch: Project) -> None:
    named(scratch, client="src13.engine:make_later")
    result = scratch.run_apart()
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
    ("code", "message", "place"),
    [
        ("\n\nraise LookupError('no index')\n", "LookupError: no index", "src13/broken.py:3"),
        ("def make():\n    return open('no-file')\n", "FileNotFoundError: ", "src13/broken.py:2"),
        ("import no_such_13\n", "ModuleNotFoundError: No module", "src13/broken.py:1"),
    ],
)
def test_what_the_code_of_a_client_raises_is_shown_with_its_place(
    scratch: Project, code: str, message: str, place: str
) -> None:
    scratch.write("src13/broken.py", code)
    named(scratch, client="src13.broken:make")
    result = scratch.run()
    assert result.ret == 1
    error = scratch.records()["ok-1"]["error"]
    assert error["kind"] == "fixture"
    assert error["message"].startswith(message)
    assert place in error["traceback"]
    assert place in result.stdout.str()


def test_every_command_shows_what_the_code_of_a_client_raises(scratch: Project) -> None:
    scratch.write("src13/broken.py", "\n\nraise LookupError('no index')\n")
    place = "src13/broken.py:3"
    named(scratch, client="src13.broken:make")
    for command in (["label", "--web", "evals/eval_set.jsonl"], ["check", "--target"]):
        done = run_command(scratch, *command)
        assert done.ret == 2
        text = " ".join(done.stderr.str().split())
        assert "[tool.rageval.target] client: LookupError: no index" in text
        assert place in text
    done = run_command(scratch, "doctor", "--probe-chars", "0")
    assert place in done.stdout.str()


def test_what_the_close_of_a_client_raises_is_one_error_with_its_place(scratch: Project) -> None:
    scratch.write(
        "src13/closing.py",
        "from src13.engine import Engine\n"
        "class Closing(Engine):\n"
        "    async def aclose(self):\n"
        "        raise RuntimeError('no loop')\n",
    )
    named(scratch, client="src13.closing:Closing")
    done = run_command(scratch, "ask", "hit one")
    assert done.ret == 2
    done.stdout.fnmatch_lines(["answer *It is so*"])
    assert done.stderr.lines[0] == "[tool.rageval.target] client: RuntimeError: no loop"
    assert done.stderr.lines[1].startswith("src13/closing.py:4: in aclose")
    assert "Traceback" not in done.stderr.str()


def test_commands_ask_a_named_client_as_pytest_does(scratch: Project) -> None:
    named(scratch, client="src13.engine:make")
    done = run_command(scratch, "doctor", "--probe-chars", "0")
    done.stdout.fnmatch_lines(["ok * asked: client src13.engine:make, by case ok-1*"])
    done.stdout.fnmatch_lines(["ok * target reachable: answered in *"])
    done = run_command(scratch, "check", "--target")
    assert (done.ret, "not-in-index" in done.stderr.str()) == (0, False)
    scratch.cases([case("x", "q", gold_supports=[{"rel_path": "b.md"}])])
    done = run_command(scratch, "check", "--target")
    assert "'b.md' was not retrieved by its own words" in done.stderr.str()
    (scratch.path / "evals" / "eval_set.jsonl").unlink()
    done = run_command(scratch, "doctor", "--probe-chars", "0")
    done.stdout.fnmatch_lines(["ok * target reachable: answered in *"])


def test_what_a_function_of_headers_raises_names_its_place_in_every_command(
    scratch: Project,
) -> None:
    scratch.write("src13/broken.py", "def headers():\n    raise LookupError('no login')\n")
    scratch.cases([case("x", "q", gold_supports=[{"rel_path": "b.md"}])])
    named(scratch, url="http://127.0.0.1:9", auth="src13.broken:headers")
    done = run_command(scratch, "doctor", "--probe-chars", "0")
    out = " ".join(done.stdout.str().split())
    said = "target auth: LookupError: no login, at src13/broken.py:2: in headers; fix: change the"
    assert said in out
    for command in (["label", "--web", "evals/eval_set.jsonl"], ["check", "--target"]):
        done = run_command(scratch, *command)
        assert "LookupError: no login" in done.stderr.str()
        assert "src13/broken.py:2" in done.stderr.str()


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
        recorded = scratch.run_apart("--record-mode=once")
    assert recorded.ret == 0
    lines = [one.line.split()[1] for one in target.received]
    assert lines == ["/token", "/ask", "/token", "/ask", "/ask"]
    assert target.received[-1].headers["authorization"] == f"Bearer {token}"
    replayed = scratch.run_apart("--record-mode=none", "--block-network")
    assert replayed.ret == 0
    files = [path for path in scratch.path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".yaml" for path in files)
    for path in files:
        text = path.read_bytes()
        assert token.encode() not in text, path
        assert b"cl1ent-s3cret" not in text or path.name == "auth.py" or path.suffix == ".pyc", path
    for run in (recorded, replayed):
        assert token not in run.stdout.str() + run.stderr.str()
