"""Rules on the text of an answer."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.metrics.answer import check_rule
from pytest_rageval.metrics.view import Verdicts
from pytest_rageval.values.case import AnswerRule
from pytest_rageval.values.record import CitationMarkers, Evidence
from tests.build.scores import TIMEOUT, case, chunk, response, score

KEY = "answer_rules_pass_rate"


@pytest.mark.parametrize(
    ("rule", "answer", "kept"),
    [
        ({"contains": "30 days"}, "You have 30 Days.", True),
        ({"contains": "30 days"}, "You have 30\n\tdays.", True),
        ({"contains": "30 days"}, "You have 30\u00a0days.", True),
        ({"contains": "30 days"}, "You have 3 days.", False),
        ({"contains": "Paris", "ignore_case": False}, "paris", False),
        ({"contains": "a b", "ignore_whitespace": False}, "a  b", False),
        ({"contains": "a  b", "ignore_whitespace": False}, "a  b", True),
        ({"contains": "STRASSE"}, "Straße", True),
        ({"contains": "cafe\u0301", "ignore_case": False}, "caf\u00e9", True),
        ({"not_contains": "competitor"}, "Our Competitor is worse.", False),
        ({"not_contains": "competitor"}, "We are fine.", True),
        ({"not_contains": "competitor", "ignore_case": False}, "Competitor", True),
        ({"matches": r"\b\d{3}-\d{4}\b"}, "Call 555-1234.", True),
        ({"matches": r"\b\d{3}-\d{4}\b"}, "Call 555-12345.", False),
        ({"matches": "[A-Z]{3}"}, "abc", False),
        ({"matches": "[A-Z]{3}", "ignore_case": True}, "abc", True),
        ({"matches": "a b"}, "a\nb", False),
        ({"matches": "a b", "ignore_whitespace": True}, "a\nb", True),
        ({"matches": "(?=a)"}, "a", False),
    ],
)
def test_a_rule_is_kept_or_broken(rule: dict[str, Any], answer: str, kept: bool) -> None:
    assert check_rule(AnswerRule(**rule), answer).kept is kept


def test_a_broken_prohibition_shows_the_place() -> None:
    found = check_rule(
        AnswerRule(not_contains="competitor"), "x " * 60 + "the Competitor " + "y" * 60
    )
    assert "the competitor yyy" in found.found
    assert found.found.startswith("...")
    assert len(found.found) < 90


@pytest.mark.parametrize(
    ("rule", "answer", "shown"),
    [
        ({"contains": "wanted"}, f"{'x' * 30}WANTED{'y' * 30}", f"{'x' * 30}wanted{'y' * 30}"),
        (
            {"contains": "wanted"},
            f"{'x' * 31}wanted{'y' * 31}",
            f"...{'x' * 30}wanted{'y' * 30}...",
        ),
        ({"not_contains": "wanted"}, "not here", ""),
        ({"matches": "[0-9]"}, "one\ntwo 2\nthree 3", "two 2"),
        ({"matches": "one\ntwo"}, "one\ntwo", "one two"),
        ({"matches": "[0-9]"}, "one", ""),
    ],
)
def test_a_rule_shows_what_it_found_with_what_is_around_it(
    rule: dict[str, Any], answer: str, shown: str
) -> None:
    assert check_rule(AnswerRule(**rule), answer).found == shown


def test_an_answer_keeps_all_rules_or_is_flawed() -> None:
    rules = (AnswerRule(contains="30 days"), AnswerRule(not_contains="perhaps"))
    of = case("a.md", answer_rules=rules)
    good = score(of, response("a.md", answer="30 days."))
    bad = score(of, response("a.md", answer="Perhaps 30 days."))
    assert (good.metrics[KEY], good.outcome, good.failure_stage) == (1, "passed", None)
    assert (bad.metrics[KEY], bad.outcome, bad.failure_stage) == (0, "flawed", "incorrect")
    lenient = score(of, response("a.md", answer="Perhaps"), judged_on=("retrieval",))
    assert (lenient.outcome, lenient.failure_stage) == ("passed", "incorrect")


def test_a_rule_whose_pattern_is_too_slow_is_an_error_and_not_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pytest_rageval.support.patterns._MAX_S", 0.1)
    of = case("a.md", answer_rules=(AnswerRule(matches="(?:[ab]?){60000}!"),))
    found = score(of, response("a.md", answer="ab" * 10_000))
    # As where a judge failed: an error of the metric, and no verdict on the case.
    assert (found.metrics[KEY], KEY in found.not_applicable) == (None, False)
    assert found.failure_stage is None
    assert check_rule(of.answer_rules[0], "ab" * 10_000).fault.startswith("takes over 0.1 s")


def test_a_rule_alone_makes_a_case_checked() -> None:
    of = case(gold_supports=(), answer_rules=(AnswerRule(contains="30"),))
    found = score(of, response(answer="30", retrieved_chunks=None))
    assert (found.outcome, found.unchecked) == ("passed", False)


def test_an_abstention_is_a_text_too() -> None:
    of = case(gold_supports=(), answerable=False, answer_rules=(AnswerRule(contains="support@"),))
    bare = score(of, response(answer="I do not know.", abstained=True))
    assert (bare.outcome, bare.failure_stage) == ("flawed", "incorrect")
    kind = score(of, response(answer="Ask support@example.org.", abstained=True))
    assert kind.outcome == "passed"
    answered = score(of, response(answer="It is 5.", abstained=False))
    assert answered.failure_stage == "hallucinated"


def test_a_failed_answer_is_an_error_and_a_case_without_rules_outside() -> None:
    of = case("a.md", answer_rules=(AnswerRule(contains="a"),))
    for reply in (None, response("a.md", answer=" ")):
        found = score(of, reply, error=None if reply else TIMEOUT)
        assert found.metrics[KEY] is None
        assert KEY not in found.not_applicable
    assert KEY in score(case("a.md"), response("a.md")).not_applicable
    assert KEY in score(of, response("a.md"), retrieval_only=True).not_applicable


@pytest.mark.parametrize(
    ("correctness", "stage"), [(5.0, "incorrect"), (3.0, "not_used")], ids=["right", "wrong"]
)
def test_facts_left_in_the_context_are_named_before_a_broken_rule(
    correctness: float, stage: str
) -> None:
    of = case("a.md", expected_key_facts=("a",), answer_rules=(AnswerRule(contains="zz"),))
    evidence = Evidence(facts=((1,),), facts_stated=(False,))
    scores = {"correctness": correctness, "groundedness": 5.0}
    reply = response(retrieved_chunks=(chunk("a.md", text="a"),))
    verdicts = Verdicts(abstained=False, scores=scores, evidence=evidence)
    found = score(of, reply, verdicts=verdicts, judge_configured=True)
    assert found.failure_stage == stage


def test_rules_read_citations_as_the_target_writes_them() -> None:
    of = case("a.md", answer_rules=(AnswerRule(contains="[doc1]"), AnswerRule(not_contains="[1]")))
    markers = CitationMarkers(presets=("doc",))
    found = score(of, response("a.md", answer="It is so [doc1]."), markers=markers)
    assert (found.metrics[KEY], found.metrics["attribution_hit_rate"]) == (1, 1)


@given(st.text(max_size=60), st.text(min_size=1, max_size=6), st.booleans(), st.booleans())
def test_contains_is_what_a_second_reading_finds(
    answer: str, wanted: str, ignore_case: bool, ignore_whitespace: bool
) -> None:
    def plain(text: str) -> str:
        text = unicodedata.normalize("NFD", text)
        text = unicodedata.normalize("NFC", text.casefold() if ignore_case else text)
        return re.sub(r"\s+", " ", text).strip() if ignore_whitespace else text

    options: dict[str, Any] = {
        "ignore_case": ignore_case,
        "ignore_whitespace": ignore_whitespace,
    }
    expected = plain(wanted) in plain(answer)
    assert check_rule(AnswerRule(contains=wanted, **options), answer).kept is expected
    assert check_rule(AnswerRule(not_contains=wanted, **options), answer).kept is not expected
