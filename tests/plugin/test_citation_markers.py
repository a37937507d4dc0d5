"""A run whose target cites in a form of its own."""

from __future__ import annotations

import json

import pytest

from pytest_rageval.cli.main import run
from tests.build.targets import fake_target, json_reply
from tests.plugin.scratch import Project, case

SETTINGS = """
[tool.rageval]
judge = "offline"
no_report = true
[tool.rageval.citations]
presets = "doc"
"""
CHUNKS = [
    {"rel_path": "b.md", "heading_path": "# B", "text": "Belts are grey."},
    {"rel_path": "a.md", "heading_path": "# A", "text": "The pump needs oil every month."},
]
ANSWER = "The pump needs oil every month [doc2]."
REPLY = json_reply({"answer": ANSWER, "debug": {"retrieved_chunks": CHUNKS}})


@pytest.fixture
def citing(project: Project) -> Project:
    project.write("pyproject.toml", SETTINGS)
    project.write("conftest.py", "")
    project.write("thresholds.toml", "version = 1\n")
    project.cases([case("oil", "How often does the pump need oil?")])
    return project


def test_the_markers_are_read_judged_and_kept(
    citing: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake_target(REPLY) as target:
        citing.run("--rag-url", target.url, "--rageval-run-id", "one")
    [record] = citing.records().values()
    assert record["answer"] == ANSWER
    assert [one["rel_path"] for one in record["citations"]] == ["a.md"]
    assert record["metrics"]["attribution_hit_rate"] == 1.0
    claims = record["judgements"]["groundedness"]["verdict"]["claims"]
    supported = [one["text"] for one in claims if one["supported"]]
    assert supported == ["The pump needs oil every month."]
    config = json.loads((citing.folder("one") / "config.json").read_text(encoding="utf-8"))
    assert config["settings"]["citation_presets"] == ["doc"]
    monkeypatch.chdir(citing.path)
    assert run(["explain", "one", "oil"]) == 0
    assert "[doc2]" in capsys.readouterr().out
