"""Jobs of examples/shards are run shell step by shell step; docs/ci.md agrees with files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.authoring.scaffold.plan import read_templates
from tests.build.loopback import LoopbackServer, Question, good_reply, http_json, loopback_server
from tests.build.yaml_values import load_yaml
from tests.docs.ci_jobs import Forge
from tests.docs.examples import DOCS, read_document, sections
from tests.plugin.rag_server import hit_or_miss

pytestmark = pytest.mark.slow

PAGE = read_document("ci.md")
SHARDS = DOCS.parent / "examples/shards"
ROOT = Path(__file__).parents[2]
KEY = "sk-of-the-judge-0123456789"
MERGE = "Decide over the whole"
N_CASES = 30
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


@dataclass
class System:
    """A target and a judge, both on one server, and what of the target is broken."""

    server: LoopbackServer
    broken: set[str] = field(default_factory=set)


@pytest.fixture
def system() -> Iterator[System]:
    async def answer(question: Question, writer: asyncio.StreamWriter) -> bytes:
        if not question.of_judge and question.text in found.broken:
            return http_json(hit_or_miss("miss", 0))
        return good_reply(question)

    with loopback_server(answer) as server:
        found = System(server)
        yield found


@pytest.fixture
def forge(tmp_path: Path, system: System) -> Forge:
    project = tmp_path / "project"
    (project / "evals").mkdir(parents=True)
    cases = [
        {"id": f"c-{i:02}", "question": f"hit {i}", "gold_supports": [{"rel_path": "a.md"}]}
        for i in range(N_CASES)
    ]
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    (project / "evals" / "eval_set.jsonl").write_text(lines, encoding="utf-8")
    thresholds = fenced(PAGE, "What fails", "toml")
    (project / "thresholds.toml").write_text(thresholds, encoding="utf-8")
    (project / "requirements.txt").write_text("pytest-rageval\n", encoding="utf-8")
    settings = PYPROJECT.format(url=system.server.url)
    (project / "pyproject.toml").write_text(settings, encoding="utf-8")
    return Forge(tmp_path / "forge", project, secrets={"OPENAI_API_KEY": KEY})


def fenced(page: str, heading: str, language: str) -> str:
    (section,) = [one for one in sections(page) if one.title == heading]
    (block,) = [one for one in section.blocks if one.language == language]
    return block.text


def gate_of(run: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((run / "gate.json").read_text(encoding="utf-8"))
    return document


def test_three_machines_and_a_merge_decide_as_one(forge: Forge, system: System) -> None:
    workflow = load_yaml((SHARDS / "github.yml").read_text(encoding="utf-8"))
    results = forge.run_workflow(workflow, branch="main")
    assert [*results] == ["part-1", "part-2", "part-3", "gate"]
    assert all(result.ok for result in results.values())
    assert len(system.server.asked) == N_CASES
    merged = forge.artifact("1", "rageval-run")
    assert json.loads((merged / "metrics.json").read_text("utf-8"))["total"] == N_CASES
    assert "no baseline" in results["gate"].summary

    system.broken = {f"hit {i}" for i in range(6)}
    results = forge.run_workflow(workflow, branch="change-1")
    assert [name for name, result in results.items() if not result.ok] == ["gate"]
    (code,) = [code for step, code in results["gate"].codes.items() if step == MERGE]
    assert code == 1
    assert gate_of(forge.artifact("2", "rageval-run"))["baseline"]["n_paired"] == N_CASES
    assert forge.misused == ""


def test_three_machines_and_a_merge_decide_as_one_on_gitlab(forge: Forge, system: System) -> None:
    jobs = load_yaml((SHARDS / "gitlab.yml").read_text(encoding="utf-8"))
    total = jobs["part"]["parallel"]
    places = [{"CI_NODE_INDEX": str(n + 1), "CI_NODE_TOTAL": str(total)} for n in range(total)]
    parts = [forge.run_gitlab_job(jobs["part"], environ=place) for place in places]
    assert all(part.ok for part in parts)
    assert len(system.server.asked) == N_CASES
    whole = forge.run_gitlab_job(jobs["whole"], needs=parts)
    assert whole.ok, whole.log
    run = whole.workspace / "evals" / "results" / "ci"
    assert json.loads((run / "metrics.json").read_text("utf-8"))["total"] == N_CASES


def test_the_page_has_the_job_that_init_writes() -> None:
    ours = load_yaml(read_templates()["workflow.yml"].decode("utf-8"))
    page = load_yaml(fenced(PAGE, "In CI", "yaml"))
    assert page["jobs"]["evals"].pop("env").keys() == {"OPENAI_API_KEY"}
    del ours["jobs"]["evals"]["timeout-minutes"]
    assert page == ours


def test_the_page_names_every_input_of_the_action_with_its_default() -> None:
    action = load_yaml((ROOT / "action.yml").read_text(encoding="utf-8"))
    rows = [line.split("|") for line in PAGE.splitlines() if line.startswith("| `")]
    defaults = {row[1].strip(" `"): row[2].strip(" `") for row in rows}
    for name, one in action["inputs"].items():
        assert name in defaults
        assert not one["default"] or defaults[name] == str(one["default"])
