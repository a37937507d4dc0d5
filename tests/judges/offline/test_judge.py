from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_rageval.judges.offline.judge import OfflineJudge
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.verdict import JudgeRequest, Passage, Verdict
from tests.build.shared_data import shared_path

CONTEXT = (
    Passage(text="Uploads are limited to 1,000 files of 20 MB each. Only owners delete them."),
    Passage(
        text="Backups are kept for 30 days in Frankfurt. Dr. Smith approved this on 5 March 2021. "
        "The service is not available in Canada.",
        heading_path="# Backups > ## Retention",
    ),
)


def verdict(rubric: str, answer: str, **fields: object) -> Verdict:
    request = JudgeRequest(**{"question": "", "context": CONTEXT, "answer": answer, **fields})  # type: ignore[arg-type]
    judgement = OfflineJudge().judge(rubric, request)
    assert judgement.verdict is not None
    return judgement.verdict


def groundedness(answer: str) -> float:
    return verdict("groundedness", answer).scores["groundedness"]


# --- as a judge ------------------------------------------------------------------------------


def test_a_judgement_names_judge_and_rubric_version() -> None:
    judgement = OfflineJudge().judge("claims", JudgeRequest(question="q", answer="a"))
    assert judgement.judge == "offline/11"
    assert judgement.rubric_version == "claims-offline/11"
    assert (judgement.level, judgement.prompt_hash, judgement.failure) == ("offline", "", None)
    assert judgement.usage.calls == 0


@pytest.mark.parametrize("rubric", ["quality", "five_dimensions", "my/rubric.toml"])
def test_a_rubric_that_needs_a_model_is_a_wrong_setting(rubric: str) -> None:
    with pytest.raises(ConfigError, match=r"expected one of groundedness, correctness, abstention"):
        OfflineJudge().judge(rubric, JudgeRequest(question="q", answer="a"))


# --- groundedness ----------------------------------------------------------------------------


def test_an_answer_of_which_half_is_made_up_does_not_pass() -> None:
    whole = "Uploads are limited to 1,000 files of 20 MB each, and only owners delete them [1]."
    half = verdict("groundedness", f"{whole} Backups are kept for 90 days [2].")
    assert [claim.supported for claim in half.claims] == [True, False]
    assert 3 <= half.scores["groundedness"] < 4 <= groundedness(whole)


def test_a_quotation_with_citation_is_a_five_and_without_one_a_pass() -> None:
    quoted = "Uploads are limited to 1,000 files of 20 MB each"
    assert groundedness(f"{quoted} [1].") == pytest.approx(5, abs=0.05)
    assert 4 <= groundedness(f"{quoted}.") <= 4.5


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("Backups are kept for 90 days in Frankfurt", "not found there: 90"),
        ("Dr. Smith approved this on 5 April 2021", 'says "april" where the passage has "march"'),
        ("Dr. Jones approved this on 5 March 2021", "names not found: jones"),
        ("Dr. Smith approved this on 2021-03-06", "not found there: 6"),
        ("Backups are not kept for 30 days in Frankfurt", "negates what the passage states"),
        ("The service is available in Canada", "states what the passage negates"),
        ("Uploads are limited to 1,001 files of 20 MB each", "not found there: 1,001"),
    ],
)
def test_a_fault_in_a_claim_found_otherwise_fails_it(claim: str, reason: str) -> None:
    found = verdict("groundedness", f"{claim} [1].")
    assert found.scores["groundedness"] < 4
    assert found.scores["claim_support_rate"] == 0
    assert reason in found.claims[0].reason


@pytest.mark.parametrize(
    "claim",
    [
        "Backups are kept for thirty days in Frankfurt.",
        "Dr. Smith approved this on 2021-03-05.",
        "The service isn't available in Canada.",
        "Uploads are limited to 1000 files of 20 MB each.",
        "Backups are kept for over 20 days in Frankfurt.",
    ],
)
def test_the_same_in_other_words_is_supported(claim: str) -> None:
    assert groundedness(claim) >= 4


@pytest.mark.parametrize("answer", ["I don't have that information.", "Sorry, I do not know."])
def test_an_answer_that_declines_makes_no_claim(answer: str) -> None:
    found = verdict("groundedness", answer)
    assert found.scores == {"groundedness": 4.0}
    assert found.not_applicable == {"claim_support_rate": "The answer makes no claim."}


@pytest.mark.parametrize("answer", ["", "  \n", "???", "[1]"])
def test_an_answer_that_states_nothing_is_a_zero(answer: str) -> None:
    assert verdict("groundedness", answer).scores == {"groundedness": 0.0}


# --- correctness -----------------------------------------------------------------------------


def test_key_facts_are_found_one_by_one() -> None:
    found = verdict(
        "correctness",
        "Backups are stored in Frankfurt for thirty days.",
        expected_key_facts=("30 days", "stored in Frankfurt", "encrypted at rest"),
    )
    assert found.key_facts_found == (True, True, False)
    assert found.scores["key_fact_recall"] == pytest.approx(2 / 3)
    assert 2 < found.scores["correctness"] < 4


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        ("They are kept for 30 days.", True),
        ("Thirty days", True),
        ("They are kept for 90 days.", False),
        ("They are kept in a vault.", False),
        ("I do not know.", False),
        ("", False),
    ],
)
def test_an_answer_is_compared_with_the_expected_one(answer: str, passes: bool) -> None:
    fields = {"question": "How long are backups kept?", "expected_answer": "30 days"}
    assert (verdict("correctness", answer, **fields).scores["correctness"] >= 4) is passes


@pytest.mark.parametrize("field", ["expected_answer", "expected_key_facts"])
@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("3 euros a day", "A late power tool costs 30 euros a day."),
        ("It costs 3 euros a day.", "It costs 30 euros a day."),
        ("The service is available in Canada.", "The service is not available in Canada."),
    ],
)
def test_another_number_or_a_negation_is_below_the_pass_line(
    field: str, expected: str, answer: str
) -> None:
    wanted = {field: expected if field == "expected_answer" else (expected,)}
    question = "What does a late power tool cost?"
    assert verdict("correctness", answer, question=question, **wanted).scores["correctness"] < 3.51


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("Analysts replay up to seven days, so short streams will not do.", True),
        ("Replaying up to seven days they do not.", False),
    ],
    ids=["other words", "the fact"],
)
def test_a_negation_at_the_end_negates_the_words_before_it(answer: str, found: bool) -> None:
    facts = ("up to seven days",)
    assert verdict("correctness", answer, expected_key_facts=facts).key_facts_found == (found,)


@pytest.mark.parametrize("end", ["\n", "\n  ", " \n"])
@pytest.mark.parametrize("wrapped", ["passage", "answer", "both"])
def test_a_sentence_broken_for_its_width_is_read_as_one(end: str, wrapped: str) -> None:
    quoted = "We do not open microwave ovens, and we never ever do repair what runs on gas. [1]"
    broken = quoted.replace("never ever", f"never{end}ever")
    passage = "Bicycles, lamps and toys. " + (quoted if wrapped == "answer" else broken)
    answer = quoted if wrapped == "passage" else broken
    (claim,) = verdict("groundedness", answer, context=(Passage(text=passage),)).claims
    assert claim.supported, claim.reason


@pytest.mark.parametrize(
    "answer",
    [
        "No, backups are kept for 30 days.",
        "**No** \u2013 backups are kept for 30 days.",
        "No. Backups are kept for 30 days.",
        "Answer: no, backups are kept for 30 days.",
    ],
)
def test_the_no_that_answers_a_question_negates_nothing_of_its_sentence(answer: str) -> None:
    assert groundedness(answer) >= 4
    facts = verdict("correctness", answer, expected_key_facts=("backups are kept for 30 days",))
    assert facts.scores == {"correctness": 5.0, "key_fact_recall": 1.0}
    assert groundedness("No, the service is available in Canada.") < 4
    assert groundedness("No backups are kept for 30 days.") < 4


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        ("No, it is closed.", True),
        ("No, the library is closed on Sundays.", True),
        ("It is closed on Sundays.", True),
        ("Yes, it is open on Sundays.", False),
        ("Yes, it is closed on Sundays.", False),
        ("Yes, there is no day on which it is closed.", False),
    ],
)
def test_yes_is_not_a_right_answer_where_no_is_expected(answer: str, passes: bool) -> None:
    question = "Is the library open on Sundays?"
    expected = "No, it is closed on Sundays."
    found = verdict("correctness", answer, question=question, expected_answer=expected)
    assert (found.scores["correctness"] >= 4) is passes


LONG_FACT = (
    "Invoices are sent on the first Monday of each month to the address that the Graz office "
    "keeps, and are due within 30 days."
)


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        (LONG_FACT, True),
        (f"Yes. {LONG_FACT} Anything else is agreed by letter.", True),
        (LONG_FACT.replace("30 days", "14 days"), False),
        (LONG_FACT.replace("Graz", "Linz"), False),
        (LONG_FACT.replace("are sent", "are not sent"), False),
        (LONG_FACT.replace("first", "second"), False),
        ("The Graz office keeps the address of each invoice and sends a letter each month.", False),
    ],
)
def test_a_long_key_fact_must_be_stated_not_only_share_words(answer: str, passes: bool) -> None:
    found = verdict(
        "correctness", answer, question="When are they sent?", expected_key_facts=(LONG_FACT,)
    )
    assert (found.scores.get("correctness", 0) >= 4) is passes
    assert found.scores.get("key_fact_recall", 0.0) == float(passes)


LENGTHS = {"15 to 20 words": range(15, 21), "21 to 30": range(21, 31), "31 to 60": range(31, 61)}
NEGATABLE = re.compile(r"\b(is|are|was|were|has|have|can|must|will|may|should|do|does)\b")
NEGATED = re.compile(r"\b(?:not|no|never|cannot)\b|n't\b")


def part_of(fact: str, part: slice) -> str:
    return " ".join(fact.split()[part])


def middle(fact: str) -> int:
    return len(fact.split()) // 2


PROBES: dict[str, Callable[[str], str | None]] = {
    "the fact itself": lambda fact: fact,
    "with another number": lambda fact: (
        re.sub(r"[0-9]+", lambda number: str(int(number[0]) + 7), fact, count=1)
        if re.search("[0-9]", fact)
        else None
    ),
    "negated": lambda fact: (
        NEGATABLE.sub(r"\1 not", fact, count=1)
        if NEGATABLE.search(fact) and not NEGATED.search(fact)
        else None
    ),
    "its first half": lambda fact: part_of(fact, slice(middle(fact))),
    "its second half": lambda fact: part_of(fact, slice(middle(fact), None)),
    "its words in reverse order": lambda fact: part_of(fact, slice(None, None, -1)),
}
"""Answers made of a key fact; None: it cannot be made."""


def test_the_page_shows_how_often_answers_made_of_long_key_facts_pass() -> None:
    lines = shared_path("data", "rag", "eval_full.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    facts = [(row["question"], fact) for row in rows for fact in row["expected_key_facts"] or ()]
    table = [f"| answer | {' | '.join(LENGTHS)} |", "|---|---|---|---|"]
    shares: dict[str, list[float]] = {}
    for name, make in PROBES.items():
        for length in LENGTHS.values():
            passed = [
                verdict("correctness", made, question=question, expected_key_facts=(fact,))
                .scores.get("correctness", 0) >= 4
                for question, fact in facts
                if len(fact.split()) in length and (made := make(fact)) is not None
            ]  # fmt: skip
            assert len(passed) >= 20
            shares.setdefault(name, []).append(sum(passed) / len(passed))
        table.append(f"| {name} | {' | '.join(f'{share:.0%}' for share in shares[name])} |")
    page = (Path(__file__).parents[3] / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert "\n".join(table) in page, "\n".join(table)
    assert min(shares["the fact itself"]) >= 0.98
    assert max(shares["with another number"]) <= 0.2
    assert max(shares["its first half"] + shares["its second half"]) <= 0.25


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("One page says 30 days, while the newer policy states 90 days.", True),
        ("The sources disagree about it.", True),
        ("Backups are kept for 30 days.", False),
    ],
)
def test_a_stated_conflict_is_seen_when_asked_for(answer: str, said: bool) -> None:
    fields = {"expected_answer": "30 days"}
    assert (
        verdict("correctness", answer, asks_conflict=True, **fields).acknowledges_conflict is said
    )
    assert verdict("correctness", answer, **fields).acknowledges_conflict is None
