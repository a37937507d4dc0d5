"""Which target a session names as asked, and what of it a session leaves behind."""

from __future__ import annotations

import threading

import pytest

from tests.plugin.scratch import CONFTEST, Project, outcomes

URL = ("--rag-url", "http://127.0.0.1:9")


def told_of_target(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if line.startswith("rageval: ")][1:]


def test_a_fixture_that_takes_the_place_of_the_configured_target_is_named(
    project: Project,
) -> None:
    assert told_of_target(project.run("-k", "ok-1 or ok-2", *URL)) == [
        "rageval: 2 cases ask the rag_client fixture of conftest.py, not the configured",
    ]


def loop_threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "rageval-loop"]


ASYNC = (
    CONFTEST
    + """
@pytest.fixture(scope="session")
async def rag_client():
    async def ask(request):
        return reply(request.question)
    yield ask
"""
)


def test_a_session_leaves_no_thread_of_its_loop(project: Project) -> None:
    project.write("conftest.py", ASYNC)
    for _ in range(2):
        result = project.run("-W", "error")
        assert outcomes(result)["passed"] >= 3
        assert loop_threads() == []


LEFTOVER = """
import os
import threading

def pytest_unconfigure(config):
    names = [t.name for t in threading.enumerate()]
    with open(f"threads-{os.getpid()}", "w", encoding="utf-8") as out:
        out.write(" ".join(names))
"""


@pytest.mark.slow
def test_workers_end_the_thread_of_their_loop_too(project: Project) -> None:
    # Hooks of conftest files run before those of installed plugins unless they are last.
    hook = LEFTOVER.replace("def pytest_un", "@pytest.hookimpl(trylast=True)\ndef pytest_un")
    project.write("conftest.py", ASYNC + hook)
    assert project.run_apart("-n", "2").ret == 0
    found = [p.read_text(encoding="utf-8") for p in project.path.glob("threads-*")]
    assert len(found) == 3
    assert not any("rageval-loop" in names for names in found)


def test_header_summary_and_config_tell_the_target_that_was_asked(project: Project) -> None:
    result = project.run("-k", "ok-1", *URL)
    lines = " ".join(line.strip() for line in result.outlines)
    assert "rageval: 4 cases, configured target http://127.0.0.1:9/api/v1/ask, k 5" in lines
    note = (
        "the cases asked the rag_client fixture of conftest.py, not http://127.0.0.1:9/api/v1/ask"
    )
    assert note in lines
    assert project.stored("config.json")["asked"] == ["the rag_client fixture of conftest.py"]
