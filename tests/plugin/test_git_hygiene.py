"""Results that git would add contain no text of a case, a document, a model or a server.

Each kind of text has its own word, which does not occur elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.build.loopback import Question, http, http_json, loopback_server
from tests.plugin.scratch import Project

KINDS = (
    "question", "answer", "chunk", "heading", "path", "fact", "expected", "reference", "snippet",
    "note", "metadata", "reasoning", "claim", "warning", "errorbody", "badjson", "abstainreason",
    "folderreason", "judgeerror",
)  # fmt: skip
WORDS = {kind: f"zq{kind}xyzzy" for kind in KINDS}
PYPROJECT = """
[tool.pytest.ini_options]
filterwarnings = ["error"]
[tool.rageval.judge]
model = "m-1"
base_url = "{url}/v1"
[tool.rageval.target]
url = "{url}"
retries = 0
"""
THRESHOLDS = """
baseline = "main"
[overall]
recall_at_k = {{ min = {minimum}, max_drop = 0.01 }}
groundedness = ">= 4"
newly_missed = "<= 0"
error_rate = "<= 0"
judge_error_rate = "<= 0"
"""


def cases() -> Iterator[dict[str, Any]]:
    for number, kind in enumerate(
        ("ok", "drops", "abstains", "http", "json", "empty", "misjudged")
    ):
        yield {
            "id": f"{kind}-{number}",
            "question": f"{kind} {WORDS['question']} {number}?",
            "gold_supports": [
                {
                    "rel_path": f"{WORDS['path']}.md",
                    "heading_path": f"# {WORDS['heading']}",
                    "snippets": [WORDS["snippet"]],
                },
                {"rel_path": "b.md", "heading_path": f"# B {WORDS['heading']}"},
            ],
            "required_support_groups": [[0, 1]],
            "expected_key_facts": [WORDS["fact"]],
            "expected_answer": WORDS["expected"],
            "category": "multi_hop",
            "notes": WORDS["note"],
            "metadata": {"by": WORDS["metadata"]},
        }


def reply(kind: str, *, worse: bool) -> bytes:
    if kind == "http":
        return http(f"<h1>{WORDS['errorbody']}</h1>".encode(), "500 Internal Server Error")
    if kind == "json":
        return http(f'{{"answer": {WORDS["badjson"]}'.encode())
    chunk = {
        "chunk_id": "c1",
        "rel_path": f"{WORDS['path']}.md",
        "heading_path": f"# {WORDS['heading']}",
        "text": f"{WORDS['chunk']} {WORDS['snippet']}",
    }
    other = {**chunk, "chunk_id": "c2", "rel_path": "b.md"}
    other["heading_path"] = f"# B {WORDS['heading']}"
    chunks = [other] if worse and kind == "drops" else [chunk, other]
    answer = "" if kind == "empty" else f"{WORDS['answer']}. [{WORDS['path']}.md]"
    return http_json(
        {
            "answer": answer,
            "abstained": kind == "abstains",
            "abstain_reason": WORDS["abstainreason"],
            "references": [
                {"rel_path": f"{WORDS['path']}.md", "heading_path": f"# {WORDS['reference']}"}
            ],
            "debug": {
                "retrieved_chunks": chunks,
                "folder_selection": {
                    "selected_folders": [WORDS["path"]],
                    "available_folders": [WORDS["path"]],
                    "fallback_used": False,
                    "reasoning": WORDS["folderreason"],
                },
                "latency": {"total_ms": 5.0},
                "indexing_coverage": {
                    "docs_processed": 2,
                    "docs_with_0_chunks": 0,
                    "warnings": [f"{WORDS['path']}.md: {WORDS['warning']}"],
                },
                "models": {"llm_model": "llm-1", "prompt_version": "7"},
            },
        }
    )


def verdict(question: Question) -> bytes:
    if "misjudged" in question.text:
        content = f"no verdict but {WORDS['judgeerror']}"
    else:
        schema = question.body["response_format"]["json_schema"]["schema"]
        content = json.dumps(_filled(schema, "reasoning"))
    message = {"role": "assistant", "content": content}
    return http_json(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m-1",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
        }
    )


def _filled(schema: dict[str, Any], name: str) -> Any:
    """A low verdict of a JSON schema, every text of which is foreign."""
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return _filled(schema["anyOf"][0], name)
    match schema.get("type"):
        case "object":
            return {key: _filled(inner, key) for key, inner in schema["properties"].items()}
        case "array":
            return [_filled(schema.get("items", {}), name)]
        case "integer" | "number":
            return max(1, schema.get("minimum", 1))
        case "boolean":
            return False
    return WORDS["claim"] if name == "text" else WORDS["reasoning"]


@pytest.fixture
def evaluated(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The summary of a CI step in which two runs, a gate and a comparison have ended."""
    worse = False

    async def answer(question: Question, writer: asyncio.StreamWriter) -> bytes:
        if question.of_judge:
            return verdict(question)
        return reply(question.text.split()[0], worse=worse)

    step = tmp_path / "step-summary"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with loopback_server(answer) as server:
        project.write("pyproject.toml", PYPROJECT.format(url=server.url))
        project.write("conftest.py", "")
        project.cases([*cases()])
        project.write("thresholds.toml", THRESHOLDS.format(minimum=0.1))
        project.run("--rageval-run-id", "one")
        _rageval(project, "runs", "tag", "one", "main")
        worse = True
        project.write("thresholds.toml", THRESHOLDS.format(minimum=0.99))
        failed = project.run("--rageval-run-id", "two")
        assert failed.ret == 1
        _rageval(project, "runs", "tag", "two", "worse")
        _rageval(project, "gate", "two")
        _rageval(project, "compare", "main", "two", "--out-dir", "diff")
        yield step


def _rageval(project: Project, *arguments: str) -> None:
    from pytest_rageval.cli import main as cli

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project.path)
        assert cli.run([*arguments]) in {0, 1}


def _added(project: Project) -> dict[str, str]:
    """Results that git would add, by path."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(project.path), *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout

    git("init", "-q")
    git("add", "evals/results")
    return {name: git("show", f":{name}") for name in git("ls-files", "-z").split("\0") if name}


def test_no_text_of_anybody_is_in_what_git_adds_or_a_step_of_ci_shows(
    project: Project, evaluated: Path
) -> None:
    stored = "".join(
        path.read_text(encoding="utf-8")
        for path in (project.path / "evals" / "results").rglob("results.jsonl")
    )
    # The words are there to be found: no kind of text went missing on its way.
    assert {kind for kind, word in WORDS.items() if word not in stored} <= {"badjson", "judgeerror"}

    added = _added(project)
    files = (".gitignore", "config.json", "gate.json", "metrics.json", "summary.md")
    wanted = {f"evals/results/{run}/{name}" for run in ("one", "two") for name in files}
    tags = {f"evals/results/tags/{tag}" for tag in ("main", "worse")}
    assert set(added) == {*wanted, *tags, "evals/results/.gitignore"}
    found = {
        (path, kind) for path, text in added.items() for kind, word in WORDS.items() if word in text
    }
    assert found == set()
    assert "drops-1" in added["evals/results/two/summary.md"]
    assert '"fail"' in added["evals/results/two/gate.json"]

    summary = evaluated.read_text(encoding="utf-8")
    assert summary.count("## rageval") == 4
    assert "drops" in summary
    assert {kind for kind, word in WORDS.items() if word in summary} == set()
    diff = (project.path / "diff" / "diff.md").read_text(encoding="utf-8")
    assert "lost gold 0" in diff
    assert {kind for kind, word in WORDS.items() if word in diff} == set()


def test_no_text_of_anybody_is_on_a_redacted_page(project: Project, evaluated: Path) -> None:
    _rageval(project, "report", "two", "-o", "whole.html", "--full")
    whole = (project.path / "whole.html").read_text(encoding="utf-8")
    shown = {kind for kind, word in WORDS.items() if word in whole}
    assert shown >= {"question", "answer", "chunk", "heading", "fact", "reasoning", "warning"}
    for more in ((), ("--baseline", "main")):
        _rageval(project, "report", "two", "--redact", "-o", "public.html", "--full", *more)
        public = (project.path / "public.html").read_text(encoding="utf-8")
        assert "drops-1" in public
        assert {kind for kind, word in WORDS.items() if word in public} == set()
