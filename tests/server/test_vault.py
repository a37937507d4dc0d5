from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_rageval.server.vault import (
    Vault,
    VaultError,
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


def test_hidden_files_and_folders_are_left_out_silently(tmp_path: Path) -> None:
    write_vault(tmp_path, {".git/x.md": "x", "a/.hidden.md": "x", "a/b.md": "b"})
    vault = read_vault(tmp_path)
    assert ([note.rel_path for note in vault.notes], warnings_of(vault)) == (["a/b.md"], [])


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


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    write_vault(tmp_path / "other", {"x.md": "x"})
    root = write_vault(tmp_path / "vault", {"a.md": "a"})
    (root / "linked").symlink_to(tmp_path / "other", target_is_directory=True)
    (root / "loop").symlink_to(root, target_is_directory=True)
    vault = read_vault(root)
    assert [note.rel_path for note in vault.notes] == ["a.md"]
    assert [line.split(":")[0] for line in warnings_of(vault)] == ["linked", "loop"]


def test_a_link_inside_the_vault_is_read(tmp_path: Path) -> None:
    root = write_vault(tmp_path, {"a.md": "text"})
    (root / "b.md").symlink_to(root / "a.md")
    assert [note.data for note in read_vault(root).notes] == [b"text", b"text"]


def test_a_broken_link_is_named(tmp_path: Path) -> None:
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere.md")
    assert warnings_of(read_vault(tmp_path))[0].startswith("gone.md: not read: ")


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


def test_a_file_name_with_a_newline_keeps_its_warning_on_one_line(tmp_path: Path) -> None:
    write_vault(tmp_path, {"a\nb.md": b"\x00"})
    assert "\n" not in warnings_of(read_vault(tmp_path))[0]


def test_a_file_name_that_is_not_utf_8_is_skipped(tmp_path: Path) -> None:
    try:
        with open(os.fsencode(tmp_path) + b"/\xff.md", "wb") as stream:
            stream.write(b"x")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    vault = read_vault(tmp_path)
    assert vault.notes == ()
    assert "file name is not valid UTF-8" in warnings_of(vault)[0]


def test_a_missing_vault_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(VaultError, match=r"nowhere.*does not exist"):
        read_vault(tmp_path / "nowhere")
    with pytest.raises(VaultError, match="does not exist"):
        read_vault(tmp_path / ("v" * 5_000))
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(VaultError, match="is not a folder"):
        read_vault(tmp_path / "file")


def test_empty_notes_are_counted_as_documents_without_chunks(tmp_path: Path) -> None:
    write_vault(tmp_path, {"empty.md": "", "a.md": "# A\ntext\n"})
    coverage = make_engine(tmp_path).index.coverage
    assert (coverage["docs_processed"], coverage["docs_with_0_chunks"]) == (2, 1)
    assert coverage["by_doc_type"]["markdown"]["docs_with_0_chunks"] == 1


def test_an_empty_vault_is_served_and_abstains(tmp_path: Path) -> None:
    response = ask(make_engine(tmp_path), "anything at all?")
    assert response["abstained"]
    assert retrieved(response) == []
    assert response["debug"]["indexing_coverage"]["chunk_token_stats"]["mean"] is None


def test_a_note_of_five_megabytes_is_indexed_and_found(tmp_path: Path) -> None:
    filler = ("Plain words fill this paragraph of the long note. " * 40 + "\n\n") * 2500
    text = f"# Long\n\n{filler}\n\n## End\n\nThe zanzibar protocol starts at noon.\n"
    assert len(text) > 5_000_000
    write_vault(tmp_path, {"long.md": text})
    response = ask(make_engine(tmp_path), "when does the zanzibar protocol start?")
    assert retrieved(response)[0]["heading_path"] == "# Long > ## End"


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
