from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_rageval.authoring.notes import NotesError, read_notes


def names(folder: Path) -> list[str]:
    return [note.rel_path for note in read_notes(folder).notes]


def test_notes_are_read_in_order_of_path_and_nothing_else_is(tmp_path: Path) -> None:
    for name in ("b.md", "a/x.MARKDOWN", "a.txt", ".hidden.md", ".git/c.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("# A", encoding="utf-8")
    assert names(tmp_path) == ["a/x.MARKDOWN", "b.md"]


@pytest.mark.parametrize(
    ("data", "reason"), [(b"\xff\xfeA\0", "not UTF-8 text"), (b"a\0b", "not UTF-8 text")]
)
def test_what_is_no_text_is_left_out_with_its_reason(
    data: bytes, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_bytes(data)
    vault = read_notes(tmp_path)
    assert vault.notes == ()
    assert vault.skipped == (("a.md", reason),)


@pytest.mark.posix
def test_a_link_out_of_the_folder_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# S", encoding="utf-8")
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").symlink_to(tmp_path / "secret.md")
    (vault / "lost.md").symlink_to(vault / "none.md")
    (vault / "loop.md").symlink_to(vault / "loop.md")
    os.mkfifo(vault / "pipe.md")
    read = read_notes(vault)
    assert read.notes == ()
    reasons = dict(read.skipped)
    assert reasons["a.md"] == "a symbolic link that leads out of the folder"
    assert reasons["pipe.md"] == "it is not a plain file, but a pipe or a device"
    assert set(reasons) == {"a.md", "lost.md", "loop.md", "pipe.md"}


@pytest.mark.parametrize("name", ["none", "file"])
def test_what_is_no_folder_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotesError, match=f"{name}: is not a folder of Markdown notes"):
        read_notes(tmp_path / name)
