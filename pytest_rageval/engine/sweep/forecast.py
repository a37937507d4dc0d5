"""Questions, builds and cost of a sweep before the first question."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pytest_rageval.analysis.sweep.concluding import objective_row
from pytest_rageval.analysis.sweep.plan import SweepPlan
from pytest_rageval.engine.sweep.runner import groups_of, judged_answers, planned_questions
from pytest_rageval.runs.list import documents_of_runs
from pytest_rageval.values.settings import Settings


def forecast(settings: Settings, plan: SweepPlan, *, in_place: bool) -> dict[str, Any]:
    """Return what a sweep would ask as JSON values; ``in_place`` as of ``groups_of``."""
    groups = groups_of(plan, in_place=in_place)
    judged = judged_answers(plan, groups) * plan.repeats if settings.judged else 0
    rungs = [
        {"configurations": sum(one.sizes[number] for one in groups), "cases": len(rung.cases)}
        for number, rung in enumerate(plan.rungs)
    ]
    return {
        "configurations": [dict(one.parameters) for one in plan.configurations],
        "objectives": [asdict(objective_row(one)) for one in plan.goal.objectives],
        "baseline": dict(plan.by_key[plan.baseline].parameters),
        "cases": plan.n_cases,
        "holdout": len(plan.held),
        "method": plan.method,
        "rungs": rungs,
        "requests": planned_questions(plan, groups) * plan.repeats,
        "requests_grid": plan.grid_questions,
        "index_builds": plan.n_indexes if any(one.index for one in plan.configurations) else 0,
        "judge": settings.judge,
        "judged_answers": judged,
        "judge_cost_usd": _judge_cost(settings, judged),
        "sensitivity": asdict(plan.sensitivity),
        "notes": list(plan.notes),
    }


def _judge_cost(settings: Settings, judged: int) -> float | None:
    """Estimate the cost of verdicts by what the last run of this judge paid; None: not known."""
    if not judged or settings.judge in {"none", "offline"}:
        return 0.0
    per_answer = None
    for run in documents_of_runs(settings.results_folder):
        found = run.aggregate
        if found is not None and run.config.settings.judge == settings.judge:
            if found.cost_usd_uncached and found.total:
                per_answer = found.cost_usd_uncached / found.total
    return None if per_answer is None else per_answer * judged
