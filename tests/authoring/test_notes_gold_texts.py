from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval.authoring.notes import gold_texts, parse_note, read_document_notes
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.errors import DatasetError

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
