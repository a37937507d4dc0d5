from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.project.discovery import (
    cases_folder,
    iter_case_files,
    selected_files,
)
from pytest_rageval.values.settings import Settings


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    names = (
        "evals/b.jsonl",
        "evals/a.jsonl",
        "evals/deep/c.jsonl",
        "evals/results/run/results.jsonl",
        "evals/deep/cassettes/d.jsonl",
        "evals/cache/e.jsonl",
        "evals/labels/f.jsonl",
        "evals/documents/g.jsonl",
        "evals/notes/h.jsonl",
        "evals/readme.md",
        "evals/.a.jsonl.lock",  # left by a killed command
        "evals/.a.jsonl.rageval-7.tmp",
        "data/i.jsonl",
    )
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    return tmp_path


def found(tree: Path, *testpaths: str, vault: str | None = None) -> list[str]:
    files = iter_case_files(rootdir=tree, testpaths=testpaths, vault=vault)
    return [file.relative_to(tree).as_posix() for file in files]


def test_the_folder_of_the_cases_is_that_of_the_first_test_path(tree: Path) -> None:
    for first in ("evals", "evals/a.jsonl"):
        settings = Settings(rootdir=str(tree), testpaths=(first, "data"))
        assert cases_folder(settings) == tree / "evals"


@pytest.mark.parametrize("vault", [None, ".", "evals"])
def test_case_files_below_a_test_path_are_found_in_order(tree: Path, vault: str | None) -> None:
    expected = ["evals/a.jsonl", "evals/b.jsonl", "evals/deep/c.jsonl", "evals/notes/h.jsonl"]
    assert found(tree, "evals", vault=vault) == expected


def test_folders_that_hold_no_case_files_are_not_entered(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered: list[str] = []
    scan = os.scandir

    def noting(path: str) -> Any:
        entered.append(Path(path).relative_to(tree).as_posix())
        return scan(path)

    monkeypatch.setattr(os, "scandir", noting)
    assert found(tree, "evals")
    assert sorted(entered) == ["evals", "evals/deep", "evals/notes"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["."], ["evals/a.jsonl", "evals/deep/c.jsonl"]),
        (["evals/deep"], ["evals/deep/c.jsonl"]),
        (["evals/a.jsonl::some-id"], ["evals/a.jsonl"]),
        (["evals/../evals/a.jsonl"], ["evals/a.jsonl"]),
        (["data/i.jsonl"], ["data/i.jsonl"]),
        (["data"], []),
        (["tests", "evals/deep"], ["evals/deep/c.jsonl"]),
        (["evals/missing.jsonl"], []),
    ],
)
def test_arguments_select_files(tree: Path, arguments: list[str], expected: list[str]) -> None:
    known = [tree / "evals/a.jsonl", tree / "evals/deep/c.jsonl"]
    chosen = selected_files(arguments, known, invocation_dir=tree)
    assert [file.relative_to(tree).as_posix() for file in chosen] == expected
