"""The verdicts that the page on languages and tables shows are those of the offline judge."""

from __future__ import annotations

import re

import pytest

from pytest_rageval.judges.offline.grounding import PASS
from pytest_rageval.judges.offline.judge import OfflineJudge
from pytest_rageval.metrics.quotes import holds_quote
from pytest_rageval.values.verdict import JudgeRequest, Passage
from tests.docs.examples import read_document

PAGE = read_document("languages.md")
FACTS = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| (\w+).* \|$", PAGE, re.MULTILINE)
CLAIMS = re.findall(r"^\| `([^`]+)` \| (\w+)[^`]*\|$", PAGE, re.MULTILINE)
TABLE = """\
| Plan | Price | Storage |
|---|---|---|
| Free | 0 euros | 1 GB |
| Pro | 9 euros | 50 GB |
"""


def _word(rubric: str, request: JudgeRequest) -> str:
    verdict = OfflineJudge().judge(rubric, request).verdict
    assert verdict is not None
    score = verdict.scores.get(rubric)
    return "unsure" if score is None else "passes" if score >= PASS else "fails"


@pytest.mark.parametrize(("fact", "answer", "word"), FACTS)
def test_a_key_fact_in_an_answer_gets_the_verdict_of_the_page(
    fact: str, answer: str, word: str
) -> None:
    request = JudgeRequest(question="?", answer=answer, expected_key_facts=(fact,))
    assert _word("correctness", request) == word


@pytest.mark.parametrize(("answer", "word"), CLAIMS)
def test_an_answer_about_a_table_gets_the_verdict_of_the_page(answer: str, word: str) -> None:
    question = "What does the Pro plan cost?"
    request = JudgeRequest(question=question, answer=answer, context=(Passage(text=TABLE),))
    assert _word("groundedness", request) == word


def test_the_page_shows_every_verdict() -> None:
    assert {word for *_, word in FACTS} == {"passes", "fails", "unsure"}
    assert {word for _, word in CLAIMS} == {"passes", "fails"}


def test_the_snippet_of_a_row_is_found_as_the_page_says() -> None:
    row = "<tr><td>Pro</td><td>9 euros</td><td>50 GB</td></tr>"
    for text in (TABLE, row):
        assert holds_quote("Pro 9 euros", text)
        assert not holds_quote("Pro 50 GB", text)
