from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_rageval.authoring.interchange.files import write_corpus
from pytest_rageval.project.documents import Document
from pytest_rageval.values.errors import DatasetError

ROSES = Document(rel_path="a/roses.md", text="Red.", source_id="r", metadata={"title": "Roses"})
BEANS = Document(rel_path="beans.md", text="Green.", source_id="b")


def test_notes_have_their_paths_and_titles(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert write_corpus(tmp_path / "notes", [ROSES, BEANS], as_notes=True) == 2
    assert (tmp_path / "notes/a/roses.md").read_text(encoding="utf-8") == "# Roses\n\nRed."
    assert (tmp_path / "notes/beans.md").read_text(encoding="utf-8") == "Green."


def test_lines_have_the_layout_of_beir(tmp_path: Path) -> None:
    assert write_corpus(tmp_path / "c", [ROSES, BEANS], as_notes=False) == 2
    lines = (tmp_path / "c/corpus.jsonl").read_text(encoding="utf-8").splitlines()
    assert list(map(json.loads, lines)) == [
        {"_id": "r", "title": "Roses", "text": "Red."},
        {"_id": "b", "title": "", "text": "Green."},
    ]


def test_a_filled_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("x", encoding="utf-8")
    with pytest.raises(DatasetError, match="exists, and nothing is overwritten"):
        write_corpus(tmp_path, [ROSES], as_notes=True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.md"]


def test_a_corpus_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[Document]:
        yield ROSES
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_corpus(tmp_path / "c", broken(), as_notes=True)
    assert list(tmp_path.iterdir()) == []
