"""docs/extending.md names every argument, and its files run together as a project."""

from __future__ import annotations

import re

import pytest

from tests.build.projects import clear_settings
from tests.docs.examples import read_document, sections
from tests.plugin.scratch import Project, case

PAGE = read_document("extending.md")
FILES = {
    match[1]: block.text
    for section in sections(PAGE)
    for block in section.blocks
    if (match := re.match(r"# (\S+)\n", block.text))
}


@pytest.fixture
def acme(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    clear_settings(monkeypatch)
    project = Project(pytester)
    for name in ("acme_metrics.py", "acme_runs.py", "acme_sections.py", "thresholds.toml"):
        project.write(name, FILES[name])
    project.cases([case("one", "hit one")])
    return project


def test_the_metric_of_the_page_is_found_by_the_setting(acme: Project) -> None:
    acme.write("pyproject.toml", FILES["pyproject.toml"])
    assert acme.run().ret == 0
    assert acme.records()["one"]["metric_details"]["acme.pii_free"]["detail"] == (
        "0 addresses in the answer"
    )


def test_the_metric_of_the_page_is_found_by_the_hook(acme: Project) -> None:
    conftest = (acme.path / "conftest.py").read_text(encoding="utf-8")
    acme.write("conftest.py", FILES["conftest.py"] + conftest)
    acme.write("acme_metrics.py", FILES["acme_metrics.py"].replace("not found", "bool(found)"))
    assert acme.run().ret == 1


def test_the_metric_of_the_run_of_the_page_counts_documents(acme: Project) -> None:
    acme.write("pyproject.toml", FILES["pyproject.toml"].replace("acme_metrics", "acme_runs"))
    acme.write("thresholds.toml", "")
    assert acme.run("--gate", "acme.distinct_documents>=1").ret == 0
    found = acme.stored("metrics.json")["run_metrics"]["acme.distinct_documents"]
    assert found == {"value": 1.0, "not_applicable": None, "error": None}


def test_the_sections_of_the_page_are_stored(acme: Project) -> None:
    acme.write("pyproject.toml", FILES["pyproject.toml"].replace("acme_metrics", "acme_sections"))
    acme.write("thresholds.toml", "")
    assert acme.run().ret == 0
    table, bars = acme.stored("sections.json")["sections"]
    assert table["rows"] == [["none", 1]]
    assert (bars["bars"], [name for name, _ in bars["rows"]]) == (True, ["one"])
