from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.authoring.generation.generate import Generated, Wish, case_file, generate
from pytest_rageval.authoring.notes import parse_note
from pytest_rageval.judges.model.chat import ChatModel
from pytest_rageval.project.case_reader import load_cases
from pytest_rageval.values.case import Case
from pytest_rageval.values.settings import JudgeSettings
from tests.build.hostile_judge import Asked, Canned, HostileJudge, completion

BIKE = """# Cargo bike

The cargo bike is a bicycle with a box in front.

## How far does the cargo bike go?

For about 45 kilometres.

## How do I book it?

Write to the keyholder.

## Which lock fits it?

A lock of 12 millimetres.
"""
GATES = """# Gates

## When does the north gate open?

At 8:15.

## Who closes the north gate?

The warden.

## What is served on Sundays?

Pancakes.
"""


def made(text: str, talks: int = 9, **wish: Any) -> Generated:
    notes = [parse_note("note.md", text.encode())]
    return generate(notes, Wish(talks=talks, unanswerable=0, **wish))


def asked(found: Generated) -> list[list[str]]:
    return [[turn.question for turn in case.turns] for case in found.cases if case.turns]


def test_a_second_turn_leaves_out_what_the_heading_beside_it_named(tmp_path: Path) -> None:
    found = made(BIKE)
    assert asked(found) == [
        ["What is the cargo bike?", "How far does it go?"],
        ["Cargo bike: How do I book it?", "Which lock fits it?"],
    ]
    assert len(found.cases) == 2  # their questions are not asked alone as well
    path = tmp_path / "g.jsonl"
    path.write_text(case_file(found.cases), encoding="utf-8")
    one, two, *_ = [located.case for located in load_cases(path).cases]
    assert two.standalone == "How far does the cargo bike go?"
    assert two.gold_supports[0].heading_path.endswith("How far does the cargo bike go?")
    assert one.gold_supports != two.gold_supports
    assert {case.review for case in (one, two)} == {"generated"}


def test_there_are_none_unless_wanted_and_no_more_than_the_limit() -> None:
    assert asked(made(BIKE, talks=0)) == []
    assert len(asked(made(BIKE, talks=1))) == 1
    assert [bool(case.turns) for case in made(BIKE, limit=1).cases] == [True]
    assert asked(made(GATES)) == []  # nothing in these says how a second question leans on a first


def test_the_same_notes_give_the_same_conversations() -> None:
    assert made(BIKE, talks=1).cases == made(BIKE, talks=1).cases


@pytest.mark.parametrize(
    ("reply", "second"),
    [
        ("And who closes it?", "And who closes it?"),
        ("Who closes the north gate then?", None),  # leaves nothing out
        ("Closes.", None),
        ("", None),
    ],
)
def test_a_model_says_the_second_where_both_name_the_same(reply: str, second: str | None) -> None:
    def script(request: Asked) -> Canned:
        system = request.body["messages"][0]["content"]
        talks = "goes on with the second" in system
        return completion(json.dumps({"question": reply} if talks else {"cases": []}))

    with HostileJudge(script) as server:
        settings = JudgeSettings(base_url=server.url, retries=0)
        with ChatModel("m-1", settings, environ={}, sleep=lambda seconds: None) as model:
            notes = [parse_note("gates.md", GATES.encode())]
            found = generate(notes, Wish(talks=9, unanswerable=0), model=model)
    expected = [] if second is None else [["When does the north gate open?", second]]
    assert asked(found) == expected
    assert "What is served on Sundays?" in [case.question for case in found.cases]
    for case in (one for one in found.cases if one.turns):
        assert _standalone(case) == "Who closes the north gate?"
        assert case.metadata["generated_by"].startswith("m-1 ")


def _standalone(case: Case) -> str | None:
    return case.turns[1].standalone
