"""The end of each rung and of a sweep: cuts, ranking, verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from pytest_rageval.analysis.sweep.goal import Measures, Objective, constraint_name
from pytest_rageval.analysis.sweep.halving import Cut, keep, merit_order, pareto_front
from pytest_rageval.analysis.sweep.outcome import (
    ObjectiveRow,
    Ranked,
    RungRow,
    SweepOutcome,
    main_effects,
)
from pytest_rageval.analysis.sweep.plan import SweepPlan
from pytest_rageval.analysis.sweep.subsets import case_group
from pytest_rageval.analysis.sweep.verdict import (
    Decision,
    PairedTest,
    decide,
    paired_p,
    paired_values,
    ranked,
    sensitivity,
)
from pytest_rageval.support.text import counted, first_few, format_value, part

_NAMED, _MOST_TIES = 3, 50
"""Configurations that a note names, and those that are tested for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RungResult:
    """A rung that was asked."""

    measures: Mapping[str, Measures]
    """By key, in the order of the plan, over the cases of the rung."""
    cut: Cut


def close_rung(plan: SweepPlan, number: int, measures: Mapping[str, Measures]) -> RungResult:
    """Cut a rung down to the configurations of the next one, or to the finalists.

    Args:
        plan: of the sweep.
        number: of the rung, from 0.
        measures: by key, over the cases of the rung.
    """
    known = {key: measures[key] for key in plan.by_key if key in measures}
    last = number == len(plan.rungs) - 1
    n = plan.finalists if last else plan.rungs[number + 1].configurations
    return RungResult(measures=known, cut=keep(known, n, plan.baseline, plan.goal))


def conclude(
    plan: SweepPlan,
    results: Sequence[RungResult],
    spent: Mapping[str, int],
    *,
    held: Mapping[str, Measures] | None = None,
    index_builds: int = 0,
    notes: Sequence[str] = (),
) -> SweepOutcome:
    """Decide a sweep.

    Args:
        plan: of the sweep.
        results: of all rungs.
        spent: requests by key, of every configuration.
        held: of the finalists over the cases held out; None if absent.
        index_builds: number of indexes that were built.
        notes: sentences for the reader.
    """
    goal, last = plan.goal, results[-1].measures
    finals = {key: last[key] for key in results[-1].cut.kept}
    deciding = finals if held is None else held
    # An index may have failed before its held-out cases were asked.
    chosen = [key for key in ranked(finals, goal) if key in deciding]
    decision = decide(deciding, plan.baseline, goal, chosen=chosen)
    # Those that may not win are left out.
    front = pareto_front(
        {key: goal.point(one.figures) for key, one in last.items() if not one.broken}
    )
    base = deciding[plan.baseline]
    groups = {case_group(id, base.clusters.get(id)) for id in base.values}
    shown = plan.sensitivity
    if groups:  # what the cases show that the objective is about
        shown = sensitivity(len(groups), goal.confidence, n_cases=len(base.values))
    winner = None if decision.winner is None else plan.by_key[decision.winner]
    return SweepOutcome(
        verdict=decision.verdict,
        sentence=_sentence(plan, decision, deciding),
        winner=None if winner is None else winner.parameters,
        winner_key=decision.winner,
        baseline=plan.baseline,
        objectives=tuple(map(objective_row, goal.objectives)),
        constraints=tuple(map(constraint_name, goal.constraints)),
        ranking=tuple(_ranking(plan, results, spent, held or {}, frozenset(front))),
        tests=decision.tests,
        front=front,
        effects=main_effects(plan.configurations, results[0].measures),
        rungs=tuple(
            RungRow(
                configurations=len(result.measures),
                cases=len(rung.cases),
                judged=plan.judged_at(number),
            )
            for number, (rung, result) in enumerate(zip(plan.rungs, results, strict=True))
        ),
        method=plan.method,
        requests_spent=sum(spent.values()),
        requests_grid=plan.grid_questions,
        builder=plan.builder,
        index_builds=index_builds,
        holdout=len(plan.held),
        n_cases=plan.n_cases,
        sensitivity=shown,
        confidence=goal.confidence,
        seed=plan.seed,
        notes=(
            *plan.notes,
            *notes,
            *_notes(plan, results, base, len(groups)),
            *_twins(plan, decision, finals),
            *_ties(plan, decision, {key: deciding[key] for key in chosen}),
        ),
    )


def objective_row(one: Objective) -> ObjectiveRow:
    """Return an objective as the outcome holds it."""
    info = one.info
    return ObjectiveRow(
        key=info.key, title=info.title, direction=info.direction, weights=one.weights
    )


# --- ranking ---------------------------------------------------------------------------------


def _ranking(
    plan: SweepPlan,
    results: Sequence[RungResult],
    spent: Mapping[str, int],
    held: Mapping[str, Measures],
    front: frozenset[str],
) -> Iterator[Ranked]:
    order = _order(plan, results)
    reached = {key: i for i, result in enumerate(results) for key in result.measures}
    dropped = {one.key: one for result in results[:-1] for one in result.cut.dropped}
    for key in order:
        configuration, rung = plan.by_key[key], reached[key]
        one, cut = results[rung].measures[key], dropped.get(key)
        other = held.get(key)
        yield Ranked(
            key=key,
            name=configuration.name,
            parameters=configuration.parameters,
            query=dict(configuration.query),
            index=dict(configuration.index),
            objective=one.objective,
            interval=(one.low, one.high),
            held=None if other is None else other.objective,
            n=len(one.values),
            n_error=one.n_error,
            error=one.error,
            figures=one.figures,
            requests=spent[key],
            rung=rung + 1,
            cut="" if cut is None else cut.reason,
            tie=cut is not None and cut.tie,
            broken=one.broken,
            on_front=key in front,
            baseline=key == plan.baseline,
            run=key,
        )


def _order(plan: SweepPlan, results: Sequence[RungResult]) -> list[str]:
    """Return all keys, the best first: those of the last rung, then those cut at the one before.

    A baseline that went on only to be compared with is ranked where it was cut by its figures,
    unless it turned out better than a finalist.
    """
    merits = [merit_order(result.measures, plan.goal) for result in results]
    place = {key: (-rung, i) for rung, merit in enumerate(merits) for i, key in enumerate(merit)}
    cuts = [rung for rung, r in enumerate(results[:-1]) if plan.baseline in r.cut.unearned]
    finals = ranked(results[-1].measures, plan.goal)
    place |= {key: (1 - len(results), i) for i, key in enumerate(finals)}
    if cuts and finals[-1] == plan.baseline:
        place[plan.baseline] = (-cuts[0], merits[cuts[0]].index(plan.baseline))
    return sorted(place, key=lambda key: place[key])


def _notes(
    plan: SweepPlan, results: Sequence[RungResult], base: Measures, n_groups: int
) -> Iterator[str]:
    if len(base.values) > 1 and n_groups == 1:
        yield (
            f"all {len(base.values)} cases are about one document, the one of their first gold, so "
            "no test can show a difference: add cases about others"
        )
    ties = sum(one.tie for result in results[:-1] for one in result.cut.dropped)
    if ties:
        yield (
            f"{counted(ties, 'configuration')} cut although the cases of the rung could not tell "
            "them from one that went on; more cases or a larger budget could"
        )
    most, last = 0.1 * len(plan.rungs[-1].cases), results[-1].measures
    if silent := [plan.by_key[key].name for key, one in last.items() if one.n_error > most]:
        named = first_few(silent, _NAMED, "; ")
        yield f"more than one in ten cases had no answer, and figures leave them out: {named}"


def _twins(plan: SweepPlan, decision: Decision, finals: Mapping[str, Measures]) -> Iterator[str]:
    best, second = decision.best, decision.runner_up
    if best is None or second is None:
        return
    if finals[best].values and finals[best].values == finals[second].values:
        yield (
            f"{plan.by_key[best].name} and {plan.by_key[second].name} score the same in every "
            "case; a value that changes nothing keeps any other from winning, so leave it out"
        )


def _ties(plan: SweepPlan, decision: Decision, order: Mapping[str, Measures]) -> Iterator[str]:
    """Name those ranked after the runner-up that the cases cannot tell from the best either."""
    tested = {decision.best, decision.runner_up, plan.baseline}
    if decision.verdict != "no_clear_winner" or decision.best is None:
        return
    best = order[decision.best]
    others = [key for key in order if key not in tested and not order[key].broken]

    def tied(key: str) -> bool:
        p = paired_p(paired_values(best, order[key]), plan.goal)
        return p is not None and p > 1 - plan.goal.confidence

    found = [plan.by_key[key].name for key in takewhile(tied, others[:_MOST_TIES])]
    if found:
        named = first_few(found, _NAMED, "; ")
        yield f"the cases cannot tell the first from these either: {named}"


# --- the verdict in words --------------------------------------------------------------------


def _sentence(plan: SweepPlan, decision: Decision, finals: Mapping[str, Measures]) -> str:
    names = {key: one.name for key, one in plan.by_key.items()}
    cases = "held-out cases" if plan.held else "cases"
    base = finals[plan.baseline]
    if base.objective is None:
        unanswered = part(", {} had no answer", base.n_error)
        return f"the baseline has no {plan.goal.main.info.key} in any of the cases{unanswered}"
    if decision.best is None:
        return "no configuration but the baseline may win: each breaks a constraint"
    tested = "; ".join(_tested(plan, test, names) for test in decision.tests)
    first = f"{'the baseline ' * (decision.best == plan.baseline)}{names[decision.best]}"
    shown = _shown(plan, decision)
    return f"{first} {shown}, over {len(plan.deciding)} {cases}: {tested}"


def _shown(plan: SweepPlan, decision: Decision) -> str:
    """Say what the tests of the best configuration have shown."""
    if decision.verdict == "worse":
        return "beats the next best configuration"
    if decision.best == plan.baseline:
        return "is first, but not shown to be better than the next best"
    if decision.verdict == "better":
        others = " and the runner-up" * (len(decision.tests) > 1)
        return f"is better than the baseline{others}"
    if any(test.role == "baseline" and test.proven for test in decision.tests):
        return "is better than the baseline, but not shown to be better than the runner-up"
    return "is first, but not shown to be better than the baseline"


def _tested(plan: SweepPlan, test: PairedTest, names: Mapping[str, str]) -> str:
    role = "the baseline" if test.against == plan.baseline else "the runner-up"
    against = f"{role} {names[test.against]}"
    if test.difference is None or test.p is None:
        return f"no case in common with {against}"
    interval = adjusted = ""
    if test.low is not None and test.high is not None:
        interval = f", {test.low:+.3f} to {test.high:+.3f} at {plan.goal.confidence * 100:g} %"
    p_adjusted = _p(1.0 if test.p_adjusted is None else test.p_adjusted)
    if p_adjusted != _p(test.p):
        adjusted = f", {p_adjusted} adjusted for two tests"
    return (
        f"{plan.goal.main.info.key} {test.difference:+.3f} against {against} "
        f"(n {test.n}{interval}, p {_p(test.p)}{adjusted})"
    )


def _p(p: float) -> str:
    return "below 0.001" if p < 0.001 else format_value(p)
