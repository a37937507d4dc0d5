from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.authoring.labelling.draft import Draft
from pytest_rageval.authoring.labelling.store import (
    append_entry,
    check_annotator,
    labels_path,
    read_labels,
)
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.errors import ConfigError, DatasetError

ENTRY: dict[str, Any] = {
    "schema_version": 1,
    "file": "cases.jsonl",
    "id": "a",
    "answerable": True,
    "gold_supports": [{"rel_path": "x.md", "snippets": ["s"]}],
    "required_support_groups": [[0]],
    "notes": "n",
    "chunks": [{"rel_path": "x.md", "heading_path": None, "text_hash": "0", "marked": True}],
    "at": "2026",
}


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    return tmp_path / "cases.jsonl"


@pytest.mark.parametrize("name", ["ann", "Ann.B-2_c", "0"])
def test_a_plain_name_is_an_annotator(name: str) -> None:
    assert check_annotator(name) == name


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "a\\b", ".a", "a.", "a b", "é", "a\n", "con", "NUL.x", "x" * 65,
     "adjudicated", "Adjudicated"],
)  # fmt: skip
def test_a_name_that_is_no_safe_file_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="--annotator"):
        check_annotator(name)


def test_labels_of_a_case_file_that_is_gone_are_named_and_those_of_another_are_not(
    cases: Path,
) -> None:
    path = labels_path(cases, "ann")
    for file in ("cases.jsonl", "old.jsonl", "old.jsonl", "other.jsonl"):
        append_entry(path, {**ENTRY, "file": file})
    (cases.parent / "other.jsonl").touch()
    found = read_labels(cases)
    assert len(found.entries) == 1
    [note] = found.notes
    assert "labels/ann.jsonl: 2 labels of 'old.jsonl', which is not there, left out" in note


def test_entries_are_added_and_read_back(cases: Path) -> None:
    path = labels_path(cases, "ann")
    append_entry(path, ENTRY)
    first = path.read_bytes()
    append_entry(path, {**ENTRY, "id": "b"})
    assert path.read_bytes().startswith(first)
    entries = read_labels(cases).entries
    assert [(e.annotator, e.id) for e in entries] == [("ann", "a"), ("ann", "b")]
    assert entries[0].draft == Draft(
        golds=(Anchor(rel_path="x.md", snippets=("s",)),),
        groups=((0,),),
        notes="n",
        answerable=True,
    )


def test_a_line_that_was_cut_short_is_left_out_and_gone_with_the_next_save(cases: Path) -> None:
    path = labels_path(cases, "ann")
    append_entry(path, ENTRY)
    path.write_bytes(path.read_bytes() + path.read_bytes()[:20])
    found = read_labels(cases)
    assert (len(found.entries), len(found.notes)) == (1, 1)
    append_entry(path, {**ENTRY, "id": "b"})
    found = read_labels(cases)
    assert ([entry.id for entry in found.entries], found.notes) == (["a", "b"], ())
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))  # complete but for its end
    append_entry(path, {**ENTRY, "id": "c"})
    assert [entry.id for entry in read_labels(cases).entries] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "change",
    [
        {"schema_version": 2}, {"id": 1}, {"answerable": "yes"}, {"gold_supports": {}},
        {"gold_supports": [{"heading_path": "x"}]}, {"gold_supports": [{"rel_path": 1}]},
        {"gold_supports": [{"rel_path": "x", "snippets": "s"}]}, {"notes": 1},
        {"required_support_groups": [[1]]}, {"required_support_groups": [0]}, {"chunks": [{}]},
        {"chunks": [3]}, {"at": []},
    ],
    ids=str,
)  # fmt: skip
def test_a_line_that_is_no_entry_is_named(cases: Path, change: dict[str, Any]) -> None:
    append_entry(labels_path(cases, "ann"), {**ENTRY, **change})
    with pytest.raises(DatasetError, match=rf"labels/ann\.jsonl:1: {next(iter(change))}"):
        read_labels(cases)
