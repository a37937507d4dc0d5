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


def test_a_set_that_fits_its_vault_is_sound(capsys: Output) -> None:
    assert cli.run(["check", write("a.jsonl", gold()), "--vault", "vault"]) == ExitCode.YES
    assert capsys.readouterr().err == ""


def test_an_anchor_that_is_lost_is_an_error_with_file_and_line(capsys: Output) -> None:
    write("a.jsonl", {"question": "Who?", "answerable": False}, gold(heading_path="# Gate"))
    assert cli.run(["check", "a.jsonl", "--vault", "vault"]) == ExitCode.NO
    err = capsys.readouterr().err
    assert err == (
        "a.jsonl:2: error: c2: gold_supports[0].heading_path: no section '# Gate' in gates.md, did "
        "you mean '# Gates'? [unknown-section]\n"
    )


def test_without_a_vault_anchors_are_not_looked_for() -> None:
    assert cli.run(["check", write("a.jsonl", gold(rel_path="none.md"))]) == ExitCode.YES


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
    write("a.jsonl", gold(heading_path="# \x1b[2JGate\u202e"))
    cli.run(["check", "a.jsonl", "--vault", "vault"])
    out, err = capsys.readouterr()
    assert not any(char in out + err for char in "\x1b\u202e")


def test_of_very_many_faults_the_first_are_printed_and_all_are_in_the_json(capsys: Output) -> None:
    write("a.jsonl", *({"question": "Who?", "answerable": 1} for _ in range(500)))
    assert cli.run(["check", "a.jsonl"]) == ExitCode.USAGE
    lines = capsys.readouterr().err.splitlines()
    assert lines[19].startswith("a.jsonl:20:")
    assert lines[20:] == [
        "and 480 more faults, from a.jsonl:21 on",
        "  480 x answerable: 1",
    ]
    assert cli.run(["check", "a.jsonl", "--json"]) == ExitCode.USAGE
    assert len(json.loads(capsys.readouterr().out)["files"][0]["faults"]) == 500


def test_the_set_of_another_tool_is_to_be_imported(capsys: Output) -> None:
    named = "none of its lines is a case; `rageval import` reads other tools' sets"
    assert cli.run(["check", write("a.jsonl", {"input": "Who?", "ideal": "x"})]) == ExitCode.USAGE
    assert capsys.readouterr().err.endswith(f"{named}\n")
    assert cli.run(["check", write("a.jsonl", {"question": "Who?", "gold": "x"})]) == ExitCode.USAGE
    assert named not in capsys.readouterr().err


def test_a_mapped_name_that_nobody_reads_is_a_warning(capsys: Output) -> None:
    Path("pyproject.toml").write_text(
        "[tool.rageval.target.response]\nanswer = 'a'\n"
        "retrieved_chunks = 'hits[].{rel_path: f, score: bm25}'\n",
        encoding="utf-8",
    )
    path = write("a.jsonl", gold())
    assert cli.run(["check", path]) == ExitCode.YES
    assert capsys.readouterr().err == (
        "pyproject.toml: warning: tool.rageval.target.response.retrieved_chunks: 'score' is not "
        "read, did you mean 'score_final'? [unread-field]\n"
    )
    assert cli.run(["check", path, "--strict"]) == ExitCode.NO


def test_golds_are_looked_up_under_the_names_that_the_settings_give(capsys: Output) -> None:
    Path("pyproject.toml").write_text(
        '[tool.rageval.target]\nstrip_root = "north"\n', encoding="utf-8"
    )
    write("a.jsonl", gold())
    (Path("vault") / "north").mkdir()
    Path("vault/gates.md").rename("vault/north/gates.md")
    with start_in_thread(ReferenceConfig(vault=Path("vault"))) as handle:
        cli.run(["check", "a.jsonl", "--rag-url", handle.url])
    assert "1 of 1 golds found" in capsys.readouterr().out


def test_a_gate_is_tried_on_the_last_run_without_reading_case_files(capsys: Output) -> None:
    write_run(Path("evals/results"), "r1", run_of(20))
    Path("thresholds.toml").write_text('[overall]\nhit_at_k = ">= 0.8"\n', encoding="utf-8")
    assert cli.run(["check", "--gate", "--json"]) == ExitCode.YES
    found = json.loads(capsys.readouterr().out)
    assert (found["run_id"], found["verdict"], found["n_cases"]) == ("r1", "pass", 20)
    assert len(found["faults"]) == 9


def test_a_gate_is_tried_on_one_run() -> None:
    assert cli.run(["check", "--gate", "r1", "r2"]) == ExitCode.USAGE
