"""The recipes of frameworks run as projects, with stand-ins for the frameworks' objects."""

from __future__ import annotations

import pytest

from tests.build.projects import clear_settings
from tests.docs.examples import Section, read_document, sections
from tests.plugin.scratch import Project, case, outcomes

LANGCHAIN = """
from types import SimpleNamespace as Obj

class Chain:
    def invoke(self, given):
        assert given == {"input": "How often?"}
        metadata = {"source": "docs/pump.md", "Header 1": "Pumps", "Header 2": "Oil"}
        return {"answer": TEXT, "context": [Obj(page_content=TEXT, metadata=metadata, id=None)]}

chain = Chain()
"""
LLAMAINDEX = """
from types import SimpleNamespace as Obj

class Response:
    metadata = {"file_path": "docs/pump.md", "header_path": "/Pumps/"}
    node = Obj(metadata=metadata, get_content=lambda: f"## Oil\\n\\n{TEXT}", node_id="n1")
    source_nodes = [Obj(node=node, score=0.7)]
    def __str__(self):
        return TEXT

query_engine = Obj(query=lambda question: Response())
"""
HAYSTACK = """
from types import SimpleNamespace as Obj

class Pipeline:
    def run(self, given, include_outputs_from):
        assert {"question": "How often?"} in given.values()
        meta = {"file_path": "docs/pump.md", "parent_headers": ["Pumps"], "header": "Oil"}
        document = Obj(content=TEXT, meta=meta, score=0.7, id="d1")
        return {"retriever": {"documents": [document]}, "llm": {"replies": [Obj(text=TEXT)]}}

pipeline = Pipeline()
"""
APPS = {"langchain": LANGCHAIN, "llamaindex": LLAMAINDEX, "haystack": HAYSTACK}
"""Recipes and their ``my_app``."""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    clear_settings(monkeypatch)
    return Project(pytester)


@pytest.mark.parametrize("name", APPS)
def test_the_recipe_of_a_framework_works_as_a_project(name: str, project: Project) -> None:
    blocks = {block.language: block.text for block in _recipe(name).blocks}
    assert blocks["python"].startswith("# evaluated.py\n")
    project.write("evaluated.py", blocks["python"])
    project.write("my_app.py", 'TEXT = "Every 14 days."\n' + APPS[name])
    project.write("pyproject.toml", "[tool.rageval]\nno_report = true\n" + blocks["toml"])
    project.write("conftest.py", "")
    project.write("thresholds.toml", 'version = 1\n[overall]\nrecall_at_k = ">= 1"\n')
    gold = {"rel_path": "pump.md", "heading_path": "# Pumps > ## Oil"}
    project.cases([case("oil", "How often?", gold_supports=[gold])])
    result = project.run_apart()
    assert outcomes(result)["checks passed"] >= 1, result.outlines
    assert project.records()["oil"]["metrics"]["recall_at_k"] == 1


@pytest.mark.parametrize("name", APPS)
def test_the_recipe_of_a_framework_says_what_is_lost(name: str) -> None:
    assert "**Lost**" in _recipe(name).text


def _recipe(name: str) -> Section:
    page = sections(read_document("recipes/frameworks.md"))
    (found,) = [one for one in page if one.title.lower() == name]
    return found
