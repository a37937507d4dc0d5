"""Rubrics of the package and custom ones: their content, and messages about faults."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pytest_rageval
from pytest_rageval.judges.rubrics.load import load_rubric, render_prompt
from pytest_rageval.judges.rubrics.reply import parse_reply
from pytest_rageval.metrics.built_in import BUILT_IN, FIVE_WEIGHTS
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.verdict import RUBRICS, Verdict
from tests.build.rubric_prompts import PLAIN, take_apart

FOLDER = Path(pytest_rageval.__file__).parent / "judges/rubrics/templates"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "politeness": {"type": "integer", "minimum": 1, "maximum": 7},
        "clarity": {"type": "number", "minimum": -1, "maximum": 1},
        "tone": {"type": "string", "enum": ["warm", "cold"]},
    },
    "required": ["politeness"],
}

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(
        template: str | bytes = "Rate the tone.",
        schema: object = SCHEMA,
        name: str = "tone",
    ) -> str:
        raw = template if isinstance(template, bytes) else template.encode()
        (tmp_path / f"{name}.jinja").write_bytes(raw)
        text = schema if isinstance(schema, str) else json.dumps(schema)
        (tmp_path / f"{name}.schema.json").write_text(text, encoding="utf-8")
        return str(tmp_path / f"{name}.jinja")

    return write


def refusal(path: str, **options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load_rubric(path, **options)
    return str(caught.value).replace(os.path.dirname(path) + os.sep, "")


def changed(name: str, **keywords: object) -> dict[str, Any]:
    """Return the schema with one property replaced or added."""
    return {**SCHEMA, "properties": {**SCHEMA["properties"], name: keywords}}


# --- of the package ------------------------------------------------------------------------


@pytest.mark.parametrize("alternate", [False, True])
@pytest.mark.parametrize("name", RUBRICS)
def test_every_rubric_loads_in_both_wordings(name: str, alternate: bool) -> None:
    rubric = load_rubric(name, alternate=alternate)
    assert (rubric.name, rubric.alternate, rubric.own) == (name, alternate, False)


@pytest.mark.parametrize("name", RUBRICS)
def test_the_alternate_wording_differs_and_its_schema_does_not(name: str) -> None:
    one, other = load_rubric(name), load_rubric(name, alternate=True)
    assert one.schema == other.schema
    assert (one.data, one.metrics) == (other.data, other.metrics)
    assert one.version != other.version
    assert one.template != other.template


def test_a_version_is_the_name_and_the_hash_of_template_and_schema() -> None:
    frame, template, schema = (
        (FOLDER / name).read_text(encoding="utf-8")
        for name in ("_frame.jinja", "claims.jinja", "claims.schema.json")
    )
    digest = hashlib.sha256((frame + template + schema).encode()).hexdigest()
    assert load_rubric("claims").version == f"claims-{digest[:12]}"


def test_scores_are_metrics_of_the_registry_on_their_scales() -> None:
    scored = {key: scale for name in RUBRICS for key, scale in load_rubric(name).scales.items()}
    assert scored == {key: BUILT_IN.cases[key].scale for key in scored}
    assert scored.keys() == {
        *("groundedness", "correctness"),
        *(f"quality.{name}" for name in ("correctness", "completeness", "relevance", "overall")),
        *(f"five.{name}" for name in FIVE_WEIGHTS),
    }


def test_an_unknown_name_is_answered_with_the_names_and_a_guess() -> None:
    message = refusal("groundednes")
    assert "'groundednes'" in message
    assert ", ".join(RUBRICS) in message
    assert message.endswith('did you mean "groundedness"?')


# --- custom rubrics ------------------------------------------------------------------------


def test_an_own_rubric_is_asked_and_read(write: Write) -> None:
    rubric = load_rubric(write("Rate the tone{% if n_key_facts %}, facts count{% endif %}."))
    prompt = render_prompt(rubric, PLAIN, level="json_schema")
    assert "Rate the tone, facts count." in prompt.messages[0].text
    assert take_apart(prompt).labels == (
        *("passage 1", "passage 2", "question", "key facts", "expected answer"),
        *("answer", "citations"),
    )
    verdict = parse_reply(rubric, '{"politeness": "6", "tone": "warm", "reasoning": "kind"}', PLAIN)
    assert verdict == Verdict(
        scores={"tone.politeness": 6.0},
        not_applicable={"tone.clarity": "the judge gave no score"},
        reasoning="kind",
        coerced=("politeness",),
    )


def test_an_own_rubric_says_which_texts_it_takes(write: Write) -> None:
    rubric = load_rubric(write("{# data: answer, context #}\nRate the tone."))
    prompt = render_prompt(rubric, PLAIN, level="text")
    assert take_apart(prompt).labels == ("passage 1", "passage 2", "answer")
    assert "data:" not in prompt.messages[0].text


def test_a_changed_schema_changes_the_version(write: Write) -> None:
    before = load_rubric(write()).version
    after = load_rubric(write(schema=changed("tone", type="string"))).version
    assert before != after
    assert before.startswith("tone-")


# --- faults --------------------------------------------------------------------------------


def test_a_missing_file_is_named(write: Write, tmp_path: Path) -> None:
    path = write()
    (tmp_path / "tone.schema.json").unlink()
    assert refusal(path) == "tone.schema.json: there is no such file"
    assert refusal(str(tmp_path / "none.jinja")) == "none.jinja: there is no such file"
    write()
    (tmp_path / "tone.jinja").unlink()
    assert refusal(path) == "tone.jinja: there is no such file"


def test_a_folder_or_bytes_that_are_no_text_are_named(write: Write, tmp_path: Path) -> None:
    assert "tone.jinja: cannot be read" in refusal(write(b"caf\xe9"))
    path = write(name="other")
    (tmp_path / "other.jinja").unlink()
    (tmp_path / "other.jinja").mkdir()
    assert "other.jinja: cannot be read" in refusal(path)


@pytest.mark.parametrize("name", ["quality", "five", "correctness", "latency_ms", "recall_at_k"])
def test_names_of_the_package_are_refused(write: Write, name: str) -> None:
    assert refusal(write(name=name)).endswith(f"{name!r} is a name of the package; choose another")


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("Rate {{ answer }}.", "tone.jinja: got 'answer', expected only asks_conflict,"),
        ("line\n{% if %}", "tone.jinja:2: "),
        ("{{ n_passages }", "tone.jinja:1: "),
        ("{{ n_passages / 0 }}", "tone.jinja: cannot be rendered: division by zero"),
        ("{{ n_passages.x.y }}", "tone.jinja: cannot be rendered: "),
        ("{{ ''.__class__.__mro__ }}", "tone.jinja: cannot be rendered: "),
        ("{% include 'other.jinja' %}", "tone.jinja: cannot be rendered: "),
        ("{% for i in range(10**9) %}x{% endfor %}", "tone.jinja: cannot be rendered: "),
        ("{# data: answer, passages #}", "tone.jinja:1: got data 'passages', expected one of"),
        (r"{{ '\ud800' }}", "tone.jinja: cannot be rendered: "),
        ("{# data: #}", "tone.jinja:1: got data ''"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "tone.jinja: cannot be rendered: "),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "tone.jinja: nested too deeply"),
        ("{{ " + "9" * 5000 + " }}", "tone.jinja: cannot be read: Exceeds the limit"),
        ("{{ 3 | wordwrap }}", "tone.jinja: cannot be rendered: "),
        ("{{ [1, 2] | random }}", "tone.jinja:1: No filter named 'random'."),
        ("{{ lipsum() }}", "tone.jinja: got 'lipsum'"),
    ],
)
def test_a_fault_of_a_template_is_found_at_loading(
    write: Write, template: str, expected: str
) -> None:
    assert refusal(write(template)).startswith(expected)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("{", "tone.schema.json:1:2: not JSON: "),
        ("[" * 100_000, "tone.schema.json"),
        (changed("x", type="string", description="\ud800"), "not JSON: it cannot be read"),
        ("[]", "the schema: [] came, expected an object with a type"),
        ({"type": "array", "items": {"type": "string"}}, "the schema: type 'array' came"),
        ({"type": "object"}, "the schema: properties None came, expected at least one"),
        ({"type": "object", "properties": {}}, "the schema: properties {} came"),
        (
            {**SCHEMA, "required": ["rudeness"]},
            "required names 'rudeness', which is not a property",
        ),
        ({**SCHEMA, "required": "politeness"}, "required 'politeness' came, expected a list"),
        ({**SCHEMA, "oneOf": []}, "keyword 'oneOf' came, expected for type object only"),
        (
            {**SCHEMA, "additionalProperties": True},
            "additionalProperties True came, expected false",
        ),
        (changed("x", type="float"), "x: type 'float' came, expected one of object, array"),
        (changed("x", type=["number", "null"]), "x: type ['number', 'null'] came"),
        (changed("x", type="number"), None),
        (changed("x", type="number", minimum=0), "x: maximum is missing; a score has both"),
        (changed("x", type="integer", maximum=0), "x: minimum is missing; a score has both"),
        (changed("x", type="number", minimum=1, maximum=1), "expected minimum < maximum"),
        (changed("x", type="number", minimum="0", maximum=1), "x: minimum '0' came"),
        (changed("x", type="number", minimum=True, maximum=1), "x: minimum True came"),
        (changed("x", type="number", minimum=0, maximum=10**400), "x: maximum 1000"),
        (changed("x", type="string", pattern="a"), "x: keyword 'pattern' came"),
        (changed("x", type="string", enum=[1, 2]), "x: enum [1, 2] came, expected a list of str"),
        (changed("x", type="integer", enum=[1, 2]), None),
        (changed("x", type="boolean"), None),
        (changed("x", type="integer", enum=[1]), "x: enum [1] came, expected a list of two num"),
        (changed("x", type="integer", enum=[1, 1]), "x: enum [1, 1] came"),
        (changed("x", type="number", enum=["a", "b"]), "x: enum ['a', 'b'] came"),
        (
            changed("x", type="number", enum=[1, 2], minimum=0, maximum=3),
            "x: enum and maximum came",
        ),
        (changed("x", type="boolean", **{"x-direction": "lower"}), None),
        (
            changed("x", type="boolean", **{"x-direction": "up"}),
            "x: x-direction 'up' came, expected",
        ),
        (changed("x", type="string", **{"x-direction": "lower"}), "x: keyword 'x-direction' came"),
        (changed("x", type="array"), "x: items is missing"),
        (changed("x", type="array", items={"type": "?"}), "x[]: type '?' came"),
        (changed("x", type="array", items={"type": "string"}, minItems=-1), "x: minItems -1 came"),
        (
            changed("x", type="array", items={"type": "string"}, minItems=2, maxItems=1),
            "x: minItems 2 and maxItems 1 came, expected minItems <= maxItems",
        ),
        (changed("x", type="string", description=["a"]), "x: description ['a'] came, expected a s"),
        (changed("x y", type="string"), "property 'x y' came, expected letters, digits and _"),
        (
            {"type": "object", "properties": {"note": {"type": "string"}}},
            "no property is a score, expected at least one number with minimum and maximum",
        ),
    ],
)
def test_a_schema_that_could_not_be_checked_is_refused(
    write: Write, schema: object, expected: str | None
) -> None:
    if expected is None:
        load_rubric(write(schema=schema))
        return
    message = refusal(write(schema=schema))
    assert expected in message
    assert message.startswith("tone.schema.json")


def test_all_faults_of_a_schema_are_told_at_once(write: Write) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "number", "minimum": 0}, "b": {"type": "text"}},
        "required": ["c"],
    }
    assert [line.partition(": ")[2][:12] for line in refusal(write(schema=schema)).split("\n")] == [
        "the schema: ",
        "a: maximum i",
        "b: type 'tex",
    ]
