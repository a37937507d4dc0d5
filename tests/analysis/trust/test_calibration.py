from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.analysis.stats.agreement import auroc, kappa, precision_recall_f1
from pytest_rageval.analysis.trust.admission import is_dev
from pytest_rageval.analysis.trust.calibration import (
    CalibrationRubric,
    JudgedAnswer,
    LabelledAnswer,
    answer_hash,
    calibrate,
    read_judgement,
    request_of,
    split_context,
)
from pytest_rageval.metrics.judged import NOT_GIVEN
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.values.verdict import JudgeFailure, Judgement, Verdict

GOOD = {"groundedness": "grounded", "correctness": "correct", "abstention": "answer"}
BAD = {"groundedness": "not_grounded", "correctness": "incorrect", "abstention": "abstain"}


def row(name: str, label: str = "grounded", **fields: Any) -> LabelledAnswer:
    return LabelledAnswer(
        **{"id": name, "label": label, "answer": f"Answer {name}.", "question": "", **fields}
    )


def judgement(verdict: Verdict | None = None, failure: JudgeFailure | None = None) -> Judgement:
    return Judgement(
        rubric="groundedness", rubric_version="v", judge="j", verdict=verdict, failure=failure
    )


# --- requests ------------------------------------------------------------------------------------


def test_a_context_is_split_where_its_passages_are_numbered() -> None:
    assert split_context("[1] One.\nMore [1] of it.\n[3]\tThree. \n") == (
        [1, 3],
        ["One.\nMore [1] of it.", "Three."],
    )


def test_the_turns_before_a_question_stand_before_it_and_references_are_alternatives() -> None:
    found = request_of(
        row("a", question="And now?", history=("user: Hi", "agent: Yo"), reference=("x", "y", "x"))
    )
    assert found.question == "user: Hi\nagent: Yo\nAnd now?"
    assert (found.expected_answer, found.expected_key_facts) == ("x | y", ())
    bare = request_of(row("a"))
    assert (bare.question, bare.expected_answer, bare.answer) == ("", None, "Answer a.")


def test_answers_to_one_question_share_a_cluster_within_their_source() -> None:
    assert row("a", question="Q", context="X").cluster == row("b", question="Q").cluster
    assert row("a", question="Q", source="s").cluster != row("b", question="Q").cluster
    assert row("a", context="X").cluster == row("b", context="X").cluster
    assert row("a").cluster != row("b").cluster


def test_a_hash_names_what_is_judged_and_not_what_people_said() -> None:
    one = row("a", question="Q", context="X", reference=("r",))
    assert answer_hash(one) == answer_hash(replace(one, id="b", label="not_grounded", source="s"))
    changed = [
        replace(one, question="R"),
        replace(one, answer="B"),
        replace(one, context="Y"),
        replace(one, reference=()),
        replace(one, history=("user: Hi",)),
    ]
    assert len({answer_hash(other) for other in [one, *changed]}) == 6


# --- readings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rubric", "verdict", "expected"),
    [
        ("groundedness", Verdict(scores={"groundedness": 4.5}), JudgedAnswer(score=4.5)),
        ("groundedness", Verdict(scores={"groundedness": 0}), JudgedAnswer(score=0.0)),
        ("groundedness", Verdict(scores={"correctness": 4}), JudgedAnswer(error="unparseable")),
        ("groundedness", Verdict(scores={"groundedness": 5.1}), JudgedAnswer(error="out_of_range")),
        (
            "groundedness",
            Verdict(scores={"groundedness": float("nan")}),
            JudgedAnswer(error="out_of_range"),
        ),
        (
            "groundedness",
            Verdict(not_applicable={"groundedness": "no claims"}),
            JudgedAnswer(not_applicable="no claims"),
        ),
        ("correctness", Verdict(scores={"correctness": 3}), JudgedAnswer(score=3.0)),
        ("abstention", Verdict(abstained=True), JudgedAnswer(score=1.0)),
        ("abstention", Verdict(abstained=False), JudgedAnswer(score=0.0)),
        ("abstention", Verdict(scores={"abstention": 1}), JudgedAnswer(error="unparseable")),
    ],
)
def test_a_verdict_gives_a_valid_score_or_an_error(
    rubric: CalibrationRubric, verdict: Verdict, expected: JudgedAnswer
) -> None:
    assert read_judgement(rubric, judgement(verdict)) == expected


def test_a_score_of_an_own_rubric_that_a_judge_leaves_out_is_not_applicable() -> None:
    own = MetricInfo(key="style.tone", title="Tone", population="answers", level="judged")
    found = judgement(Verdict(scores={"style.brevity": 1.0}))
    assert read_judgement("style.tone", found, own) == JudgedAnswer(not_applicable=NOT_GIVEN)


# --- agreement -----------------------------------------------------------------------------------


def readings(**scores: float | None) -> dict[str, JudgedAnswer]:
    return {
        name: JudgedAnswer(error="refused") if score is None else JudgedAnswer(score=score)
        for name, score in scores.items()
    }


def test_a_small_table_by_hand() -> None:
    # Truth:      good good good bad  bad ; the judge passes a, b and d at 4.
    rows = [row(n, "grounded" if n in "abc" else "not_grounded") for n in "abcde"]
    found = calibrate(rows, readings(a=5, b=4, c=3, d=4.5, e=0), rubric="groundedness")
    one = found.overall
    assert (one.n, one.n_error, one.n_positive, found.threshold) == (5, 0, 2, 4.0)
    # 6 pairs of a good and a bad answer; e is below all three, d below a alone.
    assert one.auroc == one.auroc_pooled == pytest.approx(4 / 6)
    assert one.accuracy == pytest.approx(3 / 5)
    assert (one.precision, one.recall, one.f1) == (0.5, 0.5, 0.5)
    # Agreement .6, by chance .6 * .6 + .4 * .4 = .52.
    assert one.kappa == pytest.approx((0.6 - 0.52) / 0.48)


def test_another_line_is_chosen_on_one_part_and_measured_on_the_other() -> None:
    # As above, once in each part; but in test the judge gives the second bad answer a 4.
    plan = {"good1": 5.0, "good2": 4.0, "good3": 3.0, "bad1": 4.5, "bad2": 0.0}
    parts = [[f"Q{i}" for i in range(60) if is_dev(f"Q{i}") == dev][:5] for dev in (True, False)]
    rows, read = [], {}
    for part, questions in enumerate(parts):
        for (name, score), question in zip(plan.items(), questions, strict=True):
            label = "grounded" if name.startswith("good") else "not_grounded"
            rows.append(row(f"{name}-{part}", label, question=question))
            read[f"{name}-{part}"] = JudgedAnswer(score=score)
    read["bad2-1"] = JudgedAnswer(score=4.0)
    found = calibrate(rows, read, rubric="groundedness").best_threshold
    assert found is not None
    # From 3 on only bad2 is bad: agreement .8, by chance .6 * .8 + .4 * .2 = .56.
    assert found.threshold == 3
    assert found.kappa == pytest.approx(0.24 / 0.44)
    assert found.kappa_test == 0  # all pass


def test_abstention_takes_abstaining_for_the_class_that_matters() -> None:
    labels = {"a": "abstain", "b": "abstain", "c": "answer", "d": "partial", "e": "clarify"}
    rows = [row(name, label) for name, label in labels.items()]
    found = calibrate(rows, readings(a=1, b=0, c=0), rubric="abstention")
    one = found.overall
    assert (one.n, one.n_positive, found.threshold, found.best_threshold) == (3, 2, None, None)
    assert (one.auroc, one.precision, one.recall) == (0.75, 1.0, 0.5)
    assert found.left_out == {"partial": 1, "clarify": 1}


def test_auroc_is_the_mean_over_the_sources_that_hold_both_classes() -> None:
    plan = {
        "a": ("one", "grounded", 5),
        "b": ("one", "not_grounded", 1),
        "c": ("two", "grounded", 0),
        "d": ("two", "not_grounded", 2),
        "e": ("good only", "grounded", 0),
    }
    rows = [row(name, label, source=source) for name, (source, label, _) in plan.items()]
    read = readings(**{name: score for name, (_, _, score) in plan.items()})
    found = calibrate(rows, read, rubric="groundedness")
    assert {name: one.auroc for name, one in found.by_source.items()} == {
        "one": 1.0,
        "two": 0.0,
        "good only": None,
    }
    assert found.overall.auroc == 0.5
    assert found.overall.auroc_pooled == pytest.approx(2 / 6)
    assert sum(one.n for one in found.by_source.values()) == found.overall.n == 5


def test_ten_answers_to_one_question_weigh_as_one() -> None:
    draw = random.Random(7)
    rows, read = [], {}
    for question in range(30):
        label, score = draw.choice(["grounded", "not_grounded"]), draw.choice([1.0, 5.0])
        for copy in range(10):
            name = f"{question}-{copy}"
            rows.append(row(name, label, question=f"Q{question}"))
            read[name] = JudgedAnswer(score=score)
    clustered = calibrate(rows, read, rubric="groundedness").overall
    alone = calibrate(
        [replace(one, question="", source=one.id) for one in rows], read, rubric="groundedness"
    ).overall
    assert clustered.kappa == alone.kappa
    assert (clustered.clusters, alone.clusters) == (30, 300)
    widths = [(one.kappa_high or 0) - (one.kappa_low or 0) for one in (clustered, alone)]
    assert widths[0] > 2 * widths[1]


@pytest.mark.parametrize("rubric", ["groundedness", "correctness"])
def test_the_figures_are_those_of_the_statistics(rubric: CalibrationRubric) -> None:
    draw = random.Random(3)
    names = [f"r{i}" for i in range(60)]
    good = {name: draw.random() < 0.6 for name in names}
    score = {name: draw.choice([0, 1, 2, 3, 3.5, 4, 5][2 * good[name] :]) for name in names}
    rows = [row(n, (GOOD if good[n] else BAD)[rubric]) for n in names]
    found = calibrate(rows, readings(**score), rubric=rubric)
    truth, said = [not good[n] for n in names], [score[n] < 4 for n in names]
    classes = precision_recall_f1(truth, said)
    one = found.overall
    assert one.auroc == auroc([score[n] for n in names], [good[n] for n in names]).auroc
    assert (one.precision, one.recall, one.f1) == (classes.precision, classes.recall, classes.f1)
    assert one.kappa == pytest.approx(kappa(truth, said, categories=[False, True]))
    assert one.kappa_low is not None
    assert one.kappa is not None
    assert one.kappa_high is not None
    assert one.kappa_low < one.kappa < one.kappa_high
    dev = [n for n in names if is_dev(f"id {n}")]
    lines = sorted({score[n] for n in dev})[1:]
    at = [
        kappa([not good[n] for n in dev], [score[n] < line for n in dev], categories=[False, True])
        for line in lines
    ]
    best = max(value for value in at if value is not None)
    assert found.best_threshold is not None
    assert found.best_threshold.kappa == pytest.approx(best)
    assert found.best_threshold.threshold == lines[at.index(best)]
