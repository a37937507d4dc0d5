from dataclasses import replace

from pytest_rageval.analysis.sweep.concluding import close_rung, conclude
from pytest_rageval.analysis.sweep.plan import Configuration
from tests.build.sweeps import TWELVE, Scores, measured, plan_questions, planned, swept


def levels(plan_keys: list[str], missed: list[int]) -> Scores:
    """Scores where the configuration at each place misses this many of every 50 cases."""
    by_key = dict(zip(plan_keys, missed, strict=True))

    def score(one: Configuration, id: str) -> float:
        return float(int(id.rpartition("c")[2]) * 7 % 50 >= by_key[one.key])

    return score


def test_the_ranking_of_a_halved_sweep_has_finalists_first_and_says_why_others_were_cut() -> None:
    plan = planned(n_cases=150)
    keys = [one.key for one in plan.configurations]
    outcome = swept(plan, levels(keys, [30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 6, 0]))
    assert outcome.verdict == "better"
    assert outcome.winner == plan.by_key[keys[11]].parameters
    assert [one.key for one in outcome.ranking[:2]] == keys[:9:-1]
    assert outcome.ranking[-1].key == keys[0]
    assert [one.rung for one in outcome.ranking[:2]] == [3, 3]
    base = outcome.ranking[-1]
    assert (base.baseline, base.rung, base.cut) == (True, 3, "")
    assert [bool(one.cut) for one in outcome.ranking] == [False] * 2 + [True] * 9 + [False]
    assert outcome.sentence.startswith("k=10 fusion=rrf chunk_tokens=400 is better than the base")
    assert [(one.configurations, one.cases, one.judged) for one in outcome.rungs] == [
        (12, 30, False), (6, 60, False), (3, 150, True),
    ]  # fmt: skip
    assert (
        outcome.requests_spent == plan_questions(plan) == sum(r.requests for r in outcome.ranking)
    )
    assert outcome.front == (keys[11],)


def test_all_that_the_first_is_tied_with_are_named() -> None:
    plan = planned(replace(TWELVE, method="grid"), 150)
    keys = [one.key for one in plan.configurations]
    tied = swept(plan, levels(keys, [30, 0, 0, 0, 0, 0, 0, 25, 25, 25, 25, 25]))
    assert "better than the baseline, but not shown to be better than the runn" in tied.sentence
    names = [one.name for one in tied.ranking]
    either = f"from these either: {'; '.join(names[2:5])} and 1 more"
    assert any(note.endswith(either) for note in tied.notes)
    two = swept(plan, levels(keys, [30, 0, 0, *[25] * 9]))
    assert not any("either" in note for note in two.notes)


def test_a_configuration_that_answers_too_few_cases_is_named_however_many_others_answer() -> None:
    plan = planned(replace(TWELVE, method="grid"), 100)
    keys = [one.key for one in plan.configurations]
    plain = levels(keys, [30, 0, *[25] * 10])

    def silent(n_error: int) -> tuple[str, ...]:
        results = {}
        for one in plan.configurations:
            errors = n_error if one.key == keys[1] else 0
            values = {id: plain(one, id) for id in plan.rungs[0].cases[errors:]}
            results[one.key] = measured(values, plan.goal, n_error=errors)
        spent = dict.fromkeys(keys, 100)
        outcome = conclude(plan, [close_rung(plan, 0, results)], spent)
        assert outcome.winner_key == keys[1]
        return outcome.notes

    (note,) = silent(11)
    named = plan.by_key[keys[1]].name
    assert note == f"more than one in ten cases had no answer, and figures leave them out: {named}"
    assert silent(10) == ()


def test_a_finalist_that_was_not_asked_the_held_out_cases_decides_nothing() -> None:
    plan = planned(replace(TWELVE, method="grid", holdout=0.5), 200)
    keys = [one.key for one in plan.configurations]
    score = levels(keys, [30] + [20] * 10 + [0])
    by_cases = [
        {
            one.key: measured({id: score(one, id) for id in ids}, plan.goal)
            for one in plan.configurations
        }
        for ids in (plan.rungs[0].cases, plan.held)
    ]
    first = close_rung(plan, 0, by_cases[0])
    held = {key: by_cases[1][key] for key in first.cut.kept if key != keys[11]}
    spent = dict.fromkeys(keys, 1)
    outcome = conclude(plan, [first], spent, held=held)
    assert outcome.winner_key != keys[11]
    assert {test.candidate for test in outcome.tests} <= held.keys()
