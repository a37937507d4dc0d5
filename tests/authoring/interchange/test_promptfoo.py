from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval.authoring.interchange.files import open_source
from pytest_rageval.authoring.interchange.promptfoo import read
from pytest_rageval.authoring.interchange.values import ReadOptions
from pytest_rageval.values.errors import DatasetError
from tests.authoring.interchange.sources import cases_of, left_out, read_samples, read_texts


def test_a_config_becomes_cases() -> None:
    found = read_samples("promptfoo", "promptfooconfig.yaml")
    roses, may, march, cup, peas = cases_of(found)
    assert roses.question == "When are roses pruned?"
    assert [rule.contains for rule in roses.answer_rules] == ["late winter", "prune", "winter"]
    assert (roses.category, roses.difficulty, roses.notes) == ("care_of_flowers", "easy", "roses")
    assert roses.metadata["promptfoo"] == {
        "category": "care of flowers",
        "owner": "club",
        "asserts": [{"type": "llm-rubric", "value": "names the season"}],
        "season": "winter",
    }
    assert (may.question, march.question) == ("What is sown in May?", "What is sown in March?")
    assert may.expected_answer == march.expected_answer == "Beans or peas."
    assert (cup.question, cup.answerable) == ("Who won the cup?", False)
    assert [rule.contains for rule in peas.answer_rules] == ["dry"]
    assert (peas.expected_answer, peas.notes) == ("In a dry place.", "peas")


def test_what_no_case_can_say_is_counted() -> None:
    counts = left_out(read_samples("promptfoo", "promptfooconfig.yaml"))
    assert counts == {
        "description": 1,
        "prompts": 1,
        "providers": 1,
        "assert latency": 5,
        "assert javascript": 1,
        "tests[].threshold": 2,
        "tests[]": 1,
        "tests: file://make_tests.py": 1,
    }


def test_scenarios_ask_every_test_with_every_setting() -> None:
    config = {
        "scenarios": [
            {
                "config": [{"vars": {"place": "north"}}, {"vars": {"place": "south"}}],
                "tests": [
                    {
                        "vars": {"question": "a?"},
                        "assert": [{"type": "equals", "value": "{{place}}"}],
                    }
                ],
            }
        ]
    }
    cases = cases_of(read_texts("promptfoo", {"c.json": json.dumps(config)}))
    assert [case.expected_answer for case in cases] == ["north", "south"]
    assert len({case.id for case in cases}) == 2


@pytest.mark.parametrize(
    ("cell", "rules", "answer"),
    [
        ("Paris", (), "Paris"),
        ("contains:Paris", ("contains Paris",), None),
        ("contains-all: a, b", ("contains a", "contains b"), None),
        ("icontains: a", ("contains a, any case",), None),
        ("similar(0.8): about Paris", (), "about Paris"),
        ("note: this is text", (), "note: this is text"),
        ("javascript:output.length", (), None),
        ("not-contains:x", ("not_contains x",), None),
        ("not-icontains-any: x, y", ("not_contains x, any case", "not_contains y, any case"), None),
        ("contains-any: x., y", (r"matches (?:x\.|y)",), None),
        ("icontains-any: x, y", ("matches (?:x|y), any case",), None),
        ("starts-with: Paris", (r"matches \A(?:Paris)",), None),
        ("is-json", (), None),
        ("is-valid-openai-tools-call", (), None),
        ("not-is-json", (), None),
        ("some-later-type: x", (), None),
        ("contains-json", (), None),
        ("contains-xml: <a>", (), None),
        ("latency(500)", (), None),
        ("contains", (), None),
        ("regex:^a", ("matches ^a",), None),
        ("regex:(?=a)", (), None),
        ("not-regex:^a", (), None),
        ("similar:cosine(0.7): about Paris", (), "about Paris"),
        ("is it json?", (), "is it json?"),
        ("well-known", (), "well-known"),
    ],
)
def test_assertions_of_a_table_are_read(cell: str, rules: tuple[str, ...], answer: str) -> None:
    table = f'question,__expected\nWhere?,"{cell}"\n'
    (case,) = cases_of(read_texts("promptfoo", {"t.csv": table}))
    assert (case.expected_key_facts, case.expected_answer) == ((), answer)
    assert not any(rule.ignores_whitespace for rule in case.answer_rules)
    assert rules == tuple(
        f"{rule.kind} {rule.text}{', any case' * rule.ignores_case}" for rule in case.answer_rules
    )


@pytest.mark.parametrize(
    ("kind", "value", "rules"),
    [
        ("contains-all", 'a b, "c, ""d"""', ["a b", 'c, "d"']),
        ("contains-all", ["a, b", 14], ["a, b", "14"]),
        ("contains", "a, b", ["a, b"]),
        ("contains", 14, ["14"]),
        ("contains", 2.5, ["2.5"]),
        ("contains", 2.0, ["2"]),
        ("contains", True, []),
        ("contains-all", ["a", True], []),
        ("contains-any", ["a", ""], []),
        ("contains-any", ["a", 2.5], [r"(?:a|2\.5)"]),
        ("contains-any", "a b,\\ c.,", [r"(?:a b|\\ c\.)"]),
    ],
)
def test_texts_of_an_assertion_are_separated_as_promptfoo_does(
    kind: str, value: object, rules: list[str]
) -> None:
    tests = json.dumps([{"vars": {"question": "Q?"}, "assert": [{"type": kind, "value": value}]}])
    [case] = cases_of(read_texts("promptfoo", {"t.json": tests}))
    assert [rule.text for rule in case.answer_rules] == rules


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("file://../outside.csv", "is outside the folder"),
        ("/etc/passwd", "is outside the folder"),
        ("https://example.com/tests.csv", "add --fetch"),
        ("huggingface://datasets/a", "expected a file beside it"),
        ("file://missing.csv", "cannot be read"),
        ("file://missing/*.csv", r"no file missing/\*\.csv"),
        ("file://../*.csv", "is outside the folder"),
    ],
)
def test_a_reference_cannot_leave_the_folder_of_its_file(
    tmp_path: Path, reference: str, message: str
) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder.parent / "outside.csv").write_text("question\nsecret?\n", encoding="utf-8")
    config = folder / "promptfooconfig.yaml"
    config.write_text(f'tests: "{reference}"\n', encoding="utf-8")
    with pytest.raises(DatasetError, match=message):
        read(open_source([str(config)], ReadOptions(), suffixes=(".yaml",)))


CHAT = [
    {"role": "system", "content": "Answer for {{place}}."},
    {"role": "user", "content": "Who repairs bikes?"},
    {"role": "assistant", "content": "Bea."},
    {"role": "user", "content": "Is she in {{place}}?"},
]


@pytest.mark.parametrize("value", [CHAT, json.dumps(CHAT)])
@pytest.mark.parametrize("name", ["prompt", "messages"])
def test_a_chat_is_one_question_with_its_history(name: str, value: object) -> None:
    tests = [{"vars": {name: value, "place": "Aven"}}]
    found = read_texts("promptfoo", {"t.json": json.dumps(tests)})
    (case,) = cases_of(found)
    assert (case.question, case.metadata["history"]) == ("Is she in Aven?", CHAT[1:3])
    assert left_out(found) == {f"tests[].vars.{name}[]": 1}
    assert any("metadata.history" in note for note in found.notes)


TWO = [{"type": "contains", "value": "a"}, {"type": "icontains", "value": "b"}]


@pytest.mark.parametrize(
    ("test", "n_rules"),
    [
        ({"assert": TWO}, 2),
        ({"assert": TWO, "threshold": 0.5}, 0),
        ({"assert": TWO, "threshold": 0}, 0),
        ({"assert": TWO, "threshold": 1}, 2),
        ({"assert": TWO, "threshold": None}, 2),
        ({"assert": [TWO[0], {**TWO[1], "weight": 0}]}, 1),
        ({"assert": [TWO[0], {**TWO[1], "weight": 0.2}]}, 2),
        ({"assert": [TWO[0], {**TWO[1], "metricOnly": True}]}, 1),
        ({"assert": [TWO[0], {**TWO[1], "transform": "output.x"}]}, 1),
        ({"assert": TWO, "assertScoringFunction": "file://score.js"}, 0),
        ({"assert": [{"type": "assert-set", "assert": TWO, "threshold": 0.5}, *TWO]}, 2),
    ],
)
def test_an_assertion_that_an_answer_may_fail_is_no_rule(
    test: dict[str, object], n_rules: int
) -> None:
    tests = json.dumps([{"vars": {"question": "Where?"}, **test}])
    found = read_texts("promptfoo", {"t.json": tests})
    (case,) = cases_of(found)
    assert len(case.answer_rules) == n_rules
    asserted = [one for one in found.left_out if one.field.startswith("assert ")]
    assert (len(asserted) > 0) == (n_rules < 2 or len(str(test["assert"])) > 150)
