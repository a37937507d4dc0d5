from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval.cli import main as cli
from pytest_rageval.project.case_reader import load_cases

Output = pytest.CaptureFixture[str]
FILE = "evals/eval_set.jsonl"


def run(*arguments: str) -> int:
    return cli.run(["case", *arguments])


def written() -> str:
    return Path(FILE).read_bytes().decode("utf-8")


@pytest.fixture
def two_cases() -> str:
    text = (
        '\ufeff{"id":"a", "question" : "What?",  "tags":["x"], "metadata": {"own": 1.0e0}}\r\n'
        '\r\n{"question": "Who?", "id": "b", "answerable": false, "translation_of": "a"}\r\n'
    )
    Path("evals").mkdir()
    Path(FILE).write_bytes(text.encode("utf-8"))
    return text


def test_a_case_is_added_to_a_new_file(capsys: Output) -> None:
    arguments = [
        "add", "--id", "tea-1", "--question", "What is tea?", "--gold", "notes/tea.md#Tea > Kinds",
        "--snippet", "Tea is a drink.", "--tag", "a", "--tag", "b", "--fact", "a drink",
        "--answer", "A drink.", "--difficulty", "easy", "--k", "3", "--folder", "notes",
        "--set", "required=true", "--set", 'metadata={"by": "me"}', "--set", "notes=plain text",
    ]  # fmt: skip
    assert run(*arguments) == 0
    assert capsys.readouterr().out == "evals/eval_set.jsonl: added tea-1\n"
    (found,) = load_cases(Path(FILE)).cases
    case = found.case
    assert case.gold_supports[0].heading_path == "Tea > Kinds"
    assert case.gold_supports[0].snippets == ("Tea is a drink.",)
    assert (case.tags, case.k, case.required) == (("a", "b"), 3, True)
    assert (case.metadata, case.notes) == ({"by": "me"}, "plain text")


def test_a_case_is_added_below_others_that_stay(two_cases: str) -> None:
    assert run("add", "--question", "Why?", "--unanswerable") == 0
    assert written().startswith(two_cases)
    line = json.loads(written().splitlines()[-1])
    assert line["id"].startswith("why-")
    assert written().endswith("}\r\n")


def test_cases_are_removed_and_translations_of_them_told_of(two_cases: str, capsys: Output) -> None:
    assert run("remove", "a") == 0
    assert capsys.readouterr().err == "warning: b is a translation of a, which is gone\n"
    assert written() == "\ufeff" + two_cases.split("\n", 1)[1]


def test_a_line_that_is_broken_keeps_nobody_from_mending_another(two_cases: str) -> None:
    Path(FILE).write_bytes((two_cases + "{broken\r\n").encode("utf-8"))
    assert run("edit", "a", "--category", "odd") == 0
    assert '"category":"odd"' in written().replace(": ", ":")
    assert written().endswith("{broken\r\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add"], "--question: expected the question"),
        (
            ["add", "--turn", "[1]", "--turn", '{"questoin": "x"}'],
            "turns[1].questoin: unknown field",
        ),
        (["add", "--turn", "x", "--question", "y"], "question: got question beside turns"),
        (["add", "--question", " "], 'question: got " ", expected a string that is not blank'),
        (["add", "--id", "a b", "--question", "x"], 'id: got "a b", expected a string'),
        (
            ["add", "--id", "a", "--question", "x"],
            "eval_set.jsonl:1: 'a' is already",
        ),
        (["add", "--question", "x", "--set", "qestion=y"], "unknown field, did you mean"),
        (["add", "--question", "x", "--set", "k"], "expected FIELD=JSON"),
        (["add", "--question", "x", "--snippet", "y"], "--snippet: expected one --gold"),
        (["add", "--question", "x", "--unanswerable", "--gold", "a.md"], "answerable is false"),
        (["add", "--question", "x", "--k", "0"], "0 is not in the range"),
        (["edit", "a"], "nothing to change"),
        (["edit", "aa", "--question", "x"], "unknown case 'aa', did you mean \"a\"?"),
        (["edit", "a", "--id", "b"], "eval_set.jsonl:3: 'b' is already"),
        (["edit", "a", "--unset", "k"], "--unset k: there is no such field of the case"),
        (["edit", "a", "--unset", "question"], "question: missing"),
        (["edit", "a", "--difficulty", "odd"], 'expected one of "easy", "medium", "hard"'),
        (["edit", "a", "-f", "no.jsonl", "--k", "1"], "no.jsonl: cannot be read"),
    ],
)
def test_what_would_break_the_file_is_refused(
    two_cases: str, arguments: list[str], message: str, capsys: Output
) -> None:
    assert run(*arguments) == 2
    assert message in capsys.readouterr().err
    assert written() == two_cases


def test_a_question_of_an_inbox_becomes_a_case_once_it_has_evidence() -> None:
    inbox, cases = Path("evals/inbox/log.jsonl"), Path("evals/eval_set.jsonl")
    inbox.parent.mkdir(parents=True)
    line = {
        "id": "refund", "question": "How do I get a refund?", "tags": ["inbox", "failure:date"],
        "metadata": {"trace": "t1", "weight": 4.0}, "response": {"answer": "In 30 days."},
    }  # fmt: skip
    inbox.write_text(f"{json.dumps(line)}\n", encoding="utf-8")
    promote = ["case", "promote", "refund", "-f", str(inbox), "-o", str(cases)]

    assert cli.run(promote) != 0
    assert not cases.exists()
    assert cli.run(["case", "edit", "refund", "-f", str(inbox), "--gold", "a.md"]) == 0
    assert cli.run(promote) == 0
    (case,) = (located.case for located in load_cases(cases).cases)
    assert (case.id, case.tags, case.gold_supports[0].rel_path) == (
        "refund",
        ("failure:date",),
        "a.md",
    )
    assert (case.metadata["trace"], case.metadata["weight"]) == ("t1", 4.0)
    assert "response" not in cases.read_text(encoding="utf-8")
    assert json.loads(inbox.read_text(encoding="utf-8"))["response"] == line["response"]
    assert cli.run(promote) != 0  # it is there


FIRST, SECOND = {"question": "Where?", "answerable": False}, {"question": "And who?"}
TALK = {"id": "t", "category": "c", "turns": [FIRST, SECOND]}


@pytest.mark.parametrize(
    ("arguments", "changes"),
    [
        (("--answer", "Ada.", "t#2"), {"turns": [FIRST, {**SECOND, "expected_answer": "Ada."}]}),
        (("--unset", "answerable", "t#1"), {"turns": [{"question": "Where?"}, SECOND]}),
        (("--category", "d", "t#2"), {"category": "d"}),
        (("--category", "d", "t"), {"category": "d"}),
        (("--question", "Why?", "t"), None),
        (("--turn", "Why?", "t"), {"turns": [{"question": "Why?"}]}),
        (("--turn", "Why?", "t#2"), None),
        (("--id", "u", "t#2"), None),
        (("--answer", "Ada.", "t#3"), None),
    ],
)
def test_a_turn_is_edited_within_its_line(
    arguments: tuple[str, ...], changes: dict[str, object] | None
) -> None:
    Path("evals").mkdir()
    Path(FILE).write_text(json.dumps(TALK), encoding="utf-8")
    assert run("edit", *arguments) == (2 if changes is None else 0)
    assert json.loads(written()) == {**TALK, **(changes or {})}
    assert run("remove", "t#2") == 2
    assert run("remove", "t") == 0


def test_a_conversation_is_added_turn_by_turn() -> None:
    second = {"question": "And when?", "standalone": "When is tea?", "answerable": False}
    assert run("add", "--turn", "What is tea?", "--turn", json.dumps(second), "--tag", "x") == 0
    line = json.loads(written())
    assert line["id"].startswith("what-is-tea")
    assert (line["turns"], line["tags"]) == ([{"question": "What is tea?"}, second], ["x"])


@pytest.mark.parametrize("number", ["0", "1", "-1", "x", "9" * 5000])
def test_a_turn_that_is_not_there_is_one_line_and_code_2(number: str, capsys: Output) -> None:
    Path("evals").mkdir()
    Path(FILE).write_text('{"id": "t", "turns": [5, {"question": "Who?"}]}', encoding="utf-8")
    assert run("edit", "--answer", "Ada.", f"t#{number}") == 2
    assert capsys.readouterr().err.count("\n") == 1
