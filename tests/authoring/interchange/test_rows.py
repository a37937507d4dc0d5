""""""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_rageval.authoring.interchange.cells import parse_answers
from pytest_rageval.authoring.interchange.values import is_missing, listed
from pytest_rageval.project.case_reader import case_fields
from pytest_rageval.values.case import Anchor, Case, KeyFact
from pytest_rageval.values.errors import DatasetError
from tests.authoring.interchange.sources import cases_of, left_out, read_samples, read_texts
from tests.authoring.interchange.strategies import CASES, unique


def test_expected_references_become_golds() -> None:
    found = read_samples("json", "suite.json")
    roses, spring, cup = cases_of(found)
    assert roses.gold_supports == (
        Anchor(rel_path="garden/roses.md", heading_path="# Roses > ## Pruning", vault="club"),
    )
    assert spring.gold_supports == (
        Anchor(rel_path="garden/beans.md", heading_path="Beans > Sowing"),
        Anchor(rel_path="garden/peas.md"),
    )
    assert (spring.id, spring.metadata) == ("t-2", {"suite": {"id": "t 2", "owner": "club"}})
    assert (cup.answerable, cup.expected_key_facts) == (False, ("do not know",))
    assert cup.id.startswith("who-won-the-cup")
    assert roses.category == "care_of_flowers"
    assert roses.metadata["suite"]["type"] == "care of flowers"
    assert left_out(found) == {"name": 1, "vault": 1, "expected_references[].weight": 1}


def test_json_lines_are_read_under_the_name_that_libraries_of_data_frames_give_them() -> None:
    text = '{"question": "When?"}\n{"question": "Where?"}\n'
    found = cases_of(read_texts("json", {"dataset.json": text}))
    assert [case.question for case in found] == ["When?", "Where?"]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('[\n {"question": "When?"}\n]]\n', 3, 2),
        ('{\n "question": "When?"\n}\n{\n "question": "Where?"\n}\n', 4, 1),
    ],
)
def test_json_that_goes_on_after_its_end_is_not_json_lines(
    text: str, line: int, column: int
) -> None:
    with pytest.raises(DatasetError) as caught:
        read_texts("json", {"a.json": text})
    assert str(caught.value).startswith(f"a.json:{line}: not JSON: Extra data at column {column}")


@settings(max_examples=25)
@given(cases=st.lists(CASES, min_size=1, max_size=3).map(unique))
def test_any_cases_of_ours_come_in_as_they_are(cases: list[Case]) -> None:
    for case in cases:
        for value in case_fields(case).values():
            # The words that data frames print for a missing value are none of ours.
            assume(not any(map(is_missing, listed(value))))
        answer = case.expected_answer
        assume(answer is None or parse_answers(answer) == (answer, False))
    lines = "".join(f"{json.dumps(case_fields(case))}\n" for case in cases)
    once = [replace(case, tags=tuple(dict.fromkeys(case.tags))) for case in cases]
    assert list(cases_of(read_texts("json", {"s.jsonl": lines}))) == once


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": 1}, "expected a list of cases under one of"),
        ([1], "case 1: got 1, expected an object"),
        ([{"id": "a"}, {"question": "b"}], "case 1: question: missing"),
        ([{"id": "a"}], "none of 'id' is known as the field of questions"),
        (
            [{"input": [{"role": role, "content": "a"} for role in ("user", "assistant")]}],
            "a chat of 2 messages, expected one of role user at its end",
        ),
        ([{"input": {"text": "a"}}], "name the one inside with --column question=input.text"),
        ({"questions": ["a"], "answers": ["b"]}, "none of 'questions', 'ans"),
        ([{"question": "a", "difficulty": "odd"}], "case 1: difficulty: got 'odd', expected easy"),
        ([{"question": "a", "answerable": "perhaps"}], "expected true or false"),
        ([{"question": "a", "k": 1.5}], "expected an integer"),
        ([{"question": "a", "gold": [{"heading": "x"}]}], "expected an anchor with rel_path"),
        ([{"question": ["a"]}], "expected a text"),
    ],
)
def test_faults_name_the_case_and_the_field(value: object, message: str) -> None:
    with pytest.raises(DatasetError) as caught:
        read_texts("json", {"s.json": json.dumps(value)})
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["json", "ragas", "deepeval", "promptfoo"])
def test_what_a_file_loses_is_said_by_every_format(name: str) -> None:
    row = '"question": "Who?", "user_input": "Who?", "input": "Who?", "score": NaN, "by": "\\udc00"'
    text = f'{{"tests": [{{"vars": {{"question": "Who?"}}, {row}}}]}}'
    found = read_texts(name, {"f.json": text})
    assert left_out(found)["tests[].score"] == 1
    assert "tests[].by: half of a surrogate pair, written as U+FFFD instead" in found.notes


LANGSMITH = {"question": "inputs.question", "expected_answer": "outputs.answer"}


def test_a_column_names_a_field_inside_an_object() -> None:
    found = read_samples("json", "langsmith.jsonl", columns=LANGSMITH)
    roses, cup = cases_of(found)
    assert (roses.question, roses.expected_answer) == ("When are roses pruned?", "In late winter.")
    assert roses.metadata["dataset_split"] == ["base"]
    assert roses.metadata["suite"]["inputs"] == {"user": "gardener"}
    assert (cup.question, cup.expected_answer) == ("Who won the cup?", None)
    assert found.carried["inputs.question"] == 2


@pytest.mark.parametrize(
    "value",
    [
        {"question": ["When?", "Where?"], "ground_truth": ["Soon.", "Here."]},
        {"question": {"0": "When?", "1": "Where?"}, "ground_truth": {"0": "Soon.", "1": "Here."}},
        {"examples": [
            {"query": "When?", "reference_answer": "Soon."},
            {"query": "Where?", "reference_answer": "Here."},
        ]},
    ],
)  # fmt: skip
def test_suites_are_read_as_data_frames_and_libraries_write_them(value: object) -> None:
    when, where = cases_of(read_texts("json", {"s.json": json.dumps(value)}))
    assert (when.question, when.expected_answer) == ("When?", "Soon.")
    assert (where.question, where.expected_answer) == ("Where?", "Here.")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("answer", ["Ann Ode", "A. Ode"]),
        ("answers", "['Ann Ode', 'A. Ode']"),
        ("golden_answers", ["Ann Ode", "A. Ode"]),
        ("answer", {"value": "Ann Ode", "aliases": ["Ann Ode", "A. Ode"]}),
    ],
)
def test_several_accepted_answers_are_lines(field: str, value: object) -> None:
    row = {"question": "Who wrote it?", field: value}
    (case,) = cases_of(read_texts("json", {"s.jsonl": json.dumps(row)}))
    assert case.expected_answer == "Ann Ode\nA. Ode"


def test_missing_values_of_data_frames_and_spreadsheets_are_empty() -> None:
    table = (
        "question;expected_answer;gold_supports;k;category;notes\n"
        "Who?;nan;#REF!;NaN;None;<NA>\n"
        "When?;#NAME?;NaT;;N/A;NULL\n"
    )
    found = read_texts("csv", {"t.csv": table})
    for case in cases_of(found):
        assert (case.expected_answer, case.gold_supports, case.k) == (None, (), None)
        assert (case.category, case.notes, case.metadata) == ("general", "", {})
    assert [one.why for one in found.left_out] == ["empty"]


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        ({"q": "Who?", "sources": "a.md|b.md", "part": "x"}, {"heading_path": "part"}),
        ({"q": "Who?", "source": "a.md", "part": "twelve"}, {"pages": "part"}),
        ({"q": "Who?", "part": "x"}, {"heading_path": "part"}),
        ({"q": "Who?", "part": [True]}, {"gold_supports": "part"}),
        ({"q": "Who?", "part": [[1]], "source": "a.md"}, {"heading_path": "part"}),
    ],
)
def test_a_named_column_is_refused_where_nothing_can_be_made_of_it(
    row: dict[str, object], columns: dict[str, str]
) -> None:
    texts = {"s.jsonl": json.dumps(row)}
    with pytest.raises(DatasetError, match="case 1: part: "):
        read_texts("json", texts, columns={"question": "q", **columns})


@pytest.mark.parametrize("name", ["history", "chat_history", "chatHistory"])
def test_earlier_turns_of_a_question_are_its_history(name: str) -> None:
    turns = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Bea."}]
    row = {"question": "Where does she live?", name: turns}
    found = read_texts("json", {"s.jsonl": json.dumps(row)})
    assert cases_of(found)[0].metadata == {"history": turns}
    assert found.kept == {name: 1}


def test_key_facts_of_our_own_format_keep_whether_they_are_vital() -> None:
    text = '{"question": "When?", "expected_key_facts": ["a", {"text": "b", "vital": false}]}\n'
    [case] = cases_of(read_texts("json", {"set.jsonl": text}))
    assert case.expected_key_facts == ("a", KeyFact(text="b", vital=False))


# ---


def test_a_table_of_a_spreadsheet_becomes_cases() -> None:
    found = read_samples("csv", "cases.csv")
    c1, c2 = cases_of(found)
    assert (c1.id, c1.expected_answer, c1.tags) == ("c1", "In late winter.", ("care", "winter"))
    assert c1.gold_supports == (
        Anchor(rel_path="garden/roses.md", heading_path="Roses > Pruning"),
        Anchor(rel_path="garden/more.md"),
    )
    assert c1.metadata == {"csv": {"Owner": "club"}}
    assert (c2.question, c2.answerable) == ("Who won; and when?", False)
    assert found.kept == {"Owner": 1}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found_out(delimiter: str) -> None:
    text = delimiter.join(("id", "question", "notes")) + "\n" + delimiter.join(("a", "b?", "c"))
    (case,) = cases_of(read_texts("csv", {"t.csv": text}))
    assert (case.id, case.question, case.notes) == ("a", "b?", "c")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "empty, expected a table with a header"),
        ("id,name\n1,2\n", {}, "none of 'id', 'name' is known as the column of questions"),
        ("id,question\n1,2,3\n", {}, "t.csv:2: 3 cells under 2 headers"),
        ("question\na,b\n", {}, "t.csv:2: 2 cells under 1 header; quote"),
        ("id,id\n1,2\n", {}, "the header 'id' is listed twice"),
        ("id,question\n1,\n", {}, "t.csv:2: question: missing"),
        ("id,question,difficulty\n1,a,odd\n", {}, "t.csv:2: difficulty: got 'odd'"),
        ('question,notes\na,b\n"open,c\nd,e\n', {}, "t.csv:3: unexpected end of data"),
        (
            'question;notes\na;b\n"c" d;e\n',
            {},
            "t.csv:3: ';' expected after '\"', expected a table",
        ),
        ('inputs,outputs\n"{""query"": ""a""}",b\n', {}, "--column question=inputs.query"),
        (
            'input,ideal\n"{""query"": ""a""}",b\n',
            {},
            "t.csv:2: input: got {'query': 'a'}, expected a text; name the one inside with "
            "--column question=input.query",
        ),
        ("a,b\n1,2\n", {"columns": {"question": "c"}}, "no such header; the headers are a, b"),
        ("a\n1\n", {"columns": {"qestion": "a"}}, 'did you mean "question"?'),
    ],
)
def test_faults_name_the_line(text: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(DatasetError) as caught:
        read_texts("csv", {"t.csv": text}, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("word", "answerable"),
    [("Ja", True), ("NEIN", False), ("sí", True), ("non", False), ("WAHR", True), ("FAUX", False)],
)
def test_a_spreadsheet_says_yes_and_no_in_its_language(word: str, answerable: bool) -> None:
    (case,) = cases_of(read_texts("csv", {"t.csv": f"question,answerable\na,{word}\n"}))
    assert case.answerable is answerable


@pytest.mark.parametrize(
    ("cell", "pages"),
    [
        ("12", (12,)),
        ("12.0", (12,)),
        ('"[12, 13]"', (12, 13)),
        ("iv", ()),
        ("0", ()),
        ("9" * 5000, ()),
    ],
)
def test_a_column_of_pages_belongs_to_the_anchor(cell: str, pages: tuple[int, ...]) -> None:
    found = read_texts("csv", {"t.csv": f"question,source,page\nWhen?,a.pdf,{cell}\n"})
    (case,) = cases_of(found)
    assert case.gold_supports == (Anchor(rel_path="a.pdf", pages=pages),)
    assert found.kept == ({} if pages else {"page": 1})
