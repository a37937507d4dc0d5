from __future__ import annotations

import json

import pytest

from pytest_rageval.authoring.interchange.parsing import (
    parse_json,
    parse_json_lines,
)
from pytest_rageval.authoring.interchange.values import SourceFile, tidy
from pytest_rageval.values.errors import DatasetError
from tests.authoring.interchange.sources import cases_of, left_out, read_texts


def file(text: str, name: str = "f.yaml") -> SourceFile:
    return SourceFile(name=name, text=text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{", "f.json:1: .* at column 2"),
        ("[" * 100_000, "f.json"),
        ("1" * 5000, "f.json"),
        ("", "f.json:1: .* at column 1"),
    ],
)
def test_faulty_json_names_the_place(text: str, place: str) -> None:
    with pytest.raises(DatasetError, match=place):
        parse_json(file(text, "f.json"))


def test_every_faulty_line_is_named() -> None:
    with pytest.raises(DatasetError) as caught:
        parse_json_lines(file('{"a": 1}\n[1]\n\n{"b"\n', "f.jsonl"))
    assert [fault.line for fault in caught.value.faults] == [2, 4]


def test_values_that_no_case_file_holds_are_tidied() -> None:
    value = json.loads('{"a": NaN, "b": [Infinity], "c": "\\ud800x", "\\ud800": 1}')
    assert tidy(value) == {"a": None, "b": [None], "c": "\ufffdx", "\ufffd": 1}


def test_a_key_that_stands_twice_is_refused_by_its_path() -> None:
    text = '{"cases": [{"question": "first?", "question": "second?"}]}'
    with pytest.raises(DatasetError) as caught:
        parse_json(file(text, "f.json"))
    [fault] = caught.value.faults
    assert (fault.file, fault.field) == ("f.json", "cases[0].question")
    assert fault.code == "duplicate_key"


def test_a_page_of_the_datasets_server_is_its_rows_without_cells_that_are_cut() -> None:
    rows = [
        {"row_idx": 0, "row": {"question": "When?", "answer": "So"}, "truncated_cells": ["answer"]},
        {"row_idx": 1, "row": {"question": "Where?", "answer": "Here."}, "truncated_cells": []},
    ]
    page = {"features": [], "rows": rows, "num_rows_total": 250, "partial": False}
    found = read_texts("json", {"rows.json": json.dumps(page)})
    cut, whole = cases_of(found)
    assert (cut.expected_answer, whole.expected_answer) == (None, "Here.")
    assert left_out(found) == {"answer": 1}
    assert "a page with 2 of the 250 rows of the dataset" in found.notes[0]


@pytest.mark.parametrize("name", ["ragas", "deepeval"])
def test_what_stands_beside_the_rows_of_a_tool_is_counted(name: str) -> None:
    text = json.dumps({"version": 2, "samples": [{"user_input": "a?", "input": "a?"}]})
    found = read_texts(name, {"f.json": text})
    assert (len(found.cases), left_out(found)) == (1, {"version": 1})
