"""The jobs of docs/ci.md do what the page says: each is run here, shell step by shell step."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.authoring.scaffold.plan import read_templates
from tests.build.loopback import LoopbackServer, Question, good_reply, http_json, loopback_server
from tests.build.yaml_values import load_yaml
from tests.docs.ci_jobs import INPUTS, Forge
from tests.docs.examples import read_document, sections
from tests.plugin.rag_server import hit_or_miss

pytestmark = pytest.mark.slow

PAGE = read_document("ci.md")
KEY = "sk-of-the-judge-0123456789"
EVALUATE, MERGE = "Evaluate", "Decide over the whole"
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
    thresholds = fenced("In CI", "toml")
    (project / "thresholds.toml").write_text(thresholds, encoding="utf-8")
    (project / "requirements.txt").write_text("pytest-rageval\n", encoding="utf-8")
    settings = PYPROJECT.format(url=system.server.url)
    (project / "pyproject.toml").write_text(settings, encoding="utf-8")
    return Forge(tmp_path / "forge", project, secrets={"OPENAI_API_KEY": KEY})


def fenced(heading: str, language: str) -> str:
    (section,) = [one for one in sections(PAGE) if one.title == heading]
    (block,) = [one for one in section.blocks if one.language == language]
    return block.text


def github() -> dict[str, Any]:
    found: dict[str, Any] = load_yaml(fenced("GitHub Actions", "yaml"))
    return found


def gate_of(run: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((run / "gate.json").read_text(encoding="utf-8"))
    return document


def test_pull_requests_are_held_against_the_last_good_run_of_main(
    forge: Forge, system: System
) -> None:
    first = forge.run_workflow(github(), branch="main")["evals"]
    assert first.codes[EVALUATE] == 0, first.log
    assert "no baseline" in first.log
    assert "runs tag" not in first.log  # no tag makes the run of another machine
    assert "## rageval: PASS" in first.summary
    assert "no baseline" in first.summary
    assert system.server.judged > 0

    alike = forge.run_workflow(github(), branch="change-1")["evals"]
    assert alike.codes[EVALUATE] == 0
    found = gate_of(forge.artifact("2", "rageval-run"))
    assert (found["verdict"], found["baseline"]["n_paired"]) == ("pass", N_CASES)
    assert "no baseline" not in alike.log

    system.broken = {f"hit {i}" for i in range(6)}
    worse = forge.run_workflow(github(), branch="change-2")["evals"]
    assert worse.codes[EVALUATE] == 1
    assert not worse.ok
    assert "thresholds.toml::recall_at_k max_drop" in worse.log
    assert "**FAIL**" in worse.summary
    assert forge.artifact("3", "junit").joinpath("junit.xml").is_file()
    assert forge.artifact("3", "rageval-run").joinpath("report.html").is_file()

    # A run that failed is not a baseline: the next one is still compared with the first.
    system.broken = set()
    assert forge.run_workflow(github(), branch="change-3")["evals"].ok
    baseline = gate_of(forge.artifact("4", "rageval-run"))["baseline"]
    assert baseline["n_paired"] == N_CASES
    assert forge.misused == ""


def test_the_job_that_init_writes_has_steps_of_the_page_and_one_summary(forge: Forge) -> None:
    workflow = load_yaml(read_templates()["workflow.yml"].decode("utf-8"))
    ours, page = (one["jobs"]["evals"]["steps"] for one in (workflow, github()))
    assert workflow["on"] == github()["on"]
    own = {"pip install pytest-rageval"}
    for step in ours:
        if step.get("name") == EVALUATE:
            assert "--rageval-baseline" in step["run"]
        elif step.get("run") not in own:
            assert step in page
    kept = [step["with"]["path"] for step in ours if "cache/" in step.get("uses", "")]
    assert kept == ["evals/cache", "evals/cache"]

    steps = [step for step in ours if step.get("run") not in own]
    job = {"env": github()["jobs"]["evals"]["env"], "steps": steps}
    result = forge.run_workflow({"jobs": {"evals": job}}, branch="main")["evals"]
    assert result.codes[EVALUATE] == 0, result.log
    assert result.summary.count("## rageval") == 1
    assert forge.artifact("1", "rageval-run").joinpath("summary.md").is_file()


def test_verdicts_are_paid_for_once_and_the_key_is_in_no_file(forge: Forge, system: System) -> None:
    first = forge.run_workflow(github(), branch="main")["evals"]
    assert first.ok
    paid = system.server.judged
    assert paid >= N_CASES
    system.broken = {f"hit {i}" for i in range(6)}
    assert not forge.run_workflow(github(), branch="change-1")["evals"].ok
    again = system.server.judged
    assert paid < again < 2 * paid  # only the answers that changed
    assert not forge.run_workflow(github(), branch="change-1")["evals"].ok
    assert system.server.judged == again  # a gate that failed has kept its verdicts
    files = [path for path in forge.root.rglob("*") if path.is_file()]
    assert len(files) > 50
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_an_artifact_that_has_expired_is_no_baseline_and_no_failure(forge: Forge) -> None:
    assert forge.run_workflow(github(), branch="main")["evals"].ok
    (forge.artifact("1", "rageval-run")).rename(forge.root / "gone")
    result = forge.run_workflow(github(), branch="change-1")["evals"]
    assert result.ok
    assert "no baseline" in result.summary


def test_three_machines_and_a_merge_decide_as_one(forge: Forge, system: System) -> None:
    workflow = load_yaml(fenced("Several machines", "yaml"))
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


def test_a_job_that_is_run_again_goes_on_where_it_stopped(forge: Forge, system: System) -> None:
    workflow = github()
    steps = workflow["jobs"]["evals"]["steps"]
    (at,) = [i for i, step in enumerate(steps) if step.get("name") == EVALUATE]
    evaluate = steps[at]
    evaluate["run"] = evaluate["run"].replace("--rageval-run-id ci", "$RUN")
    assert "$RUN" in evaluate["run"]
    steps[at:at] = load_yaml(fenced("Resuming an interrupted run", "yaml"))

    cut = copy.deepcopy(workflow)
    cut["jobs"]["evals"]["env"]["RAGEVAL_CONCURRENCY"] = "1"
    cut["jobs"]["evals"]["steps"][at + 2]["run"] = f"{evaluate['run'].rstrip()} -x"
    thresholds = forge.project / "thresholds.toml"
    text = thresholds.read_text(encoding="utf-8")
    thresholds.write_text(f'[cases]\non_miss = "fail"\n{text}', encoding="utf-8")
    system.broken = {"hit 12"}
    assert not forge.run_workflow(cut, branch="main")["evals"].ok
    n_before = len(system.server.asked)
    assert gate_of(forge.artifact("1", "rageval-run"))["verdict"] == "not_evaluated"

    thresholds.write_text(text, encoding="utf-8")
    second = forge.run_workflow(workflow, branch="main", attempt=2)["evals"]
    assert second.ok, second.log
    assert "resumed" in second.log or "goes on" in second.log
    assert 0 < len(system.server.asked) - n_before < N_CASES
    assert gate_of(forge.artifact("1", "rageval-run"))["n_reported"] == N_CASES


def test_the_gitlab_job_does_the_same(forge: Forge, system: System) -> None:
    job = load_yaml(fenced("GitLab", "yaml"))["evals"]
    first = forge.run_gitlab_job(job, branch="main")
    assert first.ok
    assert "no run of main yet" in first.log
    assert "no baseline" in first.log
    assert forge.run_gitlab_job(job, branch="change-1").ok
    system.broken = {f"hit {i}" for i in range(6)}
    worse = forge.run_gitlab_job(job, branch="change-2")
    assert not worse.ok
    assert "thresholds.toml::recall_at_k max_drop" in worse.log


def test_three_machines_and_a_merge_decide_as_one_on_gitlab(forge: Forge, system: System) -> None:
    jobs = load_yaml(fenced("Several machines on GitLab", "yaml"))
    total = jobs["part"]["parallel"]
    places = [{"CI_NODE_INDEX": str(n + 1), "CI_NODE_TOTAL": str(total)} for n in range(total)]
    parts = [forge.run_gitlab_job(jobs["part"], branch="a", environ=place) for place in places]
    assert all(part.ok for part in parts)
    assert len(system.server.asked) == N_CASES
    whole = forge.run_gitlab_job(jobs["whole"], branch="a", needs=parts)
    assert whole.ok, whole.log
    run = whole.workspace / "evals" / "results" / "ci"
    assert json.loads((run / "metrics.json").read_text("utf-8"))["total"] == N_CASES


def test_every_action_of_the_page_is_pinned_to_a_major_version_that_is_known() -> None:
    for heading in ("GitHub Actions", "Several machines"):
        jobs = load_yaml(fenced(heading, "yaml"))["jobs"].values()
        used = {step["uses"] for job in jobs for step in job["steps"] if "uses" in step}
        assert used <= INPUTS.keys()
        assert len(used) >= 5
