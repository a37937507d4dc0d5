"""Permission tests end to end: two users, and a server that shows one what is the other's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pytest_rageval.cli.main import run as rageval
from tests.build.http_server import Handler, serving
from tests.plugin.scratch import Project, case

SETTINGS = """
[tool.rageval]
no_report = true
[tool.rageval.target]
headers = { X-User = "{case.metadata.user}" }
"""
LIMITS = 'version = 1\n[overall]\nleak_rate = "<= 0"\n'
QUESTION = "What does a driver earn?"
DOCUMENTS = {
    "hr/salaries.md": ({"hr"}, "A driver earns 3,100 euros a month."),
    "team/rota.md": ({"ana", "hr"}, "The rota says who drives when."),
    "team/parking.md": ({"ana", "hr"}, "Drivers park behind the hall."),
}
CASES = [
    case(
        "salaries_ana",
        QUESTION,
        answerable=False,
        metadata={"user": "ana"},
        irrelevant_supports=[{"rel_path": "hr/salaries.md"}],
    ),
    case(
        "salaries_hr",
        QUESTION,
        metadata={"user": "hr"},
        gold_supports=[{"rel_path": "hr/salaries.md"}],
        expected_key_facts=["3,100 euros"],
    ),
]


@contextmanager
def tenants(*, leaks: bool) -> Iterator[tuple[str, list[str]]]:
    """Serve the documents that a user may see; one that leaks adds the others, far below."""
    users: list[str] = []

    class Tenants(Handler):
        def do_POST(self) -> None:
            self.body()
            users.append(self.headers["X-User"])
            self.send_json(answer(users[-1], leaks=leaks))

    with serving(Tenants) as url:
        yield url, users


def answer(user: str, *, leaks: bool) -> dict[str, Any]:
    allowed = [path for path, (readers, _) in DOCUMENTS.items() if user in readers]
    others = [path for path in DOCUMENTS if path not in allowed] if leaks else []
    chunks = [
        {"rel_path": path, "chunk_id": f"{path}#0", "text": DOCUMENTS[path][1]}
        for path in [*allowed, *others]
    ]
    known = "hr/salaries.md" in allowed
    return {
        "answer": f"{DOCUMENTS['hr/salaries.md'][1]} [1]" if known else "I do not know.",
        "abstained": not known,
        "debug": {"retrieved_chunks": chunks},
    }


@pytest.fixture
def asking(project: Project) -> Project:
    project.write("pyproject.toml", SETTINGS)
    project.write("conftest.py", "")
    project.write("thresholds.toml", LIMITS)
    project.cases(CASES)
    return project


@pytest.mark.parametrize(
    ("k", "workers"), [("1", ()), pytest.param("5", ("-n", "2"), marks=pytest.mark.slow)]
)
def test_a_leak_fails_the_gate_and_explain_names_chunk_document_and_user(
    asking: Project,
    k: str,
    workers: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with tenants(leaks=True) as (url, users):
        result = asking.run("--rag-url", url, "--rag-k", k, "--rageval-run-id", "one", *workers)
    assert sorted(users) == ["ana", "hr"]
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*leak_rate*1.000*above max 0.000*"])
    monkeypatch.chdir(asking.path)
    assert rageval(["explain", "one", "salaries_ana", "--all"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "the user ana must not see rank 3: hr/salaries.md (chunk hr/salaries.md#0)" in shown
    assert "A user was shown hr/salaries.md, which they must not see" in shown


def test_a_server_that_keeps_to_the_rights_passes(asking: Project) -> None:
    with tenants(leaks=False) as (url, _):
        result = asking.run("--rag-url", url)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*2 passed*"])


def test_a_target_that_reports_no_chunks_does_not_pass(asking: Project) -> None:
    asking.write("conftest.py", CLIENT)
    result = asking.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*leak_rate*no data*"])


CLIENT = """
import pytest

@pytest.fixture(scope="session")
def rag_client():
    return lambda request: {"answer": "I do not know.", "abstained": True}
"""
