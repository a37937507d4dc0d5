"""The commands of the page on changed cases and two branches, in a repository of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.examples import Block, read_document, sections

CASES: list[dict[str, object]] = [
    {"id": name, "question": f"{name}?", "answerable": False} for name in ("a1", "b2", "c3")
]


def _block(title: str) -> Block:
    (section,) = [one for one in sections(read_document("changes.md")) if one.title == title]
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


def _write(folder: Path, cases: list[dict[str, object]]) -> None:
    text = "".join(f"{json.dumps(case)}\n" for case in cases)
    (folder / "evals/eval_set.jsonl").write_text(text, encoding="utf-8")


def _commit(folder: Path) -> None:
    code, out = _shell(folder, "git add . && git commit -qm all")
    assert code == 0, out


def test_the_changed_cases_are_the_ones_whose_lines_differ_from_main(tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    assert _shell(tmp_path, "git init -q -b main .")[0] == 0
    _write(tmp_path, CASES)
    _commit(tmp_path)
    _write(
        tmp_path, [CASES[0], {**CASES[1], "question": "other?"}, CASES[2], {**CASES[0], "id": "d4"}]
    )
    (tmp_path / "evals/new.jsonl").write_text(json.dumps(CASES[0]) + "\n", encoding="utf-8")
    assert _shell(tmp_path, "git add -N evals/new.jsonl")[0] == 0
    code, out = _shell(tmp_path, _block("Only changed cases").text.replace("pytest", "echo"))
    assert code == 0
    assert out.split() == [
        "evals/eval_set.jsonl::b2",
        "evals/eval_set.jsonl::d4",
        "evals/new.jsonl::a1",
    ]


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
