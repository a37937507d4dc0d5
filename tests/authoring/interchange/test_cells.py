from __future__ import annotations

import pytest

from pytest_rageval.authoring.interchange.cells import (
    out_of_use,
    parse_answers,
    parse_list,
    parse_names,
    parse_texts,
)


@pytest.mark.parametrize(
    "printed",
    [
        "array(['one', 'two'], dtype=object)",
        "np.array(['one', 'two'])",
        "array(['one', 'two'],\n      dtype='<U3')",
        "['one' 'two']",
        "['one'\n 'two']",
        "[np.str_('one'), np.str_('two')]",
        "[b'one' b'two']",
        "Index(['one', 'two'], dtype='object')",
        "<StringArray>\n['one', 'two']\nLength: 2, dtype: string",
        "0    one\n1    two\nName: contexts, dtype: object",
        "('one', 'two')",
        '{"one","two"}',
        '["one", null, "two"]',
        "['one', None, nan, 'two']",
        "[<NA>, 'one', 'two']",
        "[Document(page_content='one', metadata={'n': 1}), Document(page_content='two')]",
        "[{'text': 'one'}, {'text': 'two'}]",
        "array([{'content': 'one'}, {'content': 'two'}], dtype=object)",
    ],
)
def test_texts_are_read_from_what_libraries_print(printed: str) -> None:
    assert parse_texts(printed) == ["one", "two"]


@pytest.mark.parametrize(
    "text",
    ["[" * 5000 + "]", "[__import__('os')]", "[1", "plain", "(see page 2)", "[see 2]",
     "print('x')", "['a' 'b' ... 'c']", "[lambda: 1]"],
)  # fmt: skip
def test_what_is_no_list_is_one_text(text: str) -> None:
    assert parse_list(text) == [text]


@pytest.mark.parametrize(
    ("value", "answers"),
    [
        (["Ann Ode", "A. Ode"], "Ann Ode\nA. Ode"),
        (["one\n two", "three", "three"], "one two\nthree"),
        (["one\ntwo"], "one\ntwo"),
        ("['Ann Ode', 'A. Ode']", "Ann Ode\nA. Ode"),
        ("[1, 2]", "[1, 2]"),
        ([1, 2.5], "1\n2.5"),
        ({"text": ["one", "two"], "answer_start": [1, 2]}, "one\ntwo"),
        ({"value": "one", "aliases": ["two"]}, "one\ntwo"),
        ([{"text": "one"}, {"text": "two"}], "one\ntwo"),
        (["No Answer Present.", "two"], "two"),
        ("nan", None),
        ("NA", None),
        (["None", None], None),
    ],
)
def test_several_answers_are_lines_of_one(value: object, answers: str | None) -> None:
    assert parse_answers(value) == (answers, False)


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("a.md; b.md", ["a.md", "b.md"]),
        ("a.md;b.md;", ["a.md", "b.md"]),
        ("doc-1;doc-2", ["doc-1", "doc-2"]),
        ("a.md|b.md", ["a.md", "b.md"]),
        ("a.md\tb.md\nc.md", ["a.md", "b.md", "c.md"]),
        ("a.md, b.md", ["a.md", "b.md"]),
        ("notes/a, notes/b", ["notes/a", "notes/b"]),
        ("Hello, World.md", ["Hello, World.md"]),
        ("refunds, returns", ["refunds, returns"]),
        ("a.md#Dates, times", ["a.md#Dates, times"]),
        ("a.md; b.md#Dates; times; c.md", ["a.md", "b.md#Dates; times", "c.md"]),
        ("C# guide.md; d.md", ["C# guide.md", "d.md"]),
        ("{a.md,b.md}", ["a.md", "b.md"]),
        ("[a.md, b.md]", ["a.md", "b.md"]),
        ("['a.md' 'b.md']", ["a.md", "b.md"]),
        ([["doc-1", "doc-2"], ["doc-3"]], ["doc-1", "doc-2", "doc-3"]),
        ("nan; a.md", ["a.md"]),
        ("#REF!", []),
    ],
)
def test_names_of_documents_are_parted(value: object, names: list[str]) -> None:
    assert parse_names(value) == names


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"status": "ARCHIVED"}, "status ARCHIVED"),
        ({"state": "deleted"}, "state deleted"),
        ({"archived": True}, "archived"),
        ({"isArchived": "true"}, "isArchived"),
        ({"archivedAt": "2026-01-02"}, "archivedAt"),
        ({"enabled": "no"}, "enabled"),
        ({"is_active": 0}, "is_active"),
        ({"status": "ACTIVE", "archived": False, "deleted_at": None, "active": "yes"}, None),
        ({"status": "reviewed", "disabled": "0"}, None),
    ],
)
def test_a_row_says_that_it_is_out_of_use(row: dict[str, object], why: str | None) -> None:
    assert out_of_use(row) == why
