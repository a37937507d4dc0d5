from __future__ import annotations

import pytest

from pytest_rageval.values.case import Anchor
from pytest_rageval.values.errors import DatasetError
from tests.authoring.interchange.sources import cases_of, read_samples, read_texts


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
