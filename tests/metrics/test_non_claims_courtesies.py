from __future__ import annotations

import time

import pytest

from pytest_rageval.metrics.non_claims import courtesy, may_be_answered_by_yes, opening, yes_or_no


@pytest.mark.parametrize(
    ("kind", "sentences"),
    [
        (
            "greeting",
            "Hello!|Hello:|Hi there,|Good morning Ann,|Guten Tag!|Bonjour Marie,|¡Hola!",
        ),
        (
            "lead_in",
            "Yes.|No!|Sure thing!|Certainly.|Great question!|Here is the answer:|Ja."
            "|Oui, bien sûr !|¡Claro que sí!|はい。|Thanks for asking!"
            "|I'd be happy to help you with that.",
        ),
        (
            "farewell",
            "I hope this helps!|Let me know if you need more.|Feel free to ask.|Kind regards,"
            "|If you have any questions, let me know.|Have a great day!|Viele Grüße"
            "|Bei weiteren Fragen stehe ich gern zur Verfügung.|N'hésitez pas à me contacter."
            "|他にご質問があればお知らせください。|如果您还有其他问题,请随时告诉我。",
        ),
    ],
)
def test_courtesies_have_a_kind(kind: str, sentences: str) -> None:
    assert {one: courtesy(one) for one in sentences.split("|")} == dict.fromkeys(
        sentences.split("|"), kind
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "Of course backups are kept for a month and then removed.",
        "Hello is a greeting.",
        "If you need help, call 555-1234.",
        "Let me know at help@example.org.",
        "Feel free to use the gym.",
        "If you have a receipt, you get a refund.",
        "Welcome packages are sent by mail.",
        "No entry.",
        "Here is the answer.",
    ],
)
def test_what_states_something_is_not_a_courtesy(sentence: str) -> None:
    assert courtesy(sentence) is None


def test_a_courtesy_has_at_most_240_characters() -> None:
    found = [courtesy(f"Let me know {'a' * (n - 12)}") for n in (240, 241)]
    assert found == ["farewell", None]


def test_a_sentence_may_open_with_a_courtesy() -> None:
    sentence = "Hello Ann, it lasts two years."
    assert sentence[opening(sentence) :] == "it lasts two years."
    assert opening("Sure-footed goats, they say, climb well.") == 0


def test_yes_and_no_answer_a_question_without_a_question_word() -> None:
    assert (yes_or_no("**Yes.**"), yes_or_no("Nein!"), yes_or_no("Maybe.")) == ("yes", "no", None)
    assert may_be_answered_by_yes("Is it open on Sunday?")
    assert not may_be_answered_by_yes("When is it open?")
    assert not may_be_answered_by_yes("")


@pytest.mark.parametrize("run", ["yes, ", "a" * 300, "hello ", "if you have ", "," * 200])
def test_the_time_of_a_long_sentence_is_bounded(run: str) -> None:
    started = time.process_time()
    for length in range(230, 245):
        courtesy((run * 240)[:length])
        opening(run * 240)
    assert time.process_time() - started < 2
