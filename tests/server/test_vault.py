from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_rageval.server.vault import (
    Vault,
    finding_lines,
    folder_contains,
    read_vault,
)
from tests.server.builders import ask, make_engine, retrieved, write_vault


def warnings_of(vault: Vault) -> list[str]:
    return finding_lines(vault.findings)


def test_markdown_files_are_read_in_order_of_path(tmp_path: Path) -> None:
    write_vault(tmp_path, {"b/x.md": "x", "a.markdown": "a", "C.MD": "c", "d.txt": "d"})
    assert [note.rel_path for note in read_vault(tmp_path).notes] == [
        "C.MD",
        "a.markdown",
        "b/x.md",
    ]


def test_a_link_out_of_the_vault_is_never_read_and_is_named(tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("the secret word is xylophone", encoding="utf-8")
    root = write_vault(tmp_path / "vault", {"a.md": "# A\nplain text\n"})
    (root / "stolen.md").symlink_to(secret)
    engine = make_engine(root)
    (warning,) = engine.index.coverage["warnings"]
    assert warning == "stolen.md: not read: a symbolic link that leads out of the vault"
    response = ask(engine, "what is the secret word xylophone?")
    assert not any("xylophone" in chunk["text"] for chunk in retrieved(response))
    assert response["abstained"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_fifo_does_not_block_the_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    assert warnings_of(read_vault(tmp_path)) == ["pipe.md: not read: no plain file"]


def test_invalid_utf_8_is_read_with_a_warning(tmp_path: Path) -> None:
    write_vault(tmp_path, {"a.md": b"# A\nok\nbad \xff byte\n"})
    vault = read_vault(tmp_path)
    assert len(vault.notes) == 1
    assert warnings_of(vault) == ["a.md: invalid UTF-8 at byte 11 (line 3); read with U+FFFD there"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [("# A".encode("utf-16"), "UTF-16"), (b"PK\x00\x01", "NUL bytes")],
)
def test_a_file_that_is_not_text_is_skipped(tmp_path: Path, data: bytes, problem: str) -> None:
    write_vault(tmp_path, {"a.md": data})
    vault = read_vault(tmp_path)
    assert vault.notes == ()
    assert problem in warnings_of(vault)[0]


@pytest.mark.parametrize(
    ("folder", "rel_path", "inside"),
    [
        ("notes", "notes/a.md", True),
        ("notes/", "notes/deep/a.md", True),
        ("notes", "notes-archive/a.md", False),
        ("a.md", "a.md", False),
        (".", "a.md", True),
        ("", "x/a.md", True),
        ("H\u00e4user", "Ha\u0308user/a.md", True),
        ("Ha\u0308user/", "H\u00e4user/a.md", True),
    ],
)
def test_a_folder_holds_paths_by_whole_segments(folder: str, rel_path: str, inside: bool) -> None:
    assert folder_contains(folder, rel_path) is inside
