"""Sets that bring documents: in before the first case, out after the last, and nothing else."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_rageval.target import documents as documents_client
from pytest_rageval.target.documents import DocumentsClient
from pytest_rageval.values.errors import EndpointError
from tests.plugin.document_server import DocumentServer, document_server
from tests.plugin.long_runs import document
from tests.plugin.scratch import SERIAL_AND_PARALLEL, Project

PREFIX = "evals/garden/"
HEAD = {"scope_prefix": PREFIX}
ROSES = {"rel_path": f"{PREFIX}roses.md", "text": "All about roses."}
BEANS = {"rel_path": f"{PREFIX}beans.md", "text": "All about beans."}
URL = "--rag-url"


def case(case_id: str, word: str, path: str) -> dict[str, object]:
    return {"id": case_id, "question": f"What of {word}?", "gold_supports": [{"rel_path": path}]}


@pytest.fixture
def server() -> Iterator[DocumentServer]:
    with document_server() as found:
        found.documents["notes/own.md"] = "what was there before"
        yield found


@pytest.fixture
def garden(project: Project) -> Project:
    project.write("conftest.py", "")
    cases = [case("a", "roses", ROSES["rel_path"]), case("b", "beans", BEANS["rel_path"])]
    project.cases(cases, "garden")
    (project.path / "evals" / "eval_set.jsonl").unlink()
    documents(project, HEAD, ROSES, BEANS)
    return project


def documents(project: Project, *lines: object, name: str = "garden") -> None:
    project.write(f"evals/documents/{name}.jsonl", "\n".join(map(json.dumps, lines)))


@SERIAL_AND_PARALLEL
def test_documents_are_there_before_the_first_case_and_gone_after_the_last(
    garden: Project, server: DocumentServer, workers: tuple[str, ...]
) -> None:
    result = garden.run("evals", URL, server.url, *workers)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            f"rageval: 2 documents of evals/documents/garden.jsonl put below {PREFIX}",
            f"rageval: documents below {PREFIX} are deleted again",
        ]
    )
    assert server.log == [f"PUT {PREFIX} 2", "ASK", f"DELETE {PREFIX}"]
    assert server.documents == {"notes/own.md": "what was there before"}
    assert garden.stored("metrics.json")["metrics"]["recall_at_k"]["mean"] == 1


@pytest.mark.parametrize(
    ("policy", "passes", "cleaned"),
    [
        ("none", True, False),
        ("on-success", True, True),
        ("on-success", False, False),
        ("always", False, True),
    ],
)
def test_the_policy_decides_what_stays(
    garden: Project, server: DocumentServer, policy: str, passes: bool, cleaned: bool
) -> None:
    limit = ">= 0.5" if passes else "<= 0.5"
    garden.write("thresholds.toml", f'[overall]\nrecall_at_k = "{limit}"\n')
    result = garden.run("evals", f"--rageval-cleanup={policy}", URL, server.url)
    assert result.ret == (0 if passes else 1)
    assert (ROSES["rel_path"] not in server.documents) is cleaned
    assert "notes/own.md" in server.documents
    if not cleaned:
        result.stdout.fnmatch_lines([f"rageval: documents stay below {PREFIX} (cleanup {policy}*"])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (({"scope_prefix": ""}, ROSES), '*garden.jsonl:1: scope_prefix: got "", expected*'),
        (({"scope_prefix": "/"}, ROSES), '*garden.jsonl:1: scope_prefix: got "/", expected*'),
        (({"scope_prefix": "notes/"}, ROSES), '*garden.jsonl:1: scope_prefix: got "notes/"*'),
        ((HEAD, {"rel_path": "notes/own.md", "text": "x"}), "*garden.jsonl:2: rel_path:*garden*"),
    ],
)
def test_a_faulty_file_of_documents_ends_the_session_before_anything_is_sent(
    garden: Project, server: DocumentServer, lines: tuple[object, ...], message: str
) -> None:
    documents(garden, *lines)
    result = garden.run("evals", URL, server.url)
    assert result.ret == 2
    result.stdout.fnmatch_lines([message])
    assert server.log == []


def test_a_target_that_takes_no_documents_is_a_usage_error(
    garden: Project, server: DocumentServer
) -> None:
    server.put_status = 405
    result = garden.run("evals", URL, server.url)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*documents of evals/documents/garden.jsonl could not be put in*"])
    # Some may have come in, so they go out again.
    assert server.log == [f"PUT {PREFIX} 2", f"DELETE {PREFIX}"]


def two_sets(garden: Project, *rakes: object) -> None:
    garden.cases([case("c", "rakes", "evals/shed/rakes.md")], "shed")
    documents(garden, {"scope_prefix": "evals/shed/"}, *rakes, name="shed")


@pytest.mark.parametrize(
    "source", [{"file": "missing.md"}, {"file": "../../secret.md"}, {"ref": "no-loader"}]
)
def test_a_text_that_cannot_be_had_leaves_the_target_as_it_is(
    garden: Project, server: DocumentServer, source: dict[str, str]
) -> None:
    server.documents[f"{PREFIX}kept.md"] = "left by an earlier run with --rageval-cleanup none"
    before = dict(server.documents)
    two_sets(garden, {"rel_path": "evals/shed/rakes.md", **source})
    assert garden.run("evals", URL, server.url).ret == 4
    assert (server.log, server.documents) == ([], before)


def lose_after_one_request(server: DocumentServer, monkeypatch: pytest.MonkeyPatch) -> None:
    send = DocumentsClient._send

    def lose(client: DocumentsClient, method: str, body: dict[str, Any]) -> None:
        if method == "PUT" and server.changes:
            raise EndpointError("connection", "nobody is there any more")
        send(client, method, body)

    monkeypatch.setattr(DocumentsClient, "_send", lose)


def test_what_went_in_before_the_target_was_lost_comes_out_again(
    garden: Project, server: DocumentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents_client, "BATCH_DOCUMENTS", 1)
    lose_after_one_request(server, monkeypatch)
    assert garden.run("evals", URL, server.url).ret == 4
    assert server.changes == [f"PUT {PREFIX} 1", f"DELETE {PREFIX}"]


OWN_CLIENT = """
import pytest

@pytest.fixture(scope="session")
def rag_client({argument}):
    texts = {{one.rel_path: one.text for one in {documents}}}
    def ask(request):
        word = request.question.split()[-1].strip("?")
        found = [path for path, text in texts.items() if word in text]
        chunks = [{{"rel_path": path, "heading_path": ""}} for path in found]
        return {{"answer": "So.", "abstained": False, "debug": {{"retrieved_chunks": chunks}}}}
    return ask
"""


@SERIAL_AND_PARALLEL
def test_a_client_of_ones_own_takes_the_documents(
    garden: Project, workers: tuple[str, ...]
) -> None:
    text = OWN_CLIENT.format(argument="rageval_documents", documents="rageval_documents")
    garden.write("conftest.py", text)
    result = garden.run("evals", *workers)
    assert result.ret == 0
    assert garden.stored("metrics.json")["metrics"]["recall_at_k"]["mean"] == 1


@pytest.mark.slow
def test_with_workers_it_fails_its_cases(garden: Project) -> None:
    garden.write("conftest.py", OWN_CLIENT.format(argument="", documents="()"))
    result = garden.run("evals", "-n", "2")
    assert result.ret == 1
    text = " ".join(result.stdout.str().split())
    assert "does not take them: add the argument rageval_documents" in text
    assert "(yield)" not in text  # it is no error of a line of code


def test_a_client_around_the_target_asks_what_was_put_in(
    garden: Project, server: DocumentServer
) -> None:
    garden.write(
        "conftest.py",
        "import pytest\n@pytest.fixture(scope='session')\ndef rag_client(rag_client):\n"
        "    return rag_client\n",
    )
    assert garden.run("evals", URL, server.url).ret == 0
    assert server.changes == [f"PUT {PREFIX} 2", f"DELETE {PREFIX}"]


def test_texts_come_from_the_loader_of_the_project(garden: Project, server: DocumentServer) -> None:
    documents(garden, HEAD, {"rel_path": ROSES["rel_path"], "ref": "roses"}, BEANS)
    garden.write("my_garden_texts.py", "def load(ref):\n    return f'All about {ref}.'\n")
    result = garden.run("evals", URL, server.url)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*roses.md*loader = *"])
    text = (garden.path / "pyproject.toml").read_text(encoding="utf-8")
    loader = 'loader = "my_garden_texts:load"'
    garden.write("pyproject.toml", f"{text}\n[tool.rageval.documents]\n{loader}\n")
    assert garden.run("evals", URL, server.url).ret == 0


INTERRUPTED = """
import os, signal, time, pytest

@pytest.fixture(scope="session")
def rag_client(rag_client):
    def ask(request):
        open("asked", "w").close()
        time.sleep(30)
    return ask
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "cleaned", "ended_by"),
    [("always", True, signal.SIGTERM), ("on-success", False, signal.SIGINT)],
)
def test_an_interrupted_session_keeps_to_the_policy(
    garden: Project,
    server: DocumentServer,
    policy: str,
    cleaned: bool,
    ended_by: signal.Signals,
) -> None:
    done, output = interrupt(garden, server, ended_by, f"--rageval-cleanup={policy}")
    assert done == 2, output
    assert (ROSES["rel_path"] not in server.documents) is cleaned
    assert "notes/own.md" in server.documents


@pytest.mark.slow
def test_a_controller_that_is_terminated_takes_the_documents_out(
    garden: Project, server: DocumentServer
) -> None:
    done, output = interrupt(garden, server, signal.SIGTERM, "-n", "2")
    assert done == 2, output
    assert server.changes == [f"PUT {PREFIX} 2", f"DELETE {PREFIX}"]


def interrupt(
    garden: Project, server: DocumentServer, ended_by: signal.Signals, *arguments: str
) -> tuple[int, str]:
    """Send a signal to a session while a case is asked; return its exit code and what it said."""
    garden.write("conftest.py", INTERRUPTED)
    command = [
        sys.executable, "-m", "pytest", "evals", "-q", "--rageval-concurrency=1",
        "--rag-url", server.url, *arguments,
    ]  # fmt: skip
    done = subprocess.Popen(
        command, cwd=garden.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        deadline = time.monotonic() + 60
        while not (garden.path / "asked").exists():
            assert time.monotonic() < deadline
            assert done.poll() is None
            time.sleep(0.05)
        done.send_signal(ended_by)
        output, _ = done.communicate(timeout=60)
    finally:
        done.kill()
        done.wait()
    return done.returncode, output


def test_cassettes_hold_answers_from_documents_and_replay_puts_none_in(garden: Project) -> None:
    garden.write("evals/vault/other.md", "# Other\n\nSomething about tea.\n")
    text = (garden.path / "pyproject.toml").read_text(encoding="utf-8")
    garden.write(
        "pyproject.toml", text.replace("retries = 0", 'retries = 0\nvault = "evals/vault"')
    )
    recorded = garden.run("evals", "--record-mode=once", "--rageval-run-id=first")
    assert recorded.ret == 0
    recorded.stdout.fnmatch_lines([f"rageval: 2 documents of *garden.jsonl put below {PREFIX}"])
    (garden.path / "evals" / "documents" / "garden.jsonl").write_text(
        json.dumps(HEAD), encoding="utf-8"
    )
    replayed = garden.run("evals", "--record-mode=none", "--rageval-run-id=second")
    assert replayed.ret == 0
    assert "documents of" not in replayed.stdout.str()
    for name in ("first", "second"):
        assert document(garden.folder(name))["metrics"]["recall_at_k"]["mean"] == 1
