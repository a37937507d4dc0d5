from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_rageval.analysis.stats.intervals import wilson
from pytest_rageval.analysis.trust.admission import (
    JudgesBehind,
    fewest_labels,
    group_biases,
    is_dev,
    judge_rates,
    labels_wanted,
    languages,
)
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.verdict import (
    Admissions,
    Judgement,
    JudgeRates,
    StoredCalibration,
    turned,
)
from tests.build.records import record
from tests.build.verdicts import judged_by


def test_a_third_of_all_cases_is_for_choosing() -> None:
    share = sum(is_dev(f"question {i}") for i in range(3_000)) / 3_000
    assert 0.30 < share < 0.37


def test_rates_of_separate_questions_are_those_of_wilson() -> None:
    truth = [True] * 10 + [False] * 20
    said = [True] * 8 + [False] * 2 + [False] * 19 + [True]
    found = judge_rates(truth, said, range(30))
    found_of, passed = wilson(8, 10), wilson(19, 20)
    assert found == JudgeRates(
        n_bad=10, tpr=0.8, tpr_low=found_of.low, tpr_high=found_of.high,
        n_good=20, tnr=0.95, tnr_low=passed.low, tnr_high=passed.high,
    )  # fmt: skip
    assert judge_rates([], [], []) == JudgeRates()


def test_answers_to_one_question_count_as_less_than_as_many_questions() -> None:
    truth = said = [True, False] * 40
    apart = judge_rates(truth, said, range(80))
    together = judge_rates(truth, said, [i // 20 for i in range(80)])
    assert apart.reach(0.8)
    assert not together.reach(0.8)


def test_the_fewest_labels_are_those_of_a_judge_without_errors() -> None:
    fewest = fewest_labels(0.8)
    assert fewest is not None
    needed = next(n for n in range(100) if (wilson(n, n).low or 0) >= 0.8)
    assert needed == 16 < fewest < 2 * needed
    assert fewest < (fewest_labels(0.8, 0.95) or 0) < (fewest_labels(0.8, 0.9) or 0)
    assert fewest < (fewest_labels(0.9) or 0)
    assert fewest_labels(0.8, 0.8) is None
    assert labels_wanted(None, 0.8) == (fewest, fewest)
    hopeless = judge_rates([True] * 40 + [False] * 40, [False] * 20 + [True] * 20 + [False] * 40,
                           range(80))  # fmt: skip
    assert labels_wanted(hopeless, 0.8) == (None, fewest)


def test_a_bias_turns_where_two_groups_surely_err_in_opposite_ways() -> None:
    groups = ["lenient"] * 60 + ["strict"] * 60 + ["even"] * 60
    truth = [True, False] * 90
    said = [*truth]
    said[0:60:6] = [False] * 10  # bad answers that pass
    said[61:120:6] = [True] * 10  # good ones that fail
    found = group_biases(groups, truth, said, range(180))
    assert turned(found) == ("strict", "lenient")
    assert found["even"].bias == 0
    del found["strict"]
    assert turned(found) is None


def test_a_language_that_is_not_declared_is_that_of_most() -> None:
    german = ["Wann öffnet das Tor?", "Wo ist der Schlüssel?", "OK", "What is it?"]
    assert languages([None, None, None, "EN_us"], german) == ["de", "de", "de", "en"]
    assert languages([], []) == []


RATES = JudgeRates(tpr_low=0.85, tnr_low=0.81)


def calibration(**fields: Any) -> StoredCalibration:
    known = {"judge": "j/1", "rubric": "groundedness", "rubric_version": "g-1", **fields}
    return StoredCalibration(schema_version=1, **{"test": {"en": RATES}, **known})


def judged(name: str, metric: str = "groundedness", **fields: Any) -> CaseRecord:
    given: dict[str, Any] = {"judge": "j/1", "rubric_version": "g-1", **fields}
    return record(name, judgements=judged_by(metric, {metric: 4.0}, **given))


def test_a_judge_is_admitted_for_its_version_rubric_and_language() -> None:
    def admitted(
        one: CaseRecord, *stored: StoredCalibration, metric: str = "groundedness"
    ) -> bool | None:
        return JudgesBehind([one], Admissions(stored=stored)).admitted(metric, [one])

    known = calibration()
    assert admitted(judged("a"), known) is True
    assert admitted(judged("a", judge="j/2"), known) is False
    assert admitted(judged("a", rubric_version="g-2"), known) is False
    assert admitted(judged("a", "correctness"), known, metric="correctness") is False
    spoken = judged("a")
    spoken = replace(spoken, case=replace(spoken.case, language="de"))
    assert admitted(spoken, known) is False
    assert admitted(spoken, calibration(test={"de": RATES})) is True
    assert admitted(judged("a"), known, calibration(test={})) is False
    assert admitted(judged("a"), calibration(test={}), known) is True
    assert admitted(record("a"), known) is None


def test_figures_of_outcomes_rest_on_the_judge_that_can_flaw_a_case() -> None:
    one = judged("a")
    behind = JudgesBehind([one], Admissions())
    assert [behind.admitted(key, [one]) for key in ("pass_rate", "stage.ungrounded")] == [False] * 2
    for key in ("hit_at_k", "stage.incorrect", "error_rate", "abstention_accuracy"):
        assert behind.admitted(key, [one]) is None


def test_an_abstention_of_the_target_needs_no_judge() -> None:
    one = record("a")
    known: dict[str, Judgement] = judged_by("abstention", {}, abstained=False, judge="j/1")
    asked = replace(one, verdicts=replace(one.verdicts, judgements=known))
    behind = JudgesBehind([asked], Admissions())
    said = asked.response is not None and asked.response.abstained is not None
    assert behind.admitted("over_abstention_rate", [asked]) is (None if said else False)
