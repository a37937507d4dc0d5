"""Workers say and store what one process does, of cases of every outcome."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.long_runs import document, lines_of
from tests.plugin.scratch import (
    CASES,
    CONFTEST,
    REFUSED,
    Project,
    case,
    checks,
    comparable,
    outcomes,
    summary_lines,
)

HOOK = """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" and item.name == "hooked":
        report.outcome, report.longrepr = "failed", "the log has an error"
    return report
"""
SETTINGS = """
[tool.rageval]
judge = "none"
no_report = true
[tool.rageval.target]
url = "http://127.0.0.1:9"
retries = 0
"""
OWN_TESTS = """
import pytest

def test_it(eval_case, eval_record):
    eval_record.scores.metrics["recall_at_k"] = 0.25
    if eval_case.id == "odd":
        pytest.skip("an odd one")
    assert eval_case.id != "wrong"
"""
SUBTESTS = """
    with subtests.test("cites"):
        assert eval_case.id != "partly"
    with subtests.test("is long"):
        if eval_case.id == "own":
            pytest.skip("nothing to measure")
"""
HAVE_SUBTESTS = pytest.version_tuple >= (9, 0)


def write_all_kinds(project: Project) -> None:
    """Cases of every outcome, some with a test function, asked through a fixture and judged."""
    cited = CONFTEST.replace('[{"rel_path": path,', '[{"rel_path": path + "x" * uncited(question),')
    project.write(
        "conftest.py",
        "def uncited(question):\n    return question.endswith('uncited')\n\n" + cited + HOOK,
    )
    project.write("pyproject.toml", SETTINGS)
    project.cases(
        [
            *CASES,
            REFUSED,
            case("flawed", "hit uncited"),
            case("hooked", "hit and fail"),
            case("made", "miss six", review="generated"),
        ]
    )
    own = [case(name, f"hit {name}") for name in ("own", "odd", "wrong", "partly")]
    project.cases(own, "own")
    tests = OWN_TESTS
    if HAVE_SUBTESTS:
        tests = tests.replace("eval_record)", "eval_record, subtests)", 1) + SUBTESTS
    project.write("evals/own.py", tests)


def junit(file: Path) -> dict[str | None, Any]:
    """Tags and properties of each test case, but for its times."""
    return {
        one.get("name"): (
            sorted((part.tag, part.get("message")) for part in one if part.tag != "properties"),
            sorted(
                (str(p.get("name")), str(p.get("value")))
                for p in one.iter("property")
                if not re.search(r"_ms|latency", str(p.get("name")))
            ),
        )
        for one in ET.parse(file).iter("testcase")
    }


def reported(file: Path) -> dict[str, Any]:
    """Outcome and data of each test in a JSON report, but for its times."""
    tests = json.loads(file.read_text(encoding="utf-8"))["tests"]
    return {one["nodeid"]: (one["outcome"], comparable(one.get("metadata"))) for one in tests}


def told(result: pytest.RunResult) -> str:
    """Return the summary as one line, but for its times and the names of files."""
    words = " ".join(" ".join(summary_lines(result)).split())
    return re.sub(r"[0-9.]+ m?s\b|\bevals/\S+|\bone\b|\btwo\b", "", words)


def test_workers_say_and_store_what_one_process_does(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_all_kinds(project)
    found = []
    for name, workers in {"one": (), "two": ("-n", "2")}.items():
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / f"{name}.md"))
        monkeypatch.setenv("RAGEVAL_DB", f"{name}.sqlite")
        results = f"results-{name}"
        files = (f"--junitxml={name}.xml", "--json-report", f"--json-report-file={name}.json")
        run = ("--rageval-results", results, "--rageval-run-id", name)
        result = project.run(*run, *files, *workers)
        folder = project.path / results / name
        assert (project.path / f"{name}.md").read_text("utf-8").count("## rageval") == 1
        with contextlib.closing(sqlite3.connect(project.path / f"{name}.sqlite")) as index:
            indexed = index.execute("SELECT n_cases, passed FROM evaluation_runs").fetchall()
        metrics, gate = document(folder), document(folder, "gate.json")
        found.append(
            {
                "outcomes": (result.ret, outcomes(result), told(result)),
                "junit": junit(project.path / f"{name}.xml"),
                "report": reported(project.path / f"{name}.json"),
                "figures": (comparable(metrics), comparable(document(folder, "groups.json"))),
                "gate": (checks(gate), gate["n_expected"], gate["n_reported"], gate["complete"]),
                "asked": document(folder, "config.json")["asked"],
                "records": sorted((r["case_id"], r["outcome"]) for r in lines_of(folder)),
                "index": indexed,
            }
        )
    one, two = found
    for name in one:
        assert two[name] == one[name], name
    shown = {word for word, count in one["outcomes"][1].items() if count}
    assert shown >= {"passed", "missed", "flawed", "errored", "failed", "skipped"}
