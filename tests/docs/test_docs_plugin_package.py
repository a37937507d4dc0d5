"""The README of the example package shows parts of it, which is built, installed and used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.build.projects import clear_settings
from tests.docs.examples import sections
from tests.plugin.scratch import Project, case
from tests.test_public_names import MYPY

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples/acme_rag_metrics"
README = (PACKAGE / "README.md").read_text(encoding="utf-8")
BLOCKS = [b.text for section in sections(README) for b in section.blocks]
FILES = {match[1]: text for text in BLOCKS if (match := re.match(r"# (\S+)\n", text))}


def python(*arguments: str, cwd: Path, path: Path = ROOT) -> str:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (path, ROOT)))}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_shows_what_the_package_holds() -> None:
    files = [*PACKAGE.rglob("*.py"), PACKAGE / "pyproject.toml"]
    whole = "\n".join(file.read_text(encoding="utf-8") for file in files)
    shown = [text for text in BLOCKS if text not in FILES.values()]
    assert len(shown) >= 5
    assert [text for text in shown if text.strip() not in whole] == []


@pytest.mark.slow
def test_the_tests_of_the_package_pass(tmp_path: Path) -> None:
    shown = python("-m", "pytest", "-q", "-p", "no:cacheprovider", str(PACKAGE), cwd=tmp_path)
    assert "4 passed" in shown


@pytest.mark.slow
def test_the_package_has_no_error_under_strict_types(tmp_path: Path) -> None:
    shown = python(*MYPY, str(PACKAGE / "src/acme_rag_metrics"), cwd=tmp_path)
    assert "no issues found in 3 source files" in shown


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_the_installed_package_scores_a_project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    pytest.importorskip("hatchling")
    clear_settings(monkeypatch)
    project = Project(pytester)
    dist, site = project.path / "dist", project.path / "site"
    python("-m", "hatchling", "build", "-t", "wheel", "-d", str(dist), cwd=PACKAGE)
    (wheel,) = dist.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(site)
    for name, text in FILES.items():
        project.write(name, text)
    project.cases([case("one", "hit one", metadata={"tenant": "north"},
                        expected_key_facts=["the answer"])])  # fmt: skip
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (site, ROOT))))
    result = project.run_apart("--rageval-run-id", "one", *workers)
    assert result.ret == 0, result.stdout.str()
    assert "judge acme-key-facts/1" in result.stdout.str()
    record = project.records()["one"]
    assert record["metrics"]["acme.pii_free"] == 1.0
    assert record["metrics"]["acme.answer_words"] == 3.0
    metrics = project.stored("metrics.json")
    assert metrics["run_metrics"]["acme.distinct_documents"]["value"] == 1.0
    assert project.stored("sections.json")["sections"][0]["rows"] == [["north", 0.0]]
