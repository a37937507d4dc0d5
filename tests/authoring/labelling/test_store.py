""""""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.analysis.stats.agreement import kappa, krippendorff_alpha
from pytest_rageval.authoring.labelling.draft import Draft
from pytest_rageval.authoring.labelling.store import (
    LabelEntry,
    SeenChunk,
    agreement_document,
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


# ---


def entries(marks: Mapping[str, Mapping[str, str]]) -> list[LabelEntry]:
    """By annotator and case: a letter for every chunk, x marked, - not, blank not seen."""
    return [
        LabelEntry(
            annotator=name,
            file="c.jsonl",
            id=case_id,
            answerable="x" in row,
            chunks=tuple(
                SeenChunk(rel_path="a", heading_path=None, text_hash=str(i), marked=mark == "x")
                for i, mark in enumerate(row)
                if mark != " "
            ),
        )
        for name, cases in marks.items()
        for case_id, row in cases.items()
    ]


ANN = {"one": "xx--", "two": "x---", "three": "----"}
BOB = {"one": "x---", "two": "xx--", "three": "----"}


def test_two_annotators_have_cohens_kappa_by_chunk_and_by_case() -> None:
    document = agreement_document(entries({"ann": ANN, "bob": BOB}))
    rows = ["".join(cases[case_id] for case_id in ANN) for cases in (ANN, BOB)]
    a, b = ([float(mark == "x") for mark in row] for row in rows)
    chunks = document["chunks"]
    assert chunks["statistic"] == "cohen_kappa"
    assert chunks["value"] == kappa(a, b, categories=(0.0, 1.0))
    assert (chunks["n"], chunks["n_cases"], chunks["observed"]) == (12, 3, 10 / 12)
    assert chunks["low"] <= chunks["value"] <= chunks["high"]
    assert (document["answerable"]["value"], document["answerable"]["n"]) == (1.0, 3)
    assert document["annotators"] == {"ann": 3, "bob": 3}


def test_three_annotators_with_gaps_have_krippendorffs_alpha() -> None:
    marks = {"ann": ANN, "bob": BOB, "cat": {"one": "xx- ", "four": "x---"}}
    document = agreement_document(entries(marks))
    data = [
        [float(m == "x") if m != " " else None for c in ("one", "two", "three", "four")
         for m in cases.get(c, "    ")]
        for cases in marks.values()
    ]  # fmt: skip
    assert document["chunks"]["statistic"] == "krippendorff_alpha"
    assert document["chunks"]["value"] == krippendorff_alpha(data, level="nominal")
    assert (document["chunks"]["n"], document["chunks"]["n_cases"]) == (12, 3)


def test_only_the_last_label_of_a_case_counts() -> None:
    found = agreement_document(
        [*entries({"ann": ANN}), *entries({"ann": {"one": "x---"}, "bob": BOB})]
    )
    assert found["chunks"]["observed"] == 11 / 12


@settings(max_examples=30, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["ann", "bob", "cat"]),
        st.dictionaries(st.sampled_from("abc"), st.text("x- ", max_size=4), max_size=3),
        max_size=3,
    )
)
def test_agreement_is_at_most_one_whatever_is_labelled(marks: dict[str, dict[str, str]]) -> None:
    document = agreement_document(entries(marks))
    for key in ("chunks", "answerable"):
        value, observed = document[key]["value"], document[key]["observed"]
        assert value is None or -1 <= value <= 1
        assert observed is None or 0 <= observed <= 1
        assert (value == 1) == (observed == 1 and value is not None)
