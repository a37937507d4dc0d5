"""One case: what a line becomes, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.project.case_reader import (
    case_fields,
    case_hash,
    case_json_schema,
    load_cases,
    parse_case,
)
from pytest_rageval.values.case import LABEL_PATTERN, Anchor, Case, Difficulty, KeyFact, RecencyRule
from pytest_rageval.values.errors import DatasetError
from tests.build.cases import FULL
from tests.build.files import write_lines


def faults_in(**fields: Any) -> list[tuple[str, str]]:
    with pytest.raises(DatasetError) as caught:
        parse_case({"id": "a", "question": "q"} | fields)
    return [(fault.field, fault.text) for fault in caught.value.faults]


# --- what a line becomes ---------------------------------------------------------------------


def test_every_field_arrives_in_the_case() -> None:
    anchor = Anchor(
        rel_path="a.md", heading_path="# A", snippets=("x",), pages=(2, 3), grade=2, vault="v"
    )
    assert parse_case(FULL) == Case(
        id="multi/hop_1.a-b",
        question="Which?",
        answerable=True,
        expected_key_facts=("one", "two"),
        expected_answer="Both.",
        gold_supports=(anchor, Anchor(rel_path="b.md")),
        irrelevant_supports=(Anchor(rel_path="c.md"),),
        required_support_groups=((0, 1), (1,)),
        recency_conflict_rule="cite_newer",
        category="recency/conflict",
        difficulty="hard",
        tags=("work", "ns:tag"),
        vaults=("v",),
        folders=("", "notes"),
        k=7,
        language="de",
        translation_of="multi_hop_1",
        required=True,
        review="generated",
        notes="why",
        metadata={"source": [1, None]},
    )


NAMES = st.text("abcXYZ019_-", min_size=1, max_size=8)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SAID = TEXTS.filter(lambda text: text.strip() != "")
ANCHORS = st.builds(
    Anchor,
    rel_path=NAMES.map(lambda name: f"{name}.md"),
    heading_path=TEXTS,
    snippets=st.lists(SAID, max_size=2).map(tuple),
    grade=st.integers(1, 9),
    vault=st.none() | NAMES,
)
CASES = st.builds(
    Case,
    id=st.from_regex(re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,9}"), fullmatch=True),
    question=SAID,
    expected_key_facts=st.lists(TEXTS | st.builds(KeyFact, text=TEXTS), max_size=2).map(tuple),
    expected_answer=st.none() | TEXTS,
    gold_supports=st.lists(ANCHORS, max_size=2, unique_by=lambda anchor: anchor.rel_path).map(
        tuple
    ),
    recency_conflict_rule=st.none() | st.sampled_from(get_args(RecencyRule)),
    category=NAMES,
    difficulty=st.none() | st.sampled_from(get_args(Difficulty)),
    tags=st.lists(NAMES, max_size=2).map(tuple),
    folders=st.lists(TEXTS, max_size=2).map(tuple),
    k=st.none() | st.integers(1, 99),
    required=st.booleans(),
    notes=TEXTS,
    metadata=st.dictionaries(TEXTS, st.none() | st.integers() | TEXTS, max_size=2),
)


@settings(max_examples=50)
@given(CASES)
def test_a_case_survives_being_written_and_read(case: Case) -> None:
    assert parse_case(dataclasses.asdict(case)) == case


def test_a_key_fact_is_vital_unless_it_says_otherwise() -> None:
    line: dict[str, Any] = {"id": "a", "question": "q"}
    facts = ["30 days", {"text": "unworn", "vital": False}, {"text": "a receipt"}, " "]
    case = parse_case({**line, "expected_key_facts": facts})
    assert case.key_facts == ("30 days", "unworn", "a receipt", " ")
    assert case.stated_facts == ("30 days", "unworn", "a receipt")
    assert case.vital_facts == (True, False, True)
    assert case_fields(case)["expected_key_facts"] == [*facts[:2], {"text": "a receipt"}, " "]
    every = parse_case({**line, "expected_key_facts": [*case.key_facts]})
    assert case_hash(case) != case_hash(every)


@pytest.mark.parametrize("fact", [7, None, {"vital": False}, {"text": "x", "vitl": False}, ["x"]])
def test_what_is_no_key_fact_is_one_fault_of_its_place(fact: Any) -> None:
    [(field, _)] = faults_in(expected_key_facts=["x", fact])
    assert field == "expected_key_facts[1]"


@pytest.mark.parametrize("case_id", ["a/b.c-d_e", "Mu2e#P793-0", "L'été_(film)", "日本", "a:b"])
def test_an_id_may_hold_what_a_node_id_can(case_id: str) -> None:
    assert parse_case({"id": case_id, "question": "q"}).id == case_id


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"id": 1}, "id", "1, expected a string without spaces"),
        ({"id": ""}, "id", '"", expected a string without spaces'),
        ({"id": "a\u202eb"}, "id", r'"a\u202eb", expected'),
        ({"id": "a b"}, "id", '"a b", expected'),
        ({"id": "a::b"}, "id", '"a::b", expected'),
        ({"id": "a[b]"}, "id", '"a[b]", expected'),
        ({"id": "x/../y"}, "id", "without a '.' or '..' segment"),
        ({"question": " \n"}, "question", "expected a string that is not blank"),
        ({"answerable": "yes"}, "answerable", '"yes", expected true or false'),
        ({"answerable": 1}, "answerable", "1, expected true or false"),
        ({"k": True}, "k", "true, expected an integer of at least 1"),
        ({"k": 0}, "k", "0, expected an integer of at least 1"),
        ({"k": 5.0}, "k", "5.0, expected an integer of at least 1"),
        ({"k": 10**30}, "k", "expected an integer of at least 1"),
        ({"tags": "a"}, "tags", '"a", expected a list'),
        ({"tags": ["a b"]}, "tags[0]", "expected a string without spaces"),
        ({"tags": ["a\u00a0b"]}, "tags[0]", "expected a string without spaces"),
        ({"category": "a[b"}, "category", "expected a string without spaces"),
        ({"difficulty": "hrad"}, "difficulty", '"hard", did you mean "hard"?'),
        (
            {"answer_rules": [{"contains": "a"}, {"contains": "b", "matches": "c"}]},
            "answer_rules[1]",
            "contains and matches, expected one of contains, not_contains, matches",
        ),
        (
            {"answer_rules": [{"ignore_case": True}]},
            "answer_rules[0]",
            "no rule, expected one of contains, not_contains, matches",
        ),
        (
            {"answer_rules": [{"matches": "(?=a)"}]},
            "answer_rules[0].matches",
            "not a pattern: look-around, including look-ahead and look-behind, is not supported "
            "(look-around and back-references are not supported)",
        ),
        (
            {"answer_rules": [{"matches": "(a{1000}){1000}"}]},
            "answer_rules[0].matches",
            "not a pattern: Compiled regex exceeds size limit of 10485760 bytes. "
            "(look-around and back-references are not supported)",
        ),
        ({"gold_suports": []}, "gold_suports", 'unknown field, did you mean "gold_supports"?'),
        ({"zzz": 1}, "zzz", "unknown field, expected one of id, question, "),
        (
            {"gold_supports": [{"rel_path": "a.md", "heading": ""}]},
            "gold_supports[0].heading",
            'unknown field, did you mean "heading_path"?',
        ),
        (
            {"gold_supports": ["a.md"]},
            "gold_supports[0]",
            '"a.md", expected an object with rel_path, ',
        ),
        ({"gold_supports": [{}]}, "gold_supports[0].rel_path", "missing"),
        (
            {"gold_supports": [{"rel_path": ""}]},
            "gold_supports[0].rel_path",
            '"", expected a string that is not blank',
        ),
        (
            {"irrelevant_supports": [{"rel_path": "%2E"}]},
            "irrelevant_supports[0].rel_path",
            "expected a file's path",
        ),
        (
            {"gold_supports": [{"rel_path": "a", "snippets": ["x", ""]}]},
            "gold_supports[0].snippets[1]",
            '"", expected a string that is not blank',
        ),
        (
            {"gold_supports": [{"rel_path": "a", "grade": 0}]},
            "gold_supports[0].grade",
            "0, expected an integer of at least 1",
        ),
        (
            {"gold_supports": [{"rel_path": "a", "pages": 12}]},
            "gold_supports[0].pages",
            "12, expected a list",
        ),
        (
            {"gold_supports": [{"rel_path": "a", "pages": [1, 0]}]},
            "gold_supports[0].pages[1]",
            "0, expected an integer of at least 1",
        ),
        (
            {"gold_supports": [{"rel_path": "a", "page": [1]}]},
            "gold_supports[0].page",
            'did you mean "pages"?',
        ),
        (
            {
                "gold_supports": [
                    {"rel_path": "a", "pages": [1, 2]},
                    {"rel_path": "./a", "pages": [2, 1]},
                ]
            },
            "gold_supports[1]",
            "the same path, heading, snippets and pages as [0]",
        ),
        (
            {"gold_supports": [{"rel_path": "a"}, {"rel_path": "./a", "grade": 2}]},
            "gold_supports[1]",
            "the same path, heading and snippets as [0]",
        ),
        (
            {"gold_supports": [{"rel_path": "a"}], "irrelevant_supports": [{"rel_path": "a"}]},
            "irrelevant_supports[0]",
            "equal to gold_supports[0]",
        ),
        (
            {"required_support_groups": []},
            "required_support_groups",
            "[], expected a list of at least 1",
        ),
        (
            {"gold_supports": [{"rel_path": "a"}], "required_support_groups": [[0], []]},
            "required_support_groups[1]",
            "[], expected a list of at least 1",
        ),
        (
            {"gold_supports": [{"rel_path": "a"}], "required_support_groups": [[0, 1]]},
            "required_support_groups[0][1]",
            "1, expected the index of one of the 1 gold_supports",
        ),
        (
            {"gold_supports": [{"rel_path": "a"}], "required_support_groups": [[-1]]},
            "required_support_groups[0][0]",
            "-1, expected an index into gold_supports",
        ),
        (
            {"answerable": False, "gold_supports": [{"rel_path": "a"}]},
            "gold_supports",
            "1 of them though answerable is false, expected none",
        ),
        (
            {"metadata": {"a": [1.0, float("nan")]}},
            "metadata.a[1]",
            "NaN, expected a finite number",
        ),
        (
            {"metadata": {"a b": float("inf")}},
            'metadata."a b"',
            "Infinity, expected a finite number",
        ),
        ({"k": float("nan")}, "k", "NaN, expected an integer of at least 1"),
        ({"question": "\ud800"}, "question", "half of a surrogate pair"),
        ({"metadata": {"x": ["\udfff"]}}, "metadata.x[0]", "half of a surrogate pair"),
        ({"ke\ud800y": 1}, '"ke\\ud800y"', "half of a surrogate pair"),
        (
            {"gold_supports": [{"rel_path": "a", "\udc00": 1}]},
            'gold_supports[0]."\\udc00"',
            "half of a surrogate pair",
        ),
    ],
)
def test_a_faulty_field_is_refused(fields: Any, field: str, message: str) -> None:
    found = faults_in(**fields)
    assert [name for name, _ in found] == [field]
    assert message in found[0][1]


def test_all_faults_of_a_case_are_named_together() -> None:
    fields = [field for field, _ in faults_in(k=0, tags=[1], id="..", answerables=True)]
    assert sorted(fields) == ["answerables", "id", "k", "tags[0]"]


@pytest.mark.parametrize(
    "other",
    [{"heading_path": "# B"}, {"snippets": ["y"]}, {"pages": [2]}, {"vault": "w"}],
    ids=str,
)
def test_anchors_apart_in_one_respect_are_two_anchors(other: dict[str, Any]) -> None:
    anchor = {"rel_path": "a.md", "heading_path": "# A", "snippets": ["x"], "vault": "v"}
    golds = [anchor, {**anchor, **other}]
    assert len(parse_case({"id": "a", "question": "q", "gold_supports": golds}).gold_supports) == 2


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, ["question"]),
        ({"question": "?", "turns": [{"question": "?"}]}, ["question"]),
        ({"turns": [{"question": "?"}], "gold_supports": []}, ["gold_supports"]),
        ({"turns": [{"question": "?"}, {}]}, ["turns[1].question"]),
        ({"turns": [{"question": "?", "id": "x"}]}, ["turns[0].id"]),
        (
            {"turns": [{"question": " "}, {"question": "?", "gold_supports": [{}]}]},
            ["turns[0].question", "turns[1].gold_supports[0].rel_path"],
        ),
        (
            {"turns": [{"question": "?"}, {"question": "?", "answer_rules": [{}]}]},
            ["turns[1].answer_rules[0]"],
        ),
        ({"question": "?", "standalone": "?"}, ["standalone"]),
        ({"question": "?", "talk": {"turn": 2}}, ["talk"]),
    ],
)
def test_a_line_has_a_question_or_turns_whose_faults_name_the_turn(
    fields: dict[str, Any], found: list[str]
) -> None:
    with pytest.raises(DatasetError) as error:
        parse_case({"id": "a", **fields})
    assert [fault.field for fault in error.value.faults] == found


def test_the_name_of_a_turn_is_taken(tmp_path: Path) -> None:
    turns = [{"question": "?"}, {"question": "?"}]
    other = {"id": "a#2", "question": "?"}
    path = write_lines(tmp_path / "set.jsonl", {"id": "a", "turns": turns}, other)
    with pytest.raises(DatasetError) as error:
        load_cases(path)
    assert [(fault.line, fault.code) for fault in error.value.faults] == [(2, "duplicate")]


# --- fields of a line of a case file in its JSON Schema


def test_the_schema_knows_every_field_and_its_default() -> None:
    schema = case_json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert (schema["additionalProperties"], schema["required"]) == (False, ["id"])
    assert schema["oneOf"] == [{"required": ["question"]}, {"required": ["turns"]}]
    assert schema["$defs"]["Anchor"]["additionalProperties"] is False
    assert schema["properties"]["id"]["pattern"] == LABEL_PATTERN
    for kind, made in ((Case, schema), (Anchor, schema["$defs"]["Anchor"])):
        least: dict[str, Any] = dict.fromkeys(made["required"], "a")
        values = json.loads(json.dumps(dataclasses.asdict(kind(**least))))
        values.pop("talk", None)  # not of a line
        properties = made["properties"].items()
        assert {name: one.get("default", values[name]) for name, one in properties} == values
