"""Key facts and citations looked up in single passages."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.judges.offline.judge import OfflineJudge, check_claims, find_facts
from pytest_rageval.values.record import CitationCheck
from pytest_rageval.values.reply import RetrievedChunk
from pytest_rageval.values.verdict import JudgeRequest, Passage

RETURNS = RetrievedChunk(
    rel_path="refunds.md",
    heading_path="# Refunds > ## Deadline",
    text="Unworn shoes can be returned within 30 days of delivery.",
)
FEES = RetrievedChunk(
    rel_path="fees.md", heading_path="# Fees", text="A fee of 5 euros applies to opened boxes."
)
ROTA = RetrievedChunk(
    rel_path="rota.md",
    heading_path="# Rota",
    text="Nine of 30 people answer mails on the last days of a month. Deliveries stop at noon.",
)
CHUNKS = (RETURNS, FEES, ROTA)
QUESTION = "How long can shoes be returned?"


@pytest.mark.parametrize(
    ("fact", "ranks"),
    [
        ("30 days", (1,)),
        ("within 30 days of delivery", (1,)),
        ("Unworn shoes can be returned within 30 days", (1,)),
        ("opened boxes cost a fee of 5 euros", (2,)),
        ("45 days", ()),
        ("a fee of 7 euros", ()),
        ("unworn shoes can not be returned within 30 days", ()),
        ("the receipt must be shown at the counter", ()),
    ],
)
def test_a_fact_is_found_at_the_ranks_that_state_it(fact: str, ranks: tuple[int, ...]) -> None:
    assert find_facts(QUESTION, (fact,), CHUNKS) == (ranks,)


def test_the_words_of_a_heading_belong_to_its_passage() -> None:
    chunk = RetrievedChunk(
        rel_path="a.md", heading_path="# Gateway > ## Timeout", text="8 seconds."
    )
    bare = RetrievedChunk(rel_path="a.md", text="8 seconds.")
    assert find_facts("?", ("gateway timeout 8 seconds",), (chunk, bare)) == ((1,),)


def supports(answer: str, chunks: tuple[RetrievedChunk, ...] = CHUNKS, k: int = 5) -> list[object]:
    return [[c.supports for c in m.citations] for m in check_claims(QUESTION, answer, chunks, k)]


def test_a_right_source_under_the_wrong_number_is_found() -> None:
    answer = (
        "Unworn shoes can be returned within 30 days [2]. Opened boxes have a fee of 5 euros [2]."
    )
    wrong, right = check_claims(QUESTION, answer, CHUNKS, 5)
    assert wrong.citations == (CitationCheck(ranks=(2,), supports=False),)
    assert wrong.stated_at == 1
    assert right.citations == (CitationCheck(ranks=(2,), supports=True),)
    assert right.stated_at is None


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("Unworn shoes can be returned within 30 days [1][2].", [[True, False]]),
        ("Unworn shoes can be returned within 30 days [1, 1].", [[True]]),
        ("Unworn shoes can be returned within 30 days [7].", [[False]]),
        ("Unworn shoes can be returned within 30 days.", [[]]),
        ("Unworn shoes can be returned within 30 days. [1]", [[True]]),
        (
            "Unworn shoes can be returned within 30 days. [1] A fee of 5 euros applies. [2]",
            [[True], [True]],
        ),
        (
            "[1] Unworn shoes can be returned within 30 days. [2] A fee of 5 euros applies.",
            [[True], [True]],
        ),
        (
            "- Unworn shoes can be returned within 30 days [1]\n- A fee of 5 euros applies [1]",
            [[True], [False]],
        ),
        (
            "Unworn shoes can be returned within 30 days [File: refunds.md, Section: Deadline].",
            [[True]],
        ),
        ("Unworn shoes can be returned within 30 days [File: fees.md, Section: Fees].", [[False]]),
        ("Unworn shoes can be returned within 30 days [File: lost.md, Section: X].", [[False]]),
        ("Unworn shoes can be returned within 60 days [1].", [[False]]),
        ("I do not know.", []),
        ("", []),
    ],
)
def test_every_citation_is_looked_up_where_it_points(answer: str, found: list[object]) -> None:
    assert supports(answer) == found


def test_a_passage_without_its_whole_text_is_unknown() -> None:
    cut = RetrievedChunk(rel_path="a.md", text="Unworn", text_truncated=True)
    bare = RetrievedChunk(rel_path="a.md")
    answer = "Unworn shoes can be returned within 30 days [1][2]."
    assert supports(answer, (cut, bare)) == [[None, None]]


# --- properties of any answer: no crash, no reward for padding, no weight on order

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
