"""Keys of the runs of a project and of a folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pytest_rageval.runs.history.sync import Origin, find_origin


def origin(rootdir: Path, project: str | None = None, **environ: str) -> Origin:
    return find_origin(rootdir, rootdir / "evals/results", environ, project=project)


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


@pytest.mark.parametrize(
    "remote",
    [
        "https://github.com/acme/bot.git",
        "https://ann:ghp_sesame@GitHub.com/acme/bot",
        "git@github.com:acme/bot.git",
        "ssh://git@github.com:22/acme/bot.git/",
    ],
)
def test_clones_of_a_repository_are_one_project(tmp_path: Path, remote: str) -> None:
    keys = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init")
        git(tmp_path / name, "remote", "add", "origin", remote)
        keys.add(origin(tmp_path / name).project)
    assert keys == {"github.com/acme/bot:evals/results"}


def test_without_a_repository_folders_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        folder = tmp_path / name / "bot"
        folder.mkdir(parents=True)
        found.append(origin(folder).project)
    assert found[0] != found[1]
    assert all(key.startswith("bot-") for key in found)


def test_a_folder_is_told_from_others_by_a_hash_that_names_nobody(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    one, two = origin(tmp_path / "one", "bot"), origin(tmp_path / "two", "bot")
    assert one.source != two.source
    assert one == origin(tmp_path / "one", "bot")
    assert len(one.source) == 16
    assert int(one.source, 16) >= 0
