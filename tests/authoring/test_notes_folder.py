""""""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pytest_rageval.authoring.notes import (
    NotesError,
    gold_texts,
    parse_note,
    read_document_notes,
    read_notes,
)
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.errors import DatasetError


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


# ---

NOTE = parse_note(
    "docs/A b.md", b"# Top\n\none\n\n## Part\n\ntwo\n\n### Deep\n\nthree\n\n## Other\n"
)


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        ("", "# Top\n\none\n\n## Part\n\ntwo\n\n### Deep\n\nthree\n\n## Other"),
        ("# Top > ## Part", "## Part\n\ntwo\n\n### Deep\n\nthree"),
        ("Top > Part > Deep", "### Deep\n\nthree"),
    ],
)
def test_the_text_of_a_gold_is_its_section_with_those_below(heading: str, text: str) -> None:
    gold = Anchor(rel_path="docs/A%20b.md", heading_path=heading)
    assert gold_texts([gold], [NOTE]) == {gold: text}


def test_snippets_stand_in_for_a_section_that_is_not_there() -> None:
    quoted = Anchor(rel_path="lost.md", snippets=("One.", "Two."))
    moved = Anchor(rel_path="docs/A b.md", heading_path="# Gone", snippets=("Three.",))
    unknown = Anchor(rel_path="lost.md")
    assert gold_texts([quoted, moved, unknown], [NOTE]) == {quoted: "One.\nTwo.", moved: "Three."}


def test_documents_beside_case_files_are_notes(tmp_path: Path) -> None:
    folder = tmp_path / "evals/documents"
    folder.mkdir(parents=True)
    lines = [
        {"scope_prefix": "evals/handbook/"},
        {"rel_path": "evals/handbook/a.md", "text": "# A\n\nPumps."},
    ]
    (folder / "set.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    files = [tmp_path / "evals/set.jsonl", tmp_path / "evals/other.jsonl"]
    notes = read_document_notes(files, None)
    gold = Anchor(rel_path="evals/handbook/a.md", heading_path="# A")
    assert gold_texts([gold], notes) == {gold: "# A\n\nPumps."}


def test_documents_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents/set.jsonl").write_text("{}", encoding="utf-8")
    with pytest.raises(DatasetError):
        read_document_notes([tmp_path / "set.jsonl"], None)
