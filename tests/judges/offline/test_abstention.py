from __future__ import annotations

import pytest

from pytest_rageval.judges.offline.abstention import read_abstention


@pytest.mark.parametrize(
    "answer",
    [
        "I do not know.",
        "Sorry, I don’t have that information.",
        "I'm sorry, but I can't do that.",
        "The provided documents do not mention a refund period.",
        "There is no information about TLS in the context.",
        "I cannot answer this from the passages. Please contact support.",
        "Unfortunately, I am unable to assist you. Sorry.",
        "The answer is not mentioned in the context.",
        "The notes do not say. [1]",
        "This isn't covered in the documentation.",
        "I was unable to find an answer to your question.",
        "The answer is not in the context.",
        "None of the provided documents mention a refund period.",
        "This cannot be determined from the context.",
        "Insufficient information.",
        "N/A",
        "Unanswerable.",
        "Sorry.",
    ],
)
def test_declining_is_seen(answer: str) -> None:
    assert read_abstention(answer).abstained


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Backups are kept for 30 days.",
        "If you cannot find the switch, check the panel.",
        "I'm sorry to hear about your dog. A vet can help. Call one today.",
        "The API does not support XML. Use JSON. It is smaller.",
        "I do not have the price. Backups stay for 30 days. Keys rotate weekly. Logs stay a year.",
        "Users do not have access to the vault.",
        "Notes do not expire.",
        "Sorry, we are closed on Sundays.",
        "Sorry for the delay: refunds take 14 days.",
        "The fee cannot be refunded.",
    ],
)
def test_answering_is_no_declining(answer: str) -> None:
    assert not read_abstention(answer).abstained


@pytest.mark.parametrize(
    "answer",
    [
        "The notes do not name the baker. They only list opening hours.",
        "I don't know. Please ask the front desk.",
        "Hello! Unfortunately, the notes do not say. Let me know if you need more.",
        "<think>The notes say ten [1]. Or nine?</think>The notes do not say.",
        "Not found.\n\nSources:\n- shop.md",
        "<think>Nothing on it.</think>\nNO_RESULT",
    ],
)
def test_a_refusal_may_stand_beside_what_states_nothing(answer: str) -> None:
    assert read_abstention(answer).abstained


@pytest.mark.parametrize(
    "answer",
    [
        "The notes do not name the baker. It is Anna.",
        "I don't know the baker's name, but the shop opens at nine.",
        "<think>I do not know.</think>The shop opens at nine.",
        "The notes say nothing about Sundays: on Mondays the shop opens at nine.",
    ],
)
def test_an_answer_that_also_states_something_does_not_abstain(answer: str) -> None:
    assert not read_abstention(answer).abstained
