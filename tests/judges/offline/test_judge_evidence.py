"""Key facts and citations looked up in single passages."""

from __future__ import annotations

import pytest

from pytest_rageval.judges.offline.judge import check_claims, find_facts
from pytest_rageval.values.record import CitationCheck
from pytest_rageval.values.reply import RetrievedChunk

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
