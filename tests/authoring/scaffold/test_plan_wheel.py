"""The files of a new project are in the package that users install."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pytest_rageval.authoring.scaffold.plan import read_templates
from tests.build.yaml_values import load_yaml

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_every_template_is_in_the_wheel_as_it_is_here(tmp_path: Path) -> None:
    build = f"import hatchling.build; print(hatchling.build.build_wheel({str(tmp_path)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", build],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=120,
    )
    with zipfile.ZipFile(tmp_path / done.stdout.split()[-1]) as wheel:
        prefix = "pytest_rageval/authoring/scaffold/files/"
        held = {
            name.removeprefix(prefix): wheel.read(name)
            for name in wheel.namelist()
            if name.startswith(prefix)
        }
    assert held == read_templates()


def test_the_job_of_github_is_a_checkout_and_the_action() -> None:
    job = load_yaml(read_templates()["workflow.yml"].decode("utf-8"))["jobs"]["evals"]
    assert [step["uses"].rpartition("@")[0] for step in job["steps"]] == [
        "actions/checkout",
        "OWNER/pytest-rageval",
    ]
    assert job["timeout-minutes"] > 0


def test_the_pipeline_of_gitlab_includes_the_job_of_this_repository() -> None:
    (included,) = load_yaml(read_templates()["gitlab.yml"].decode("utf-8"))["include"]
    assert (ROOT / included["remote"].partition("/v1/")[2]).is_file()
