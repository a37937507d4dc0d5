from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from pytest_rageval.runs.tags import write_tag
from tests.build.targets import fake_target, json_reply
from tests.plugin.scratch import (
    CASES,
    PYPROJECT,
    REFUSED,
    Project,
    case,
    checks,
)

COMMITTED = ("config.json", "metrics.json", "gate.json", "summary.md")


def test_json_report_holds_every_case_and_the_gate(project: Project) -> None:
    project.run("--json-report")
    report = json.loads((project.path / ".report.json").read_text(encoding="utf-8"))
    by_id = {t["nodeid"]: t for t in report["tests"]}
    found = by_id["evals/eval_set.jsonl::short-1"]["metadata"]["rageval"]
    assert found["outcome"] == "missed"
    assert found["metrics"]["recall_at_k"] == 0
    assert checks(report["rageval"]["gate"]) == {"recall_at_k": "pass", "error_rate": "pass"}
    assert report["rageval"]["metrics"]["total"] == len(CASES)
    check = by_id["thresholds.toml::recall_at_k"]["metadata"]["rageval"]
    assert check["value"] == pytest.approx(2 / 3)
    assert {"low", "high"} <= check.keys()
    assert (check["kind"], check["limit"], check["n"], check["status"]) == ("min", 0.5, 3, "pass")
    assert "0.667" in check["message"]
    assert all(isinstance(v, str | int | float | None) for v in check.values())
    assert report["exitcode"] == 0


def test_junit_holds_scores_and_checks_and_titles_of_one_line(project: Project) -> None:
    project.write("thresholds.toml", '[overall]\nrecall_at_k = ">= 0.9"\n')
    project.cases([*CASES, REFUSED, case("must-1", "miss six", required=True)])
    project.run("--junitxml=out.xml")
    suite = ET.parse(project.path / "out.xml").getroot().find("testsuite")
    assert suite is not None
    counts = {k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "8", "failures": "3", "errors": "1", "skipped": "1"}
    found = {c.get("name"): c for c in suite.iter("testcase")}
    assert _property(found["ok-1"], "rageval.recall_at_k") == "1.0"
    assert {c.get("classname") for c in found.values()} == {
        "evals.eval_set.jsonl",
        "thresholds.toml",
    }
    titles = {
        name: element.get("message")
        for name, c in found.items()
        for element in c
        if element.tag in {"failure", "error", "skipped"}
    }
    assert titles == {
        "short-1": "not_retrieved: hit_at_k 0, recall_at_k 0",
        "dead-1": "connection: ConnectionRefusedError: nobody listens",
        "must-1": "evals/eval_set.jsonl:6: not_retrieved: hit_at_k 0, recall_at_k 0",
        "recall_at_k": "0.500 is below min 0.900",
        "error_rate": "0.167 is above max 0.000",
    }
    error = found["dead-1"].find("error")
    assert error is not None
    assert "conftest.py:9: in reply" in (error.text or "")
    failure = found["recall_at_k"].find("failure")
    assert failure is not None
    assert failure.text is not None
    assert failure.text.splitlines()[1:] == [
        "thresholds.toml:2  metric recall_at_k",
        "lowest: must-1, short-1",
    ]
    properties = {p.get("name"): p.get("value") for p in found["recall_at_k"].iter("property")}
    assert properties.items() >= {
        ("rageval.value", "0.5"),
        ("rageval.limit", "0.9"),
        ("rageval.n", "4"),
        ("rageval.status", "fail"),
    }
    assert [
        c.get("name") for c in found.values() if _property(c, "rageval.outcome") == "error"
    ] == ["dead-1"]


def _property(testcase: ET.Element, name: str) -> str | None:
    return next((p.get("value") for p in testcase.iter("property") if p.get("name") == name), None)


def test_git_sees_the_files_of_tagged_runs_that_hold_no_text_of_cases(project: Project) -> None:
    project.run("--rageval-run-id", "mine")
    folder = project.folder("mine")
    assert {*COMMITTED, "results.jsonl"} <= {p.name for p in folder.iterdir()}
    config = project.stored("config.json")
    assert (config["run_id"], config["settings"]["k"]) == ("mine", 5)
    everything = "".join((folder / n).read_text(encoding="utf-8") for n in COMMITTED)
    for text in ("hit one", "miss three", "The answer text", "I do not know", "the note says"):
        assert text not in everything
        assert text in (folder / "results.jsonl").read_text(encoding="utf-8")
    assert "*" in (folder.parent / ".gitignore").read_text(encoding="utf-8").splitlines()
    write_tag(folder.parent, "main", folder.name)
    lines = (folder / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {line.rsplit("/", 1)[-1] for line in lines if line.startswith("!")} >= set(COMMITTED)


LONG_CHUNKS = """
import pytest

@pytest.fixture
def rag_client():
    chunks = [{"rel_path": f"{i}.md", "text": f"{i} " * 500} for i in range(3)]
    return lambda request: {"answer": "a", "debug": {"retrieved_chunks": chunks}}
"""


@pytest.mark.parametrize(
    ("flags", "stored"),
    [((), [1000, 1000, 200]), (("--rageval-store-full-text",), [1000, 1000, 1000])],
)
def test_texts_that_a_judge_reads_are_stored_whole_and_all_on_request(
    project: Project, flags: tuple[str, ...], stored: list[int]
) -> None:
    project.write("conftest.py", LONG_CHUNKS)
    project.run("--rag-k", "2", *flags)
    chunks = project.records()["ok-1"]["retrieved_chunks"]
    assert [len(chunk["text"]) for chunk in chunks] == stored


def test_a_secret_reaches_the_target_and_nothing_else(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "s3cr3t-value-of-the-header"
    monkeypatch.setenv("SCRATCH_TOKEN", f"Bearer {secret}")
    (project.path / "conftest.py").unlink()
    project.write("pyproject.toml", PYPROJECT + 'headers = {Authorization = "env:SCRATCH_TOKEN"}\n')
    project.cases([case("ok-1", "hit one"), case("bad-1", "hit two")])
    refused = json_reply({"detail": f"no entry for {secret}"}, "403 Forbidden")
    with fake_target(json_reply({"answer": "fine"}), refused) as target:
        result = project.run("-vv", "--rag-url", target.url, "--junitxml=out.xml", "--json-report")
    assert [r.headers["authorization"] for r in target.received] == [f"Bearer {secret}"] * 2
    assert result.parseoutcomes()["errored"] == 1
    assert secret not in result.stdout.str() + result.stderr.str()
    files = [p for p in project.path.rglob("*") if p.is_file()]
    assert {"results.jsonl", "config.json", "out.xml", ".report.json"} <= {p.name for p in files}
    assert [p.name for p in files if secret.encode() in p.read_bytes()] == []
