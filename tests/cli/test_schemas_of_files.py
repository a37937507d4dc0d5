"""Files of runs, of this version and of every past one, against their schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.cli.schemas import FILES, json_schema
from tests.build.projects import work_in
from tests.hostile.project import make_project

DOCUMENTS = [name for name in FILES if name != "record"]
FORMATS = Path(__file__).resolve().parents[1] / "data" / "formats"


def faults(name: str, documents: list[Path]) -> list[str]:
    validator = jsonschema.Draft202012Validator(json_schema(name))
    read = (json.loads(path.read_bytes()) for path in documents)
    return [
        f"{fault.json_path}: {fault.message}"
        for one in read
        for fault in validator.iter_errors(one)
    ]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_of_past_formats_are_valid(name: str) -> None:
    stored = list(FORMATS.rglob(f"{name}.json"))
    assert stored or name == "groups"
    assert faults(name, stored) == []


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the results of scored and merged runs."""
    folder = tmp_path_factory.mktemp("written") / "project"
    with pytest.MonkeyPatch.context() as patch:
        work_in(folder, patch)
        patch.setenv("RAGEVAL_DB", "evals/history.sqlite")
        make_project(folder)
        assert cli.run(["merge", "two", "more", "--run-id", "merged"]) in {0, 1}
    return folder / "evals" / "results"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_that_are_written_are_valid_and_every_field_is_described(
    written: Path, name: str
) -> None:
    stored = [*written.glob(f"*/{name}.json")]
    assert stored
    assert faults(name, stored) == []
    described = json_schema(name)["properties"]
    assert {key for path in stored for key in json.loads(path.read_bytes())} <= described.keys()


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("gate", {"verdict": "maybe"}), ("metrics", {"total": "4"}), ("config", {"asked": 1})],
)
def test_another_value_is_none_of_a_document(name: str, wrong: dict[str, Any]) -> None:
    stored = json.loads(next(FORMATS.rglob(f"{name}.json")).read_bytes())
    validator = jsonschema.Draft202012Validator(json_schema(name))
    assert validator.is_valid(stored)
    assert not validator.is_valid({**stored, **wrong})


def test_stored_records_of_every_format_are_valid() -> None:
    validator = jsonschema.Draft202012Validator(json_schema("record"))
    texts = [path.read_text(encoding="utf-8") for path in FORMATS.rglob("results.jsonl")]
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    assert lines
    assert [fault.message for one in lines for fault in validator.iter_errors(one)] == []
    assert not validator.is_valid({**lines[0], "repeat": "x"})
