"""The target as pytest builds it: `rageval doctor` in projects with clients of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.authoring.doctor.findings import Finding
from pytest_rageval.authoring.doctor.project import check_through_pytest
from pytest_rageval.project.case_reader import load_cases
from pytest_rageval.project.settings import load_settings
from tests.plugin.rag_server import rag_server

CASE = {
    "id": "refunds_001",
    "question": "How long does a refund take?",
    "gold_supports": [{"rel_path": "refunds.md", "heading_path": "# Refunds > ## Timing"}],
}
CLIENT = """
import pytest

CHUNK = {"chunk_id": "c1", "rel_path": "refunds.md", "heading_path": "Timing", "text": "A week."}

def answer(request):
    with open("asked.txt", "a") as file:
        print(request.question, file=file)
    return {"answer": "A week.", "abstained": False, "references": [],
            "debug": {"retrieved_chunks": [CHUNK], "latency": {"retrieval_ms": 1}}}

@pytest.fixture(scope="session")
def rag_client():
    return answer
"""

MEETING = (
    CLIENT.split("def answer")[0]
    + """
import threading
changed, asked, inside, peak = threading.Condition(), 0, 0, 0

@pytest.fixture(scope="session")
def rag_client():
    def ask(request):
        global asked, inside, peak
        with changed:
            asked, inside, peak = asked + 1, inside + 1, max(peak, inside + 1)
            changed.notify_all()
            # After the two that are compared, which are asked alone, a request waits for others;
            # the time limit decides that none come.
            changed.wait_for(lambda: asked <= 2 or peak == 3, timeout={patience_s})
            inside -= 1
        with open("peak.txt", "w") as file:
            file.write(str(peak))
        return {"answer": "A week.", "debug": {"retrieved_chunks": [CHUNK]}}
    return ask
"""
)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "evals").mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def doctor(
    conftest: str, *, cases: list[dict[str, Any]] | None = None, question: str | None = None
) -> list[Finding]:
    Path("evals/conftest.py").write_text(conftest, encoding="utf-8")
    text = "".join(f"{json.dumps(case)}\n" for case in cases or [CASE])
    Path("evals/set.jsonl").write_text(text, encoding="utf-8")
    settings = load_settings(Path.cwd(), flags={}, environ={})
    return list(check_through_pytest([load_cases(Path("evals/set.jsonl"))], {}, question, settings))


def failures(found: list[Finding]) -> dict[str, str]:
    return {one.check: one.message for one in found if one.level == "FAIL"}


OTHERS = """
READY = []

@pytest.fixture(autouse=True)
def ready():
    READY.append(1)

@pytest.fixture
def judge():
    raise RuntimeError("no judge here")

@pytest.fixture(params=["old", "new"])
def rag_client():
    assert READY
    return answer
"""


def test_every_client_of_a_conftest_file_is_asked_and_nothing_is_stored(project: Path) -> None:
    found = doctor(CLIENT + OTHERS)
    assert [one.message for one in found if one.check == "asked"] == [
        f"the rag_client fixture of evals/conftest.py[{name}], by case refunds_001 of "
        "evals/set.jsonl"
        for name in ("old", "new")
    ]
    assert {"reachable", "same twice"} <= {one.check for one in found if one.level == "ok"}
    made = {path.name for path in (*project.iterdir(), *(project / "evals").iterdir())}
    assert made - {"__pycache__"} == {
        "asked.txt", "conftest.py", "evals", "pyproject.toml", "set.jsonl",
    }  # fmt: skip
    failed = failures(found)
    assert "rag_client" not in failed
    message = failed["golds"]
    assert "refunds_001 gold_supports[0].heading_path: no chunk of refunds.md lies at" in message
    assert "did you mean 'Timing'?" in message
    fix = next(one.fix for one in found if one.check == "golds")
    assert "`rageval check --target`, or with --rag-url URL, looks up all cases" in fix


@pytest.mark.parametrize(("scope", "peak"), [("function", 1), ("session", 3)])
def test_golds_are_looked_up_one_by_one_as_the_run_asks_a_client_of_one_case(
    project: Path, scope: str, peak: int
) -> None:
    golds = [{"rel_path": f"{name}.md"} for name in "abc"]
    meeting = MEETING.replace("session", scope)
    meeting = meeting.replace("{patience_s}", "0.5" if peak == 1 else "60")
    doctor(meeting, cases=[{**CASE, "gold_supports": golds}])
    assert int((project / "peak.txt").read_text()) == peak


def test_a_client_that_raises_is_shown_with_the_place_in_the_users_code() -> None:
    conftest = CLIENT.replace("    with open", "    request.lower()\n    with open")
    message = failures(doctor(conftest))["rag_client"]
    assert "AttributeError: 'AskRequest' object has no attribute 'lower'" in message
    assert "evals/conftest.py:7: in answer" in message


def test_a_client_around_the_configured_target_is_asked(project: Path) -> None:
    with rag_server() as server:
        text = f'[tool.rageval.target]\nurl = "{server.url}"\n'
        (project / "pyproject.toml").write_text(text, encoding="utf-8")
        found = doctor("""
import pytest

@pytest.fixture
def rag_client(rag_client):
    return lambda request: rag_client.ask(request)
""")
    assert "conftest.py around http://" in found[0].message
    assert "reachable" in {one.check for one in found}


def test_a_target_that_hangs_is_a_failure_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_rageval.authoring.doctor.project.LONGEST_S", 3.0)
    hanging = CLIENT.replace(
        "def rag_client():", "def rag_client():\n    __import__('time').sleep(60)"
    )
    assert "sleep" in hanging
    assert failures(doctor(hanging)) == {
        "session": "no end after 3 s: a fixture or the target does not answer"
    }
