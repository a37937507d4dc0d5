"""``rageval score --save``: a run like any other, or none at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.output import ExitCode
from pytest_rageval.runs.store import read_json, read_records, resolve_run
from tests.build.files import write_lines

Output = pytest.CaptureFixture[str]
GOLD: dict[str, Any] = {"rel_path": "a.md", "heading_path": "# A", "snippets": ["a secret snippet"]}
CASES: list[dict[str, Any]] = [
    {"id": "found", "question": "q?", "gold_supports": [GOLD], "category": "easy"},
    {"id": "lost", "question": "q?", "gold_supports": [{"rel_path": "z.md"}], "category": "hard"},
    {"id": "none", "question": "q?", "answerable": False},
]


def chunk(path: str, before: int) -> dict[str, Any]:
    text = "a secret snippet " * 30
    return {"rel_path": path, "heading_path": "# A", "text": text, "rank_before_rerank": before}


def response(*chunks: dict[str, Any], abstained: bool = False) -> dict[str, Any]:
    models = {"llm_model": "m-1", "embedding_model": "e-1"}
    debug = {"retrieved_chunks": list(chunks), "models": models}
    return {"answer": "the answer", "abstained": abstained, "debug": debug}


RESPONSES = [
    {"id": "found", "response": response(chunk("a.md", 2), chunk("b.md", 1))},
    {"id": "lost", "response": response(chunk("b.md", 1))},
    {"id": "none", "response": response(abstained=True)},
]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for name, lines in (("c.jsonl", CASES), ("r.jsonl", RESPONSES)):
        write_lines(name, *lines)
    return ["c.jsonl", "r.jsonl"]


def test_the_gate_leaves_out_limits_of_times_that_nothing_measured(
    files: list[str], capsys: Output
) -> None:
    assert cli.run(["score", *files, "--save", "recorded-1"]) == ExitCode.YES
    text = '[overall]\nhit_at_k = ">= 0.5"\nlatency_ms.p95 = "<= 2500"\nsuite_wall_s = "<= 60"\n'
    Path("thresholds.toml").write_text(text, encoding="utf-8")
    capsys.readouterr()
    assert cli.run(["gate", "recorded-1", "--json"]) == ExitCode.YES
    found = {one["name"]: one["status"] for one in json.loads(capsys.readouterr().out)["checks"]}
    times = {"latency_ms.p95": "skip", "suite_wall_s": "skip"}
    assert found == {"hit_at_k": "pass", **times, "error_rate": "pass"}


def test_a_saved_run_has_every_file_and_can_be_named(files: list[str], capsys: Output) -> None:
    assert cli.run(["score", *files, "--save", "recorded-1"]) == ExitCode.YES
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "saved    evals/results/recorded-1",
        "report   evals/results/recorded-1/report.html",
    ]
    folder = resolve_run(Path("evals/results"), "last")
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json",
        "gate.json",
        "groups.json",
        "metrics.json",
        "report.html",
        "results.jsonl",
        "summary.md",
    ]
    assert [r.case.id for r in read_records(folder)] == ["found", "lost", "none"]
    assert read_json(folder / "gate.json")["verdict"] == "not_evaluated"


def test_a_saved_run_says_what_was_scored_and_with_what(files: list[str]) -> None:
    assert cli.run(["score", *files, "--save", "one", "-k", "1"]) == ExitCode.YES
    config = read_json(Path("evals/results/one/config.json"))
    assert (config["settings"]["k"], config["settings"]["judge"]) == (1, "none")
    assert config["target_models"] == {"llm_model": "m-1", "embedding_model": "e-1"}
    metrics = read_json(Path("evals/results/one/metrics.json"))
    assert metrics["total"] == 3


def test_the_saved_and_the_printed_numbers_are_the_same(files: list[str], capsys: Output) -> None:
    assert cli.run(["score", *files, "--save", "one", "--json"]) == ExitCode.YES
    printed = json.loads(capsys.readouterr().out)
    saved = read_json(Path("evals/results/one/metrics.json"))
    for key in ("metrics", "rates", "abstention", "rerank", "warnings"):
        assert printed[key] == saved[key]
    assert saved["rerank"]["mrr"] == {
        "n": 2,
        "before": 0.25,
        "after": 0.5,
        "delta": 0.25,
        "low": saved["rerank"]["mrr"]["low"],
        "high": saved["rerank"]["mrr"]["high"],
        "improved": 1,
        "worsened": 0,
        "stayed": 1,
    }
    counts = {"abstained": 1, "answered": 0, "error": 0, "unknown": 0}
    assert saved["abstention"]["unanswerable"] == counts


def test_what_is_meant_for_git_holds_no_text(files: list[str]) -> None:
    assert cli.run(["score", *files, "--save", "one", "-k", "1"]) == ExitCode.YES
    for name in ("config.json", "metrics.json", "gate.json", "summary.md"):
        assert "secret" not in Path("evals/results/one", name).read_text(encoding="utf-8")
    stored = read_records(Path("evals/results/one"))[0].reply.retrieved_chunks
    assert stored is not None
    # A later judge reads the first k chunks, in a file that git ignores.
    assert [len(chunk.text or "") for chunk in stored] == [510, 200]


def test_a_faulty_file_leaves_no_run_behind(files: list[str], capsys: Output) -> None:
    with Path("r.jsonl").open("a", encoding="utf-8") as lines:
        lines.write("{\n")
    assert cli.run(["score", *files, "--save", "one"]) == ExitCode.USAGE
    assert "r.jsonl:4:" in capsys.readouterr().err
    assert not Path("evals/results/one").exists()


def test_a_run_is_never_written_over(files: list[str], capsys: Output) -> None:
    assert cli.run(["score", *files, "--save", "one"]) == ExitCode.YES
    before = Path("evals/results/one/metrics.json").read_bytes()
    assert cli.run(["score", *files, "--save", "one"]) == ExitCode.USAGE
    assert "exists, and nothing is overwritten" in capsys.readouterr().err
    assert Path("evals/results/one/metrics.json").read_bytes() == before


def test_the_matching_settings_of_the_project_hold(files: list[str], capsys: Output) -> None:
    Path("pyproject.toml").write_text('[tool.rageval.matching]\nsnippets = "all"\n', "utf-8")
    gold: dict[str, Any] = {**GOLD, "snippets": ["not in the text"]}
    line: dict[str, Any] = {**CASES[0], "gold_supports": [gold]}
    Path("c.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert cli.run(["score", *files, "--json"]) == ExitCode.YES
    assert json.loads(capsys.readouterr().out)["cases"][0]["metrics"]["hit_at_k"] == 0.0


# --- the page ----------------------------------------------------------------------------------


def test_the_page_of_a_saved_run_is_the_one_that_report_writes(files: list[str]) -> None:
    assert cli.run(["score", *files, "--save", "one"]) == ExitCode.YES
    assert cli.run(["report", "one", "-o", "again.html"]) == ExitCode.YES
    written = Path("evals/results/one/report.html").read_text(encoding="utf-8")
    assert "case-lost" in written
    assert Path("again.html").read_text(encoding="utf-8") == written


@pytest.mark.parametrize("way", ["flag", "variable", "file"])
def test_the_page_can_be_left_out(
    files: list[str], capsys: Output, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    flags = ["--no-report"] if way == "flag" else []
    if way == "variable":
        monkeypatch.setenv("RAGEVAL_NO_REPORT", "1")
    if way == "file":
        Path("pyproject.toml").write_text("[tool.rageval]\nno_report = true\n", encoding="utf-8")
    assert cli.run(["score", *files, "--save", "one", *flags]) == ExitCode.YES
    assert not Path("evals/results/one/report.html").exists()
    assert "report" not in capsys.readouterr().out.splitlines()[-1]


# --- without headings ------------------------------------------------------------------------


def without_heading(path: str, **parts: Any) -> dict[str, Any]:
    return {"rel_path": path, **parts}


SERVED: dict[str, list[dict[str, Any]]] = {
    "headings": RESPONSES,
    "texts": [
        {"id": "found", "response": response(without_heading("a.md", text="**a secret** snippet"))},
        {"id": "lost", "response": response(without_heading("b.md", text="other"))},
        {"id": "none", "response": response(abstained=True)},
    ],
    "paths": [
        {"id": "found", "response": response(without_heading("a.md"))},
        {"id": "lost", "response": response(without_heading("b.md"))},
        {"id": "none", "response": response(abstained=True)},
    ],
}


def save(name: str, *arguments: str) -> dict[str, Any]:
    write_lines(f"{name}.jsonl", *SERVED[name])
    run = ["score", "c.jsonl", f"{name}.jsonl", "--save", name, *arguments]
    assert cli.run(run) == ExitCode.YES
    return read_json(Path(f"evals/results/{name}/metrics.json"))


@pytest.mark.usefixtures("files")
def test_a_run_without_headings_finds_evidence_by_its_snippets_and_says_so() -> None:
    metrics = save("texts")
    assert metrics["matching"] == {"snippet": 1}
    assert metrics["metrics"]["recall_at_k"]["mean"] == 0.5
    folder = Path("evals/results/texts")
    assert "- **evidence** chunks compared by snippet 1\n" in (folder / "summary.md").read_text(
        encoding="utf-8"
    )
    assert "snippet 1" in (folder / "report.html").read_text(encoding="utf-8")
    [found, *_] = read_records(folder)
    assert [one.matched_by for one in found.reply.retrieved_chunks or ()] == [("snippet",)]
