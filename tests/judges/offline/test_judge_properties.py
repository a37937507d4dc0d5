"""Properties of any answer: no crash, no reward for padding, no weight on order."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.judges.offline.judge import OfflineJudge
from pytest_rageval.values.verdict import JudgeRequest, Passage

FACTS = (
    "Backups are kept for 30 days in Frankfurt",
    "Uploads are limited to 1,000 files",
    "Only owners delete the archive",
    "The service is not available in Canada",
    "Support answers within two working days",
)
INVENTED = (
    "Zebras graze on quarterly invoices",
    "Backups are kept for 90 days in Frankfurt",
    "The archive sings at night",
    "Nobody may ever read the 7 manuals",
)
FILLER = (
    "I hope this helps!",
    "Let me know if you have any other questions.",
    "It is important to note that this is a complex topic.",
    "Great question!",
    "Is there anything else I can help you with?",
)
CONTEXT = (Passage(text=". ".join(FACTS[:3]) + "."), Passage(text=". ".join(FACTS[3:]) + "."))
CLAIMS = st.lists(st.sampled_from(FACTS + INVENTED), min_size=1, max_size=6, unique=True)
JUDGE = OfflineJudge()


def score(sentences: list[str], rubric: str = "groundedness") -> float:
    answer = " ".join(s if s.endswith(("!", "?", ".")) else f"{s}." for s in sentences)
    request = JudgeRequest(
        question="How long are backups kept?",
        answer=answer,
        context=CONTEXT,
        expected_key_facts=FACTS[:2],
    )
    verdict = JUDGE.judge(rubric, request).verdict
    assert verdict is not None
    return verdict.scores.get(rubric, 4.0)  # unsure: it may be right


@given(CLAIMS, st.randoms())
def test_the_order_of_sentences_does_not_matter(claims: list[str], rng: object) -> None:
    shuffled = sorted(claims, key=lambda _: rng.random())  # type: ignore[attr-defined]
    assert math.isclose(score(shuffled), score(claims))


@given(CLAIMS, st.data())
def test_saying_it_again_does_not_raise_the_score(claims: list[str], data: st.DataObject) -> None:
    again = data.draw(st.lists(st.sampled_from(claims), min_size=1, max_size=5))
    assert score(claims + again) <= score(claims) + 1e-9
    assert score(claims + again, "correctness") <= score(claims, "correctness") + 1e-9


@given(CLAIMS, st.lists(st.sampled_from(FILLER), min_size=1, max_size=4))
def test_filler_does_not_raise_the_score(claims: list[str], filler: list[str]) -> None:
    for rubric in ("groundedness", "correctness"):
        assert score(claims + filler, rubric) <= score(claims, rubric) + 1e-9
        assert score(filler + claims, rubric) <= score(claims, rubric) + 1e-9


@given(st.lists(st.sampled_from(FACTS), min_size=1, unique=True), st.sampled_from(INVENTED))
def test_an_invention_lowers_a_supported_answer(facts: list[str], invented: str) -> None:
    assert score([*facts, invented]) < score(facts)


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=100))
@settings(max_examples=150)
def test_any_texts_give_valid_scores(answer: str, passage: str, question: str) -> None:
    request = JudgeRequest(
        question=question,
        answer=answer,
        context=(Passage(text=passage),),
        expected_answer=passage,
        expected_key_facts=(question,),
        asks_conflict=True,
    )
    for rubric in ("groundedness", "correctness", "abstention", "claims"):
        verdict = JUDGE.judge(rubric, request).verdict
        assert verdict is not None
        assert all(0 <= value <= 5 for value in verdict.scores.values())
        assert all(claim.text for claim in verdict.claims)


def test_hostile_markup_takes_no_long() -> None:
    for text in (
        "[" * 50_000,
        "(" * 50_000,
        "|-" * 30_000,
        "`" * 50_000,
        "a." * 40_000,
        "I do not " * 9_000,
    ):
        assert 0 <= score([text]) <= 5
