"""Cases read from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval import Case, DatasetError, load_cases

SET = Path("set.jsonl")


def test_a_case_file_is_a_tuple_of_cases_in_its_order() -> None:
    SET.write_text('{"id": "b", "question": "?"}\n{"id": "a", "question": "!"}\n', "utf-8")
    assert load_cases(SET) == load_cases("set.jsonl")
    assert load_cases(SET) == (Case(id="b", question="?"), Case(id="a", question="!"))


def test_every_fault_of_a_file_is_named() -> None:
    SET.write_text('{"id": "b"}\n{"id": "b", "question": "!"}\n{}\n', "utf-8")
    with pytest.raises(DatasetError) as found:
        load_cases(SET)
    assert [line.split(":")[1] for line in str(found.value).splitlines()] == ["1", "2", "3", "3"]
    with pytest.raises(DatasetError, match=r"gone\.jsonl"):
        load_cases("gone.jsonl")
