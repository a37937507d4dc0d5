from itertools import pairwise

from pytest_rageval.analysis.sweep.goal import sweep_goal
from pytest_rageval.analysis.sweep.plan import plan_sweep, with_proposed
from pytest_rageval.engine.sweep.proposals import Proposals
from pytest_rageval.values.sweep import Range, SweepFile
from tests.build.sweeps import measured, some_cases

WEIGHT = SweepFile(
    objectives=("hit_at_k",),
    query={"weight": Range(min=0.0, max=1.0), "k": (3, 5)},
    index={"size": Range(min=100, max=900, step=100)},
    build_embedded=True,
    seed=3,
)


def opened(sweep: SweepFile = WEIGHT) -> Proposals:
    cases = some_cases(60)
    goal = sweep_goal(sweep, cases)
    plan = plan_sweep(sweep, cases, goal)
    return Proposals(sweep, plan.by_key[plan.baseline], goal)


def searched(sweep: SweepFile = WEIGHT, n: int = 32) -> Proposals:
    """Proposals to a system that is the better the nearer ``weight`` is to 0.7."""
    found = opened(sweep)
    while len(found.configurations) < n and (batch := found.ask(8)):
        scores = {one.key: 1 - abs(float(one.parameters["weight"]) - 0.7) for one in batch}
        found.tell({key: measured({"c": score}) for key, score in scores.items()})
    return found


def test_the_baseline_is_first_and_proposals_come_near_the_best() -> None:
    found = [*searched().configurations.values()]
    assert found[0].parameters == {"weight": 0.0, "k": 3, "size": 100}
    assert len(found) == 32
    assert all(one.index["size"] in range(100, 901, 100) for one in found)
    late = [abs(float(one.parameters["weight"]) - 0.7) for one in found[16:]]
    assert sorted(late)[len(late) // 2] < 0.2


def test_the_same_seed_and_figures_give_the_same_proposals() -> None:
    assert [*searched().configurations] == [*searched().configurations]


def test_a_plan_has_the_proposals_by_index_and_counts_those_to_come() -> None:
    cases = some_cases(60)
    plan = plan_sweep(WEIGHT, cases, sweep_goal(WEIGHT, cases))
    assert (plan.method, plan.rungs[0].configurations) == ("optuna", 40)
    assert plan.grid_questions == 40 * 60
    assert plan.notes == (
        "configurations proposed by Optuna, and an index build for each new index",
    )
    proposed = with_proposed(plan, searched().configurations.values())
    sizes = [one.index["size"] for one in proposed.configurations]
    assert len(dict.fromkeys(sizes)) == 1 + sum(a != b for a, b in pairwise(sizes))
    assert proposed.configurations[0].key == plan.baseline
