from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_rageval.authoring.scaffold.plan import (
    ScaffoldError,
    read_project,
    read_templates,
    write_scaffold,
)
from pytest_rageval.project.case_reader import load_cases
from tests.build.root_rights import without_root_rights


def start(folder: Path) -> dict[str, bool]:
    return dict(write_scaffold(folder, read_project(folder)))


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_second_start_changes_nothing(tmp_path: Path) -> None:
    start(tmp_path)
    before = tree(tmp_path)
    assert not any(start(tmp_path).values())
    assert tree(tmp_path) == before


@pytest.mark.parametrize("path", ["evals/eval_set.jsonl", "thresholds.toml", ".gitignore"])
def test_a_file_that_exists_stays_byte_for_byte(path: str, tmp_path: Path) -> None:
    kept = tmp_path / path
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(b"\xff mine\r\n")
    done = start(tmp_path)
    assert [name for name, created in done.items() if not created] == [path]
    assert kept.read_bytes() == b"\xff mine\r\n"


def test_a_file_that_appears_meanwhile_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def be_late(source: Path, target: Path) -> None:
        if target.name == "thresholds.toml":
            target.write_bytes(b"theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", be_late)
    assert start(tmp_path)["thresholds.toml"] is False
    assert (tmp_path / "thresholds.toml").read_bytes() == b"theirs"


def test_an_interrupted_start_leaves_no_part_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(source: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "link", interrupt)
    with pytest.raises(KeyboardInterrupt):
        start(tmp_path)
    assert tree(tmp_path) == {}


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with without_root_rights(), pytest.raises(ScaffoldError, match=r"cannot be written: Perm"):
            start(tmp_path)
    finally:
        tmp_path.chmod(0o700)


def test_the_example_cases_are_sound_and_of_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(read_templates()["cases.jsonl"])
    loaded = load_cases(path)
    assert loaded.warnings == ()
    cases = [one.case for one in loaded.cases]
    assert any(case.category == "multi_hop" and case.required_support_groups for case in cases)
    assert sum(not case.answerable for case in cases) >= 3
