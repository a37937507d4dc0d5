"""Answers of a run and of a file, in one form."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.authoring.inbox.collect import collect
from pytest_rageval.authoring.review.items import (
    answers_of_file,
    answers_of_run,
    found_in,
    hidden,
    source_of,
)
from pytest_rageval.runs.reviews import append_review
from pytest_rageval.values.case import Message
from pytest_rageval.values.errors import DatasetError
from pytest_rageval.values.reply import RetrievedChunk
from pytest_rageval.values.run import AnswerReview
from tests.build.files import write_lines
from tests.build.records import failed
from tests.build.runs import scored, side

CHUNK = RetrievedChunk(rel_path="a.md", heading_path="# A", text="text", matched_golds=(0,))
LINE = {
    "id": "q",
    "question": "How?",
    "gold_supports": [{"rel_path": "a.md", "heading_path": "# A"}],
    "metadata": {
        "feedback": "down",
        "trace": "t",
        "history": [{"role": "user", "content": "Hello"}, 5],
    },
    "response": {
        "answer": "So.",
        "debug": {
            "retrieved_chunks": [{"rel_path": "a.md", "heading_path": "# A", "text": "x"}],
        },
    },
}


def test_a_run_gives_the_first_repeat_of_each_answered_case() -> None:
    run = side([
        scored("a", 1.0, answer="yes", retrieved_chunks=(CHUNK,)),
        scored("a", 0.0, answer="no", repeat=1),
        scored("b", 0.0, answer="b", failure_stage="not_retrieved"),
        scored("c", 1.0, answer="c", unchecked=True),
        failed("d"),
    ])  # fmt: skip
    found = {one.case.id: one for one in answers_of_run(run)}
    assert {name: (one.answer, one.figured.stage) for name, one in found.items()} == {
        "a": ("yes", "passed"),
        "b": ("b", "not_retrieved"),
        "c": ("c", "unscored"),
    }
    (passage,) = found["a"].passages
    assert (passage.rel_path, passage.matched_golds) == ("a.md", (0,))
    assert ("hit_at_k", 1.0) in found["a"].scores


def test_messages_before_a_turn_are_shown_with_it() -> None:
    before = (Message(role="user", content="Hello"), Message(role="assistant", content="Hi"))
    (one,) = answers_of_run(side([scored("a", 1.0, answer="x", history=before)]))
    assert one.history == (("user", "Hello"), ("assistant", "Hi"))


def test_cases_that_changed_since_the_baseline_promise_more() -> None:
    base = side([scored("a", 1.0, answer="x"), scored("b", 1.0, answer="x")], run_id="base")
    new = side([scored("a", 0.0, answer="x"), scored("b", 1.0, answer="x")])
    found = {one.case.id: one.reasons for one in answers_of_run(new, base)}
    assert found == {"a": ("flipped",), "b": ()}


def test_a_file_gives_the_answers_on_the_lines_of_its_cases(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "prod.jsonl", LINE, {"id": "r", "question": "No answer"})
    (one,), n_without = answers_of_file(path, "prod.jsonl")
    assert n_without == 1
    assert (one.key, one.answer, one.figured.stage) == (("prod.jsonl", "q", 0), "So.", "unscored")
    assert one.reasons == ("negative feedback",)
    assert one.history == (("user", "Hello"),)
    assert one.passages[0].matched_golds == (0,)
    assert one.figured.cluster == "a.md"


@pytest.mark.parametrize(
    "line",
    [
        {"id": "q", "question": "How?"},
        {**LINE, "response": 5},
        {**LINE, "response": {"answer": 5}},
        {**LINE, "question": ""},
        {**LINE, "tags": "x"},
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_place(tmp_path: Path, line: object) -> None:
    path = write_lines(tmp_path / "prod.jsonl", line)
    with pytest.raises(DatasetError) as raised:
        answers_of_file(path, "prod.jsonl")
    assert str(raised.value).startswith("prod.jsonl:")


def test_an_answer_that_changed_loses_its_verdict(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "prod.jsonl", LINE)
    answers, _ = answers_of_file(path, "prod.jsonl")
    (one,) = answers
    said = AnswerReview(file="prod.jsonl", case_id="q", answer_hash=one.answer_hash, verdict="fail")
    append_review(path, "ann", said)
    source = source_of(path, "prod.jsonl", answers, random_share=0.5)
    assert [one.n_read for one in found_in(source).figures] == [1]
    write_lines(path, {**LINE, "response": {"answer": "Otherwise."}})
    answers, _ = answers_of_file(path, "prod.jsonl")
    assert found_in(source_of(path, "prod.jsonl", answers, random_share=0.5)).figures == ()


def test_hidden_answers_keep_what_the_case_says() -> None:
    (one,) = answers_of_run(side([scored("a", 0.0, answer="x", failure_stage="incorrect")]))
    blind = hidden(one)
    assert (blind.figured.stage, blind.stage_name, blind.scores) == ("unscored", "", ())
    assert blind.case == one.case


def test_lines_of_an_imported_log_are_read_as_the_import_writes_them(tmp_path: Path) -> None:
    log = [
        {"question": "How long?", "answer": "A day.", "feedback": "down"},
        {"question": "Where is it?", "answer": "In Bonn.", "feedback": "up"},
        {"question": "Where is it?", "answer": "In Bonn."},
    ]
    found = collect([write_lines(tmp_path / "log.jsonl", *log)], "jsonl")
    path = write_lines(tmp_path / "inbox.jsonl", *found.lines)
    answers, _ = answers_of_file(path, "inbox.jsonl")
    assert {one.case.question: one.reasons for one in answers} == {
        "How long?": ("negative feedback",),
        "Where is it?": (),
    }
    source = source_of(path, "inbox.jsonl", answers, random_share=0.5)
    assert sorted(one.weight or 0 for one in source.readable.values()) == [1.0, 2.0]
