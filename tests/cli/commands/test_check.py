"""``rageval check`` as a linter of sets, from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.server.config import ReferenceConfig
from pytest_rageval.server.server import start_in_thread
from tests.build.runs import run_of, write_run

Output = pytest.CaptureFixture[str]
NOTE = "# Gates\n\n## North gate\n\nIt opens at 8:15.\n"
GOLD = {"rel_path": "gates.md", "heading_path": "# Gates > ## North gate"}


@pytest.fixture(autouse=True)
def _vault(project: Path) -> None:
    (project / "vault").mkdir()
    (project / "vault/gates.md").write_text(NOTE, encoding="utf-8")


def write(name: str, *cases: dict[str, Any]) -> str:
    lines = [json.dumps({"id": f"c{n}", **case}) for n, case in enumerate(cases, 1)]
    Path(name).write_text("\n".join(lines), encoding="utf-8")
    return name


def gold(**changes: Any) -> dict[str, Any]:
    return {"question": "When does it open?", "gold_supports": [{**GOLD, **changes}]}


def test_the_index_of_a_target_is_looked_through(capsys: Output) -> None:
    write("a.jsonl", gold(heading_path="# Gates > ## Northern gate"))
    with start_in_thread(ReferenceConfig(vault=Path("vault"))) as handle:
        assert cli.run(["check", "a.jsonl", "--rag-url", handle.url]) == ExitCode.NO
        assert "did you mean '# Gates > ## North gate'?" in capsys.readouterr().err
        assert cli.run(["check", write("b.jsonl", gold()), "--rag-url", handle.url]) == ExitCode.YES


def test_a_target_that_does_not_answer_exits_with_4(capsys: Output) -> None:
    write("a.jsonl", gold())
    Path("pyproject.toml").write_text("[tool.rageval.target]\nretries = 0\n", encoding="utf-8")
    url = "http://127.0.0.1:9"
    assert cli.run(["check", "a.jsonl", "--rag-url", url]) == ExitCode.UNREACHABLE
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_leakage_between_sets_warns_and_is_an_error_only_where_asked(capsys: Output) -> None:
    files = [write("a.jsonl", gold()), write("b.jsonl", gold())]
    assert cli.run(["check", *files]) == ExitCode.YES
    assert "b.jsonl:1: warning: c1: question: the same question as a.jsonl:1" in (
        capsys.readouterr().err
    )
    assert cli.run(["check", *files, "--strict"]) == ExitCode.NO


def test_a_file_with_faults_goes_before_findings() -> None:
    bad = write("bad.jsonl", {"question": 3})
    twice = write("a.jsonl", gold(), gold())
    assert cli.run(["check", bad, twice]) == ExitCode.USAGE


def test_findings_and_power_are_in_the_json(capsys: Output) -> None:
    write("a.jsonl", gold(), gold())
    assert cli.run(["check", "a.jsonl", "--json"]) == ExitCode.NO
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (err, document["ok"]) == ("", False)
    [found] = document["findings"]
    assert found["text"].endswith("so it counts twice [duplicate]")
    assert {key: found[key] for key in ("severity", "rule", "file", "line", "case_id")} == {
        "severity": "error",
        "rule": "duplicate",
        "file": "a.jsonl",
        "line": 2,
        "case_id": "c2",
    }
    [file] = document["files"]
    assert file["power"]["n"] == 2
    assert "a drop of 0.62 in recall" in file["power"]["text"]


def test_what_a_case_says_acts_on_no_terminal(capsys: Output) -> None:
    assert cli.run(["check", write("b.jsonl", gold()), "--vault", "vault"]) == ExitCode.YES
    assert capsys.readouterr().err == ""
    write("a.jsonl", gold(heading_path="# \x1b[2JGate\u202e"))
    assert cli.run(["check", "a.jsonl", "--vault", "vault"]) == ExitCode.NO
    out, err = capsys.readouterr()
    assert not any(char in out + err for char in "\x1b\u202e")


def test_a_gate_is_tried_on_the_last_run_without_reading_case_files(capsys: Output) -> None:
    write_run(Path("evals/results"), "r1", run_of(20))
    Path("thresholds.toml").write_text('[overall]\nhit_at_k = ">= 0.8"\n', encoding="utf-8")
    assert cli.run(["check", "--gate", "--json"]) == ExitCode.YES
    found = json.loads(capsys.readouterr().out)
    assert (found["run_id"], found["verdict"], found["n_cases"]) == ("r1", "pass", 20)
    assert len(found["faults"]) == 9
    assert cli.run(["check", "--gate", "r1", "r2"]) == ExitCode.USAGE


def test_the_set_is_audited_over_the_last_runs(capsys: Output) -> None:
    for n in range(3):
        write_run(Path("evals/results"), f"r{n}", run_of(20, missed=(1,)), day=n + 1)
    assert cli.run(["check", "--runs", "--json"]) == ExitCode.YES
    found = json.loads(capsys.readouterr().out)
    assert (found["n_runs"], found["n_cases"]) == (3, 20)
    assert {one["rule"] for one in found["findings"]} == {"never-passes"}
    assert cli.run(["check", "--runs", "--strict", "r0", "r1", "r2"]) == ExitCode.NO
    assert cli.run(["check", "--runs", "--strict", "r0", "r1"]) == ExitCode.YES
    assert cli.run(["check", "--runs", "--gate"]) == ExitCode.USAGE
