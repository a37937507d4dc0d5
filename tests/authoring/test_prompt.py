"""The conversation with a target, over a desk that notes what it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.authoring.prompt import AskedQuestion, PromptError, PromptSession
from pytest_rageval.engine.case import Before
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.report.faces.terminal import draw
from pytest_rageval.values.case import Case, Turn
from pytest_rageval.values.errors import DatasetError
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import ErrorInfo, FolderSelection
from pytest_rageval.values.settings import Settings
from tests.build.records import failed, record
from tests.build.scores import case, chunk
from tests.build.verdicts import judged_by

SETTINGS = Settings(rootdir=".", k=5)


class Desk:
    """Answers every question in its own words."""

    def __init__(self) -> None:
        self.asked: list[AskedQuestion] = []
        self.saved: list[Mapping[str, Any]] = []
        self.failure: ErrorInfo | None = None
        self.answers = ["The limit is 5.", "The limit is 7."]

    def ask(self, question: AskedQuestion) -> CaseRecord:
        self.asked.append(question)
        one = question.located.case
        if self.failure is not None:
            return failed(one.id, error=self.failure, question=one.question)
        chunks = [
            chunk("work/queue.md | # Queue", text="limit", matched_golds=(), irrelevant=False),
            chunk("home/garden.md | # Garden", text="plants\nmore", chunk_id="g"),
        ]
        if len(self.asked) % 2 == 0:
            chunks.reverse()
        return record(
            one.id,
            case=one,
            file=question.file,
            answer=self.answers[(len(self.asked) - 1) % len(self.answers)],
            retrieved_chunks=tuple(chunks),
            folder_selection=FolderSelection(available_folders=("home", "work")),
        )

    def judge(self, question: AskedQuestion) -> CaseRecord:
        verdict = judged_by(scores={"groundedness": 4.0}, reasoning="It is said there.")
        return record("asked", answer="x", judgements=verdict)

    def save(self, line: Mapping[str, Any]) -> str:
        if line["id"] == "taken":
            raise DatasetError("evals/eval_set.jsonl:1: has the id 'taken' already")
        self.saved.append(line)
        return "evals/eval_set.jsonl"


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def prompt(desk: Desk) -> PromptSession:
    one = replace(case("work/queue.md | # Queue"), id="queue", question="Which limit?", k=3)
    return PromptSession(
        desk, SETTINGS, {"queue": ("evals/set.jsonl", LocatedCase(case=one, lineno=4))}
    )


def said(prompt: PromptSession, line: str) -> str:
    return "\n".join(draw(prompt.take(line)))


def test_a_question_is_asked_and_its_answer_and_chunks_are_shown(
    prompt: PromptSession, desk: Desk
) -> None:
    shown = said(prompt, "Which limit?")
    assert "answer   The limit is 5." in shown
    assert "work/queue.md > # Queue" in shown
    (asked,) = desk.asked
    assert (asked.located.case.question, asked.file, asked.settings.k) == ("Which limit?", "", 5)


def test_settings_count_for_the_next_question(prompt: PromptSession, desk: Desk) -> None:
    for line in (":k 9", ":folders work home", ":vaults main", ":folder-mode on",
                 ":weights 0.2 0.8", ":set rerank=true", ":set style=short answer"):  # fmt: skip
        said(prompt, line)
    said(prompt, "Which limit?")
    (asked,) = desk.asked
    settings, one = asked.settings, asked.located.case
    assert (settings.k, settings.folder_mode) == (9, "on")
    assert (settings.vector_weight, settings.lexical_weight) == (0.2, 0.8)
    assert settings.params == {"rerank": True, "style": "short answer"}
    assert (one.k, one.folders, one.vaults) == (9, ("work", "home"), ("main",))
    said(prompt, ":unset rerank")
    assert "rerank" not in prompt.settings.params
    assert "folders      work home" in said(prompt, ":settings")


def test_two_answers_are_compared_by_words_and_ranks(prompt: PromptSession) -> None:
    said(prompt, "Which limit?")
    said(prompt, ":again")
    shown = said(prompt, ":diff")
    assert "before   The limit is [-5-]." in shown
    assert "after    The limit is [+7+]." in shown
    assert "2 -> 1  home/garden.md > # Garden" in shown


def test_an_answer_is_judged_on_request(prompt: PromptSession) -> None:
    said(prompt, "Which limit?")
    shown = said(prompt, ":judge")
    assert "groundedness 4.000" in shown
    assert "It is said there." in shown


def test_a_question_is_saved_with_the_chunks_that_hold_its_evidence(
    prompt: PromptSession, desk: Desk
) -> None:
    said(prompt, ":folders work")
    said(prompt, "Which limit has the queue?")
    assert "saved    limit-queue added" in said(prompt, ":save limit-queue 1 1")
    assert desk.saved == [
        {
            "id": "limit-queue",
            "question": "Which limit has the queue?",
            "gold_supports": [{"rel_path": "work/queue.md", "heading_path": "# Queue"}],
            "folders": ["work"],
        }
    ]
    shown = said(prompt, ":save")
    assert "marks its evidence" in shown
    assert "gold_supports" not in desk.saved[1]
    assert desk.saved[1]["id"]


def test_a_conversation_is_asked_with_its_history_and_saved_as_one(
    prompt: PromptSession, desk: Desk
) -> None:
    for line in (":talk", "Which limit?", "And how long?", ":again"):
        said(prompt, line)
    first, second, again = desk.asked
    answered = [(one.role, one.content) for one in second.before.answered]
    assert answered == [("user", "Which limit?"), ("assistant", "The limit is 5.")]
    assert (first.before.answered, again.before) == ((), second.before)
    assert first.before.session == second.before.session != ""
    assert [one.located.case.turn for one in desk.asked] == [1, 2, 2]
    desk.failure = ErrorInfo(kind="timeout", message="too slow")
    said(prompt, "Really?")
    desk.failure = None
    said(prompt, "Why?")
    assert len(desk.asked[-1].before.answered) == 4, "what failed was not said"
    said(prompt, ":save limits 1")
    assert [*desk.saved[0]] == ["id", "turns"]
    *others, last = desk.saved[0]["turns"]
    assert others == [{"question": "Which limit?"}, {"question": "And how long?"}]
    assert (last["question"], len(last["gold_supports"])) == ("Why?", 1)
    said(prompt, ":case queue")
    said(prompt, ":save alone")
    assert desk.saved[1]["question"] == "Which limit?"
    said(prompt, ":talk off")
    said(prompt, "And now?")
    assert desk.asked[-1].before == Before()


def test_a_turn_of_a_case_file_is_asked_with_the_expected_answers_before_it(desk: Desk) -> None:
    turns = (Turn(question="Where?", expected_answer="Here."), Turn(question="And when?"))
    second = Case(id="talk", turns=turns).expanded()[1]
    located = LocatedCase(case=second, lineno=1)
    said(PromptSession(desk, SETTINGS, {"talk#2": ("evals/set.jsonl", located)}), ":case talk#2")
    (asked,) = desk.asked
    assert [one.content for one in asked.before.answered] == ["Where?", "Here."]


def test_a_failure_is_shown_with_its_place(prompt: PromptSession, desk: Desk) -> None:
    desk.failure = ErrorInfo(
        kind="raised", message="KeyError: 'x'", traceback="conftest.py:3: in answer\n    x['x']"
    )
    shown = said(prompt, "Which limit?")
    assert "failed   KeyError: 'x'" in shown
    assert "conftest.py:3: in answer" in shown
    with pytest.raises(PromptError, match="no answer to judge"):
        said(prompt, ":judge")


def test_an_answer_cannot_write_to_the_terminal(prompt: PromptSession, desk: Desk) -> None:
    desk.answers = ["\x1b[2J\x1b]0;owned\x07 red\u202e \x9b31m\n::error::x"]
    shown = said(prompt, "Which limit?")
    assert not set(shown) & set("\x1b\x07\u202e\x9b")
    assert "::error::" not in shown


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (":cse queue", 'unknown command :cse, did you mean "case"?'),
        (":", "unknown command :"),
        (":case", "expected :case ID"),
        (":case queu", "unknown case 'queu', did you mean \"queue\"?"),
        (":k", "expected :k N, from 1 to 200"),
        (":k 0", "expected :k N"),
        (":k many", "expected :k N"),
        (f":k {'9' * 5000}", "expected :k N"),
        (":weights 1", "expected :weights VECTOR LEXICAL"),
        (":weights 0 0", "expected :weights VECTOR LEXICAL"),
        (":weights nan 1", "expected :weights VECTOR LEXICAL"),
        (":weights -1 1", "expected :weights VECTOR LEXICAL"),
        (":folder-mode maybe", "expected :folder-mode off or on or on_with_fallback"),
        (":set rerank", "got 'rerank', expected NAME=VALUE, such as rerank=true"),
        (":set question=y", "got 'question'"),
        (":unset rerank", "one of none is set"),
        (":again", "nothing was asked yet"),
        (":judge", "nothing was asked yet"),
        (":diff", "only one answer so far"),
        (":chunk 1", "nothing was asked yet"),
        (":save", "nothing was asked yet"),
    ],
)
def test_a_wrong_line_says_what_to_type(prompt: PromptSession, line: str, says: str) -> None:
    with pytest.raises(PromptError) as caught:
        said(prompt, line)
    assert says in str(caught.value)
