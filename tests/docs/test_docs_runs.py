"""The commands of the page on changed cases and two branches, in a repository of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.examples import Block, read_document, sections


def _block(title: str) -> Block:
    (section,) = [one for one in sections(read_document("runs.md")) if one.title == title]
    return next(block for block in section.blocks if block.language == "bash")


def _shell(folder: Path, commands: str) -> tuple[int, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAGEVAL_")}
    who = {
        f"GIT_{one}_{of}": "a@b.c" for one in ("AUTHOR", "COMMITTER") for of in ("NAME", "EMAIL")
    }
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", commands],
        cwd=folder,
        env={**kept, **who, "PATH": path, "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout


def _commit(folder: Path) -> None:
    code, out = _shell(folder, "git add . && git commit -qm all")
    assert code == 0, out


@pytest.mark.slow
def test_two_branches_are_compared_over_the_cases_of_one(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    code, out = _shell(folder, "rageval init && git init -q -b main .")
    assert code == 0, out
    _commit(folder)
    code, out = _shell(folder, "git checkout -qb mine && rm evals/vault/policies/lending.md")
    assert code == 0, out
    _commit(folder)
    code, out = _shell(folder, _block("Two branches").text)
    assert code == 0, out
    assert "flips    3 worse, 0 better, 13 unchanged" in out
    assert (folder / "evals/results/base/metrics.json").is_file()
    assert not (tmp_path / "main-tree").exists()
