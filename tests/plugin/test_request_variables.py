"""Cases that say who asks: what is sent with them, and runs that notice a change of it."""

from __future__ import annotations

import pytest

from tests.build.targets import fake_target, json_reply
from tests.plugin.scratch import SERIAL_AND_PARALLEL, Project, case

SETTINGS = """
[tool.rageval]
judge = "none"
no_report = true
[tool.rageval.target]
headers = { X-User = "{case.metadata.user}", X-Run = "{run_id}", X-Id = "{uuid}" }
"""
CHUNK = {"rel_path": "a.md", "heading_path": "# A", "text": "It is so."}
GOOD = json_reply({"answer": "It is so.", "debug": {"retrieved_chunks": [CHUNK]}})


def cases(*users: str) -> list[dict[str, object]]:
    return [case(f"c{n}", f"Question {n}?", metadata={"user": u}) for n, u in enumerate(users)]


@pytest.fixture
def asking(project: Project) -> Project:
    project.write("pyproject.toml", SETTINGS)
    project.write("conftest.py", "")
    project.write("thresholds.toml", "version = 1\n")
    return project


@SERIAL_AND_PARALLEL
def test_each_request_says_who_asks_and_in_which_run(
    asking: Project, workers: tuple[str, ...]
) -> None:
    asking.cases(cases("ann", "bob"))
    with fake_target(GOOD) as target:
        asking.run("--rag-url", target.url, "--rageval-run-id", "one", *workers)
        asking.run("--rag-url", target.url, "--rageval-repeats", "2")
    received = [one.headers for one in target.received]
    assert sorted(one["x-user"] for one in received[:2]) == ["ann", "bob"]
    assert {one["x-run"] for one in received[:2]} == {"one"}
    (other,) = {one["x-run"] for one in received[2:]}
    assert other in {folder.name for folder in asking.run_folders()} - {"one"}
    assert len({one["x-id"] for one in received}) == 6


def test_a_case_without_the_value_is_an_error_that_names_both(asking: Project) -> None:
    asking.cases([*cases("ann"), case("anyone", "Who?")])
    with fake_target(GOOD) as target:
        result = asking.run("--rag-url", target.url)
    assert len(target.received) == 1
    shown = " ".join(line.strip() for line in result.outlines)
    assert "headers.X-User: {case.metadata.user} has no value" in shown
    assert "case anyone" in shown
