from pathlib import Path

import pytest

from pytest_rageval.server.engine import in_full
from tests.server.builders import ask, make_engine, paths, write_vault

BEFORE = ["How do I get a refund?", "Which colours are there?"]


@pytest.mark.parametrize(
    "question",
    [
        "How long does it take?",
        "And in winter?",
        "Why?",
        "What about those that are broken?",
        "When?",
    ],
)
def test_a_follow_up_is_searched_with_the_question_before_it(question: str) -> None:
    assert in_full(question, BEFORE) == f"{BEFORE[-1]} {question}"
    assert in_full(question, []) == question


@pytest.mark.parametrize("question", ["Which port does the gateway listen on?", *BEFORE[:1]])
def test_a_question_that_stands_alone_stays(question: str) -> None:
    assert in_full(question, ["Who leads the team?"]) == question


def test_the_answer_to_a_follow_up_is_that_of_its_topic(tmp_path: Path) -> None:
    engine = make_engine(write_vault(tmp_path))
    history = [
        {"role": "user", "content": "When are tomatoes planted?"},
        {"role": "assistant", "content": "In May."},
    ]

    alone = ask(engine, "And after what?", k=1)
    found = ask(engine, "And after what?", k=1, history=history)

    assert "home/garden.md" not in paths(alone)
    assert paths(found) == ["home/garden.md"]
