"""Plug-ins that people have beside this one: same counts, same numbers, no lost case.

``make test-plugins`` installs them and lets the tests run; elsewhere they are skipped.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.long_runs import figures

MODULES = (
    "pytest_asyncio", "pytest_randomly", "pytest_rerunfailures", "pytest_timeout", "pytest_cov",
    "pytest_sugar", "pytest_html", "pytest_order", "pytest_bdd", "pytest_repeat", "allure_pytest",
)  # fmt: skip
MISSING = [module for module in MODULES if find_spec(module) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]
ALONE = tuple(
    argument
    for name in "asyncio randomly rerunfailures timeout pytest_cov sugar html pytest_order repeat"
    " pytest-bdd allure_pytest".split()
    for argument in ("-p", f"no:{name}")
)
OPTIONS = {
    "all": (),
    "random order": ("-p", "randomly"),
    "reruns": ("--reruns", "2"),
    "timeout": ("--timeout", "60"),
    "coverage": ("--cov", "evals"),
    "sugar": ("--force-sugar",),
    "html": ("--html", "out.html", "--self-contained-html"),
    "order": ("--indulgent-ordering",),
    "allure": ("--alluredir", "allure"),
    "several": ("--reruns", "1", "--timeout", "60", "--html", "out.html"),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of ``rageval init``, with a run of its own named ``alone``."""
    folder = tmp_path_factory.mktemp("neighbours")
    called(folder, "pytest_rageval.cli.main", "init")
    run(folder, "alone", *ALONE)
    return folder


def called(folder: Path, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        env={**os.environ, "COLUMNS": "80"},
        check=False,
    )
    assert done.returncode == code, done.stdout
    return done.stdout


def run(folder: Path, run_id: str, *arguments: str, code: int = 0) -> str:
    return called(folder, "pytest", "evals", "--rageval-run-id", run_id, *arguments, code=code)


def metrics(folder: Path, run_id: str) -> dict[str, Any]:
    path = folder / "evals" / "results" / run_id / "metrics.json"
    return figures(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
@pytest.mark.parametrize("name", OPTIONS)
def test_a_neighbour_changes_no_number(project: Path, name: str, workers: tuple[str, ...]) -> None:
    run_id = f"{name.replace(' ', '-')}{len(workers)}"
    printed = run(project, run_id, *OPTIONS[name], *workers)
    assert metrics(project, run_id) == metrics(project, "alone")
    assert "INTERNALERROR" not in printed
    assert "Traceback" not in printed
    if name != "sugar":  # it has a summary of its own
        counts = dict(re.findall(r"((?:checks: )?\d+ (passed|missed|flawed))", printed))
        assert sorted(counts) == ["1 flawed", "12 passed", "3 missed", "checks: 7 passed"]


def test_each_repeat_is_a_case_of_its_own(project: Path) -> None:
    printed = run(project, "repeated", "--count", "2")
    assert "24 passed" in printed
    assert "6 missed" in printed
