"""A small project to evaluate: four cases, a target that answers by the question, thresholds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.build.files import write_lines
from tests.build.records import flat_line

QUIET = ("-p", "no:randomly", "-p", "no:hypothesispytest")
"""Plugins that change the order of tests, or that a signal may hit in a hook where pluggy warns."""

FROM_8_3 = pytest.mark.skipif(
    pytest.version_tuple < (8, 3), reason="-m knows no arguments of markers before pytest 8.3"
)

SERIAL_AND_PARALLEL = pytest.mark.parametrize(
    "workers",
    [(), pytest.param(("-n", "2"), marks=pytest.mark.slow)],
    ids=["serial", "n2"],
)
"""The same test in one process and, slowly, with two workers."""

CONFTEST = """
import pytest

CHUNK = "the note says what it says. " * 20

def reply(question):
    word = question.split()[0]
    if word == "refuse":
        raise ConnectionRefusedError("nobody listens")
    if word == "abstain":
        return {"answer": "I do not know.", "abstained": True, "debug": {"retrieved_chunks": []}}
    path = {"hit": "a.md", "miss": "b.md"}[word]
    chunk = {"chunk_id": "c1", "rel_path": path, "heading_path": "# A", "text": CHUNK, "rank": 1}
    return {
        "answer": "The answer text.",
        "abstained": False,
        "references": [{"rel_path": path, "heading_path": "# A"}],
        "debug": {"retrieved_chunks": [chunk]},
    }

@pytest.fixture(scope="session")
def rag_client():
    return lambda request: reply(request.question)
"""

THRESHOLDS = """version = 1
[overall]
recall_at_k = ">= 0.5"
"""

NO_PAGE = "no_report = true\n"
PYPROJECT = f"""
[tool.pytest.ini_options]
filterwarnings = ["error"]
[tool.rageval]
judge = "none"
{NO_PAGE}[tool.rageval.target]
retries = 0
"""


def case(case_id: str, question: str, **fields: Any) -> dict[str, Any]:
    """One case whose gold is in a.md, unless it is unanswerable."""
    document: dict[str, Any] = {"id": case_id, "question": question, "category": "factual"}
    if fields.get("answerable", True):
        document["gold_supports"] = [{"rel_path": "a.md"}]
    return document | fields


CASES = (
    case("ok-1", "hit one"),
    case("ok-2", "hit two", category="multi_hop", tags=["work"]),
    case("short-1", "miss three", category="multi_hop", difficulty="hard"),
    case("out-1", "abstain four", category="adversarial", answerable=False),
)
REFUSED = case("dead-1", "refuse five")


class Project:
    """Writes the files of a scratch project and runs pytest in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self.write("pyproject.toml", PYPROJECT)
        self.write("conftest.py", CONFTEST)
        self.write("thresholds.toml", THRESHOLDS)
        self.cases(CASES)

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def cases(self, cases: Sequence[Mapping[str, Any]], name: str = "eval_set") -> Path:
        return write_lines(self.path / "evals" / f"{name}.jsonl", *cases)

    def write_pages(self) -> None:
        """Let the runs that follow write report.html, which takes most of a small run's time."""
        file = self.path / "pyproject.toml"
        text = file.read_text(encoding="utf-8")
        assert NO_PAGE in text
        file.write_text(text.replace(NO_PAGE, ""), encoding="utf-8")

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run in this process; workers are processes of their own."""
        return self.pytester.runpytest_inprocess(*self._named(arguments), *QUIET)

    def run_apart(self, *arguments: str) -> pytest.RunResult:
        """Run in a process of its own: signals, and what a first import shows."""
        return self.pytester.runpytest_subprocess(*self._named(arguments), *QUIET, timeout=360)

    def _named(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """Add the folder of cases unless the arguments name a path."""
        named = any((self.path / one.partition("::")[0]).exists() for one in arguments)
        return tuple(arguments) if named else (*arguments, "evals")

    def folder(self, run_id: str = "one") -> Path:
        """Return the folder of a run."""
        return self.path / "evals" / "results" / run_id

    def run_folders(self) -> list[Path]:
        results = self.path / "evals" / "results"
        return sorted(p for p in results.iterdir() if p.is_dir()) if results.is_dir() else []

    def stored(self, name: str) -> Any:
        (folder,) = self.run_folders()
        return json.loads((folder / name).read_text(encoding="utf-8"))

    def records(self) -> dict[str, dict[str, Any]]:
        (folder,) = self.run_folders()
        text = (folder / "results.jsonl").read_text(encoding="utf-8")
        return {r["case_id"]: r for r in map(flat_line, text.splitlines())}


def checks(document: Mapping[str, Any]) -> dict[str, str]:
    """Status by name of the checks in a gate document."""
    return {check["name"]: check["status"] for check in document["checks"]}


def outcomes(result: pytest.RunResult) -> dict[str, int]:
    """Return the counts of the last line: ``{"passed": 3, "missed": 1, "checks passed": 2}``."""
    line = next(x for x in reversed(result.outlines) if re.search(r" in \d+\.\d+s", x))
    cases, _, checks = line.partition(" in ")[0].partition("checks: ")
    heads = {"": cases, "checks ": checks}
    return {
        head + word: int(n)
        for head, part in heads.items()
        for n, word in re.findall(r"(\d+) ([a-z]+)", part)
    }


def comparable(document: Any) -> Any:
    """A metrics document without what a clock or a run id decides."""
    if isinstance(document, Mapping):
        left_out = {"latency", "latency_by_phase", "timestamp", "run_id"}
        return {k: comparable(v) for k, v in document.items() if k not in left_out}
    if isinstance(document, list):
        return [comparable(v) for v in document]
    return document


def summary_lines(result: pytest.RunResult) -> Iterator[str]:
    """Lines below the heading of the plugin's summary, without the heading."""
    lines = iter(result.outlines)
    for line in lines:
        if re.fullmatch(r"=+ rageval =+", line):
            break
    for line in lines:
        if line.startswith("="):
            return
        yield line


def failed_line(nodeid: str, reason: str) -> str:
    """Return the line about a failed case in pytest's short summary; 9.0 adds the reason."""
    return f"FAILED {nodeid} - {reason}" if pytest.version_tuple >= (9,) else f"FAILED {nodeid}"
