"""Facts looked up in answers: stated, absent, or not to be told by words."""

from __future__ import annotations

import json

import pytest

from pytest_rageval.judges.offline.comparison import look_up
from pytest_rageval.judges.offline.facts import Expected, StatedText, read_question
from pytest_rageval.judges.offline.judge import OfflineJudge
from pytest_rageval.judges.offline.lexicon import language_of
from pytest_rageval.judges.offline.parameters import load_parameters
from pytest_rageval.values.verdict import JudgeRequest
from tests.build.shared_data import shared_path

LAYER = load_parameters().correct


def state(expected: str, answer: str, question: str = "") -> str:
    language = language_of(f"{answer} {expected}", question)
    fact = Expected(expected, read_question(question, language))
    return look_up(fact, StatedText.of_answer(answer, language), LAYER).state


@pytest.mark.parametrize(
    ("expected", "answer", "question"),
    [
        # names
        ("Bank of Norway", "It was the Bank of Sweden.", "Which bank lent it?"),
        ("Maria Lind", "Karin Lind drew the map.", "Who drew the map?"),
        ("South Tower", "They meet in the North Tower.", "Where do they meet?"),
        ("C#", "It is written in C++.", "In which language is it written?"),
        # one of few
        ("violet", "The lid is orange.", "What colour is the lid?"),
        ("Thursday", "The market is held on Wednesday.", "On which day is the market?"),
        ("the night shift", "The day shift counts the stock.", "Who counts the stock?"),
        # numbers, units, signs, times, versions
        ("14 days", "You have 40 days.", "How long do I have?"),
        ("30 GB", "The quota is 30 MB.", "How large is the quota?"),
        ("-18 °C", "Keep it at 18 °C.", "At what temperature is it kept?"),
        ("9 pm", "The gate shuts at 9 am.", "When does the gate shut?"),
        ("version 2.10", "It was fixed in version 2.1.", "Which version fixes it?"),
        ("1.500 Euro", "Die Miete beträgt 15.000 Euro.", "Wie hoch ist die Miete?"),
        # addresses and codes
        ("desk@lindhof.example", "Write to info@lindhof.example.", "Whom do I write to?"),
        ("E12", "The display shows E21.", "Which code is shown?"),
        ("docs/setup.md", "It is in docs/start.md.", "Which file has it?"),
        # options
        ("B", "The answer is C.", "Which is right? A: salt, B: sugar, C: flour"),
        ("Plan A", "Plan B includes it.", "Which plan includes it?"),
        # negation and opposites
        ("Dogs are allowed.", "Dogs are not allowed.", "Are dogs allowed?"),
        ("it works without a licence", "It does not work without a licence.", "Does it work?"),
        ("The door is locked at night.", "The door is unlocked at night.", "Is it locked?"),
        ("it is possible to pause", "It is impossible to pause.", "Can I pause?"),
        ("attendance is mandatory", "Attendance is optional.", "Must I attend?"),
        ("before the exam", "Hand it in after the exam.", "When is it handed in?"),
        ("Rauchen ist verboten.", "Rauchen ist erlaubt.", "Darf man rauchen?"),
        ("no", "Yes, it can be washed.", "Can it be washed?"),
        ("Yes", "Pets are forbidden.", "Are pets allowed?"),
        ("Yes", "We don't ship abroad.", "Do you ship abroad?"),
        # sides
        ("Nordwind bought Faro", "Faro bought Nordwind.", "Who bought whom?"),
        ("the parser calls the lexer", "The lexer calls the parser.", "Which calls which?"),
        ("from Ghent to Delft", "It went from Delft to Ghent.", "Where did it go?"),
        (
            "鈴木さんが田中さんを呼びました",
            "田中さんが鈴木さんを呼びました。",
            "誰が呼びましたか。",
        ),
        # parts
        ("tin, lead and zinc", "Tin and zinc.", "Which metals are used?"),
        ("a form and a photo", "A photo is needed.", "What is needed?"),
    ],
)
def test_a_fact_is_absent_if_another_one_is_stated(
    expected: str, answer: str, question: str
) -> None:
    assert state(expected, answer, question) == "absent"


@pytest.mark.parametrize(
    ("expected", "answer", "question"),
    [
        ("1,000 euros", "It costs one thousand euros.", "What does it cost?"),
        ("1 000 €", "Der Preis beträgt 1.000 Euro.", "Wie hoch ist der Preis?"),
        ("twenty-one days", "You have 21 days.", "How long do I have?"),
        ("3,5 %", "Der Satz liegt bei 3.5 Prozent.", "Wie hoch ist der Satz?"),
        ("50 %", "Half of the votes are needed.", "What share of the votes is needed?"),
        ("2 kg", "It weighs 2000 grams.", "What does it weigh?"),
        ("14:30", "The tour starts at 2:30 pm.", "When does the tour start?"),
        ("14:30 Uhr", "Die Führung beginnt um halb drei nachmittags.", "Wann beginnt die Führung?"),
        ("2k requests", "The limit is 2,000 requests.", "What is the limit?"),
        ("season two", "He joins in the second season.", "When does he join?"),
        ("European Space Agency", "The ESA built it.", "Who built it?"),
        ("Dept. of Mines", "The Department of Mines.", "Who decides?"),
        ("Anna Louise Berg", "Anna Berg wrote it.", "Who wrote it?"),
        ("Business plan", "The plan with backups is Business.", "Which plan has backups?"),
        ("Nordwind bought Faro", "Faro was bought by Nordwind.", "Who bought whom?"),
        ("tin, lead and zinc", "Zinc, lead and tin.", "Which metals are used?"),
        ("the tower is not open", "The tower is closed.", "Is the tower open?"),
        ("A refund is impossible.", "A refund is not possible.", "Can I get a refund?"),
        ("Rauchen ist verboten.", "Nein, rauchen darf man nicht.", "Darf man rauchen?"),
        ("Lake Ilm is deeper than Lake Orr", "Lake Ilm is the deeper one.", "Which is deeper?"),
        ("No", "You can't return it.", "Can I return it?"),
        ("No", "Man kann es nicht umtauschen.", "Kann man es umtauschen?"),
        ("one hundred and five", "There are 105.", "How many are there?"),
        ("off", "The fan must be off.", "Must the fan be on or off?"),
        ("b", "The right answer is b.", "Which is right? a) two b) three"),
    ],
)
def test_a_fact_is_stated_in_other_spellings_forms_and_orders(
    expected: str, answer: str, question: str
) -> None:
    assert state(expected, answer, question) == "stated"


@pytest.mark.parametrize(
    ("expected", "answer", "question"),
    [
        ("a broken hinge", "A broken spring caused it.", "What caused it?"),
        ("three weeks", "Express repair takes three weeks.", "How long does standard repair take?"),
    ],
)
def test_words_cannot_tell_another_word_from_a_paraphrase(
    expected: str, answer: str, question: str
) -> None:
    assert state(expected, answer, question) == "unsure"


LONG = (
    "The warehouse in Malmö, opened in 1998, ships orders of registered dealers within two days, "
    "except on public holidays."
)


@pytest.mark.parametrize(
    ("answer", "states"),
    [
        (LONG, {"stated"}),
        (f"Of course. {LONG}", {"stated"}),
        ("Orders of registered dealers are shipped by the warehouse in Malmö within 2 days, except"
         " on public holidays.", {"stated", "unsure"}),
        (LONG.replace("two", "five"), {"absent"}),
        (LONG.replace("ships", "does not ship"), {"absent"}),
        ("The warehouse in Malmö was opened in 1998.", {"absent", "unsure"}),
    ],
)  # fmt: skip
def test_a_long_fact_is_met_by_what_tells_it_apart(answer: str, states: set[str]) -> None:
    assert state(LONG, answer, "When does the warehouse ship orders?") in states


def test_one_absent_fact_fails_an_answer_that_states_the_others() -> None:
    request = JudgeRequest(
        question="Who may delete a project?",
        answer="Owners and administrators may.",
        expected_key_facts=("owners", "administrators", "maintainers"),
    )
    verdict = OfflineJudge().judge("correctness", request).verdict
    assert verdict is not None
    assert verdict.scores["correctness"] < 4
    assert verdict.scores["key_fact_recall"] == pytest.approx(2 / 3)


def test_few_wrong_short_answers_pass_and_few_right_ones_fail() -> None:
    lines = shared_path("data", "short_answers.jsonl").read_text(encoding="utf-8").splitlines()
    passed = {True: 0, False: 0}
    failed, total, unsure = dict(passed), dict(passed), 0
    for row in map(json.loads, lines):
        request = JudgeRequest(
            question=row["question"],
            answer=row["answer"],
            expected_answer=row.get("expected_answer"),
            expected_key_facts=tuple(row.get("expected_key_facts", ())),
        )
        verdict = OfflineJudge().judge("correctness", request).verdict
        score = None if verdict is None else verdict.scores.get("correctness")
        total[row["correct"]] += 1
        unsure += score is None
        passed[row["correct"]] += score is not None and score >= 4
        failed[row["correct"]] += score is not None and score < 4
    assert passed[False] <= 0.08 * total[False]
    assert failed[True] <= 0.12 * total[True]
    assert unsure <= 0.2 * len(lines)


@pytest.mark.parametrize(
    ("question", "expected", "answer"),
    [
        ("Which model is used?", "GPT-4", "GPT-4o is used."),
        ("Which model is used?", "GPT-4", "It uses GPT-4o."),
        ("Which phone?", "iPhone 15", "The iPhone 15 Pro."),
        ("Which phone do staff get?", "iPhone 15", "Staff get the iPhone 15 Pro."),
        ("Who was king?", "Charles I", "Charles II was king."),
        ("Who was king?", "Charles", "Charles II was king."),
        ("Which plan includes SSO?", "Pro", "The Pro Plus plan includes SSO."),
        ("Who wrote it?", "Ann", "Ben wrote it, Ann edited it."),
        ("Who won?", "Red", "Blue beat Red."),
        ("What happened?", "Acme acquired Bolt", "Acme was acquired by Bolt."),
        ("How many?", "more than 5", "fewer than 5"),
        ("How many days?", "at least 5 days", "up to 5 days"),
        ("What ratio?", "1:3", "3:1"),
        ("What's the port?", "8080", "8080 or 9090"),
        ("Who beat Spain in the final?", "England", "Spain beat England in the final."),
        ("Which plan includes SSO?", "Enterprise", "Every plan except Enterprise includes SSO."),
        ("What colour is the light?", "red", "The light is either red or green."),
        ("What is the capital of Australia?", "Canberra", "Possibly Canberra, possibly Sydney."),
        ("What is the default port?", "8080", "The default was 8080 in version 1; it is now 9090."),
        ("Welche Farbe hat das Dach?", "rot", "Früher war das Dach rot, heute ist es grün."),
        ("Wie heißt die Hauptstadt von Österreich?", "Wien", "Graz oder Wien."),
        ("¿Quién compró Bolt?", "Acme", "Acme fue comprada por Bolt."),
        ("Quelle est la capitale de la France ?", "Paris", "Paris ou Lyon."),
        ("Wer gewann?", "Bayern", "Dortmund schlug Bayern."),
    ],
)
def test_another_name_bound_role_or_an_alternative_does_not_pass(
    question: str, expected: str, answer: str
) -> None:
    assert state(expected, answer, question) != "stated"


@pytest.mark.parametrize(
    ("question", "expected", "answer"),
    [
        ("Which plan includes SSO?", "Pro", "The Pro plan includes SSO."),
        ("Where is it?", "Paris", "It is in Paris, France."),
        ("Who wrote it?", "Ann Lee", "Dr. Ann Lee wrote it."),
        ("Who wrote it?", "Dr. Ann Lee", "Ann Lee wrote it."),
        ("Who wrote it?", "Ann", "Ann wrote it and Ben edited it."),
        ("Who won?", "Red", "Red beat Blue."),
        ("Who acquired Bolt?", "Acme", "Bolt was acquired by Acme."),
        ("How many?", "at least 5", "5 or more"),
        ("How many?", "2.5", "2½"),
        ("How many cups?", "1.5 cups", "1 1/2 cups"),
        ("How many?", "0", "zero"),
        ("When?", "12:00", "at noon"),
        ("How long?", "1 year", "12 months"),
        ("How long?", "18 months", "1.5 years"),
        ("Which day?", "Tuesday", "Tue."),
        ("何個?", "21", "二十一"),
        ("When?", "31 March", "Mar 31"),
        ("Welche Farbe hat das Dach?", "rot", "Das Dach ist rot."),
        ("¿Quién compró Bolt?", "Acme", "Bolt fue comprada por Acme."),
        ("Wer gewann?", "Bayern", "Bayern schlug Dortmund."),
    ],
)
def test_the_same_name_bound_or_role_in_other_words_passes(
    question: str, expected: str, answer: str
) -> None:
    assert state(expected, answer, question) == "stated"
