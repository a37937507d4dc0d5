"""Labels, tags and rubrics from verdicts: what their readers make of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rageval.analysis.trust.calibration import request_of
from pytest_rageval.authoring.review.items import (
    failure_tag,
    label_lines,
    rubric_name,
    rubric_texts,
    tags_after,
)
from pytest_rageval.engine.preparing import load_labels
from pytest_rageval.judges.rubrics.load import load_rubric, render_prompt
from pytest_rageval.project.case_reader import parse_case
from pytest_rageval.values.run import AnswerReview
from pytest_rageval.values.verdict import JudgeRequest
from tests.authoring.review.builders import press, session_of
from tests.build.files import write_lines

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
