"""The page on rubrics agrees with the code: its tables, its example, its links."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pytest_rageval.judges.rubrics.load import load_rubric, render_prompt
from pytest_rageval.judges.rubrics.reply import parse_reply
from pytest_rageval.judges.rubrics.schema import schema_faults
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.verdict import Verdict
from tests.build.rubric_prompts import PLAIN, take_apart
from tests.docs.examples import read_document, sections

PAGE = read_document("rubrics.md")
OWN = next(section for section in sections(PAGE) if section.title == "Your own rubric")


def block(language: str) -> str:
    return next(block.text for block in OWN.blocks if block.language == language)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "evals" / "rubrics"
    folder.mkdir(parents=True)
    (folder / "tone.jinja").write_text(block("jinja"), encoding="utf-8")
    (folder / "tone.schema.json").write_text(block("json"), encoding="utf-8")
    return tmp_path


def test_the_example_is_asked_and_read_as_described(own: Path) -> None:
    rubric = load_rubric("evals/rubrics/tone.jinja", root=own)
    for key in rubric.scales:
        assert f"`{key}`" in OWN.text
    assert rubric.scales == {"tone.politeness": (1.0, 5.0), "tone.plainness": (0.0, 1.0)}
    prompt = render_prompt(rubric, PLAIN, level="text")
    assert take_apart(prompt).labels == ("question", "answer")
    reply = json.dumps({"reasoning": "kind", "politeness": 5, "plainness": 0.5})
    assert parse_reply(rubric, reply, PLAIN) == Verdict(
        scores={"tone.politeness": 5.0, "tone.plainness": 0.5}, reasoning="kind"
    )


def test_the_fault_shown_is_what_is_said(own: Path) -> None:
    path = own / "evals" / "rubrics" / "tone.schema.json"
    broken = path.read_text(encoding="utf-8").replace('"minimum": 0, "maximum": 1', '"minimum": 0')
    path.write_text(broken, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_rubric("evals/rubrics/tone.jinja", root=own)
    assert f"{caught.value}\n" == block("text")


def test_every_keyword_listed_is_accepted() -> None:
    schema = {
        "type": "object",
        "title": "t",
        "description": "d",
        "properties": {
            "a": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
            "b": {"type": "string", "enum": ["x"]},
            "c": {"type": "number", "minimum": 0, "maximum": 1},
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    assert list(schema_faults(schema)) == []
    listed = OWN.text.partition("The schema may use")[2].partition("refused")[0]
    keywords = re.findall(r"`(\w+)(?:: false)?`", listed)
    assert len(keywords) == 12
    assert all(f'"{keyword}"' in json.dumps(schema) for keyword in keywords)
