"""docs/python-api.md names what there is, and its sessions print what it shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import pytest_rageval
from pytest_rageval.api.run import COLUMNS, ROW_KEYS
from tests.build.projects import work_in
from tests.build.runs import run_of, write_run
from tests.docs.examples import read_document, run_sessions, sections
from tests.test_public_names import NAMES, parameters

PAGE = read_document("python-api.md")
SECTIONS = {section.title: section for section in sections(PAGE)}


def first_cells(head: str) -> list[str]:
    """Names in the first cells of the table with a heading."""
    table = PAGE.split(f"| {head} |")[1].split("\n\n")[0]
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    return re.findall(r"`(\w+)(?:\(\))?`", " ".join(cells))


def test_the_pages_name_every_public_name() -> None:
    other = next(s for s in sections(read_document("python.md")) if s.title == "Names")
    named = {*first_cells("name"), *re.findall(r"`(\w+)`", other.text)}
    imported = re.findall("from pytest_rageval import (.*)", read_document("extending.md"))
    named |= {name for names in imported for name in names.split(", ")}
    assert named == set(pytest_rageval.__all__) - {"__version__"}


def test_the_tables_are_complete() -> None:
    assert set(first_cells("key")) == set(ROW_KEYS)
    assert set(first_cells("key of its rows")) == set(COLUMNS)


def test_every_signature_of_the_page_is_that_of_the_function() -> None:
    shown = dict(re.findall(r"`(\w+)(\([^`]*\*[^`]*\))`", PAGE))
    assert set(shown) == {n for n, p in NAMES.items() if p and "*" in p} - {
        "from_documents",
        "metric",
        "run_metric",
    }
    for name, given in shown.items():
        assert given.replace('"', "'") == parameters(getattr(pytest_rageval, name))


def test_the_sessions_of_the_page_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_in(tmp_path, monkeypatch)
    results = Path("evals/results")
    Path("pyproject.toml").write_text("[tool.rageval]\nno_report = true\n", encoding="utf-8")
    write_run(results, "before", run_of(40))
    write_run(results, "after", run_of(40, missed=range(1, 20)), day=2)
    attempted, report = run_sessions(PAGE, "python-api.md")
    assert report == ""
    assert attempted >= 14


def test_the_frame_of_the_page_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    work_in(tmp_path, monkeypatch)
    write_run(Path("evals/results"), "one", run_of(10))
    (code,) = (b.text for b in SECTIONS["Data frames"].blocks if b.language == "python")
    names: dict[str, Any] = {"load_run": pytest_rageval.load_run}
    exec(compile(code, "python-api.md", "exec"), names)
    frame = names["frame"]
    assert len(frame) == 10
    assert set(ROW_KEYS) - {"not_applicable"} <= set(frame.columns)
