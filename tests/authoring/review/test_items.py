"""Answers of a run and of a file, in one form."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rageval.analysis.trust.calibration import request_of
from pytest_rageval.authoring.inbox.collect import collect
from pytest_rageval.authoring.review.items import (
    answers_of_file,
    answers_of_run,
    failure_tag,
    found_in,
    hidden,
    label_lines,
    rubric_name,
    rubric_texts,
    source_of,
    tags_after,
)
from pytest_rageval.engine.preparing import load_labels
from pytest_rageval.judges.rubrics.load import load_rubric, render_prompt
from pytest_rageval.project.case_reader import parse_case
from pytest_rageval.runs.reviews import append_review
from pytest_rageval.values.case import Message
from pytest_rageval.values.errors import DatasetError
from pytest_rageval.values.reply import RetrievedChunk
from pytest_rageval.values.run import AnswerReview
from pytest_rageval.values.verdict import JudgeRequest
from tests.authoring.review.builders import press, session_of
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


# --- labels, tags and rubrics from verdicts: what their readers make of them

KEYS = ("p", "f", "'late", "c", "'Wrong date", "enter", "f", "'rude", "enter", "s")


def test_labels_are_those_that_calibrate_reads(tmp_path: Path) -> None:
    session = press(session_of(), *KEYS)
    path = tmp_path / "labels.jsonl"
    write_lines(path, *label_lines(session.source, session.reviews, None))
    rows = load_labels(path, "correctness")
    assert [(row.id, row.label) for row in rows] == [
        ("c-0", "correct"),
        ("c-1", "incorrect"),
        ("c-2", "incorrect"),
    ]
    asked = request_of(rows[0])
    assert [one.text for one in asked.context] == ["The text of A.", "The text of B."]
    assert asked.expected_answer == "expected 0"
    write_lines(path, *label_lines(session.source, session.reviews, "Wrong date"))
    assert [row.label for row in load_labels(path, "failure_wrong_date.absent")] == [
        "good",
        "bad",
        "good",
    ]


@pytest.mark.parametrize(
    ("category", "tag"),
    [
        ("Wrong date", "failure:wrong_date"),
        ("a::b [c]", "failure:a_b_c"),
        ("Größe", "failure:größe"),
    ],
)
def test_a_category_is_a_tag_that_a_case_can_have(category: str, tag: str) -> None:
    assert failure_tag(category) == tag
    assert parse_case({"id": "a", "question": "q", "tags": [tag]}).tags == (tag,)


@pytest.mark.parametrize(
    ("verdict", "category", "after"),
    [
        ("fail", "late", ("x", "failure:late")),
        ("fail", "", ("x",)),
        ("pass", "late", ("x",)),
    ],
)
def test_a_new_failure_replaces_an_old_one(
    verdict: str, category: str, after: tuple[str, ...]
) -> None:
    review = AnswerReview(
        file="f", case_id="a", answer_hash="h", verdict=verdict, category=category  # type: ignore[arg-type]
    )  # fmt: skip
    assert tags_after(("x", "failure:old"), [review]) == after
    other = replace(review, verdict="fail", category="tone")
    both = tags_after(("x", "failure:old"), [review, other, other])
    assert both == (*after, "failure:tone")


def test_a_drafted_rubric_is_loaded_and_quotes_notes_alone(tmp_path: Path) -> None:
    session = press(session_of(), *KEYS)
    template, schema = rubric_texts("Wrong date", session.reviews)
    name = rubric_name("Wrong date")
    (tmp_path / f"{name}.jinja").write_text(template, encoding="utf-8")
    (tmp_path / f"{name}.schema.json").write_text(schema, encoding="utf-8")
    rubric = load_rubric(f"{name}.jinja", root=tmp_path)
    assert rubric.metrics == {"absent": "failure_wrong_date.absent"}
    request = JudgeRequest(question="Q?", answer="A.")
    instructions = render_prompt(rubric, request, level="text").messages[0].text
    assert "- late" in instructions
    assert "in 1 of 3 answers" in instructions  # one was skipped
    assert "Answer 1." not in instructions


@pytest.mark.parametrize("note", ["{{ 7 * 7 }}", "{% include 'x' %}", "{# data: context #}", "}}"])
def test_a_note_is_no_template(tmp_path: Path, note: str) -> None:
    session = press(session_of(), "f", f"'{note}", "c", f"'{note}")
    name = rubric_name(note)
    template, schema = rubric_texts(note, session.reviews)
    assert template.count("{") == 1
    assert json.loads(schema)["required"] == ["absent"]
    (tmp_path / f"{name}.jinja").write_text(template, encoding="utf-8")
    (tmp_path / f"{name}.schema.json").write_text(schema, encoding="utf-8")
    rubric = load_rubric(f"{name}.jinja", root=tmp_path)
    asked = render_prompt(rubric, JudgeRequest(question="Q", answer="A"), level="text")
    assert "49" not in asked.messages[0].text


def test_names_of_rubrics_are_ascii_and_never_empty() -> None:
    assert rubric_name("Größe: falsch") == "failure_groe_falsch"
    assert rubric_name("日本") != rubric_name("日")


def test_a_note_of_the_fault_is_no_example_of_another() -> None:
    said = [("late", "dates"), ("late", "tone"), ("rude", "tone"), ("odd", "")]
    reviews = {
        ("f", str(i), 0): AnswerReview(
            file="f", case_id=str(i), answer_hash="h", verdict="fail", note=note, category=category
        )
        for i, (note, category) in enumerate(said)
    }
    template, _ = rubric_texts("dates", reviews)
    lines = [line for line in template.splitlines() if line.startswith("- ")]
    assert lines[:2] == ["- late", "- rude"]
