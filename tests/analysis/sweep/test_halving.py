""""""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.analysis.sweep.goal import Goal, Objective
from pytest_rageval.analysis.sweep.halving import (
    keep,
    pareto_front,
    pareto_ranks,
    plan_rungs,
    questions,
)
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.values.errors import ConfigError
from tests.build.sweeps import measured

GOAL = Goal(objectives=(Objective(info=BUILT_IN.cases["hit_at_k"]),))


def sizes(configurations: int, cases: int, **options: object) -> list[tuple[int, int]]:
    ids = [f"c{i}" for i in range(cases)]
    rungs = plan_rungs(configurations, ids, **options)  # type: ignore[arg-type]
    assert all(rung.cases == tuple(ids[: len(rung.cases)]) for rung in rungs)
    return [(rung.configurations, len(rung.cases)) for rung in rungs]


@pytest.mark.parametrize(
    ("configurations", "cases", "expected"),
    [
        (4, 100, [(4, 100)]),  # 400 questions: the grid
        (12, 150, [(12, 150)]),  # 1800
        (14, 150, [(14, 26), (7, 52), (4, 150)]),
        (12, 788, [(12, 110), (6, 220), (4, 788)]),
        (100, 40, [(100, 40)]),  # no cut saves enough
    ],
)
def test_rungs_by_hand(configurations: int, cases: int, expected: list[tuple[int, int]]) -> None:
    assert sizes(configurations, cases) == expected


@given(st.integers(2, 80), st.integers(1, 400), st.integers(1, 20_000) | st.none())
def test_halving_stays_within_its_share(
    configurations: int, cases: int, budget: int | None
) -> None:
    try:
        rungs = sizes(configurations, cases, method="halving", budget=budget)
    except ConfigError:
        return
    assert questions(rungs) <= min(0.45 * configurations * cases, budget or 1e9)
    assert rungs[0][0] == configurations
    assert rungs[0][1] >= 25
    assert rungs[-1][1] == cases or budget is not None
    assert all(a[0] > b[0] >= 3 and a[1] < b[1] for a, b in pairwise(rungs))


def test_auto_takes_the_grid_that_the_budget_allows() -> None:
    assert sizes(10, 100) == [(10, 100)]
    assert sizes(20, 100, budget=2000) == sizes(20, 100) == [(20, 100)]
    assert len(sizes(20, 100, budget=1999)) > 1
    assert len(sizes(20, 101)) > 1
    assert sizes(5, 500) == [(5, 500)]  # halving would save nothing


def test_halving_that_would_save_nothing_is_refused() -> None:
    # The share of the grid is a limit of its own, which a larger budget does not move.
    share = "45 % of .*budget.*method"
    for budget in (None, 10_000):
        with pytest.raises(ConfigError, match=share):
            sizes(4, 100, method="halving", budget=budget)
    with pytest.raises(ConfigError, match=r"45 % of .*larger budget"):
        sizes(40, 100, method="halving", budget=1000)


def test_a_cut_keeps_the_best_and_the_baseline_and_says_ties() -> None:
    ids = [f"c{i}" for i in range(25)]

    def of(hits: int) -> dict[str, float]:
        return {id: float(i < hits) for i, id in enumerate(ids)}

    rung = {"base": of(2), "a": of(20), "b": of(19), "c": of(18), "d": of(4)}
    cut = keep({key: measured(values) for key, values in rung.items()}, 3, "base", GOAL)
    assert cut.kept == ("a", "b", "base")
    assert cut.unearned == ("base",)
    assert [(one.key, one.tie) for one in cut.dropped] == [("c", True), ("d", False)]
    assert keep({key: measured(of(20)) for key in "ab"}, 2, "b", GOAL).dropped == ()


def test_a_proven_break_of_a_constraint_is_cut_first_with_its_reason() -> None:
    broken = measured({"x": 1.0}, proven=("latency_ms.p95 900 is above 500",))
    rung = {"base": measured({"x": 0.0}), "a": measured({"x": 0.5}), "slow": broken}
    cut = keep(rung, 2, "base", GOAL)
    assert cut.kept == ("a", "base")
    assert cut.dropped[0].reason == "latency_ms.p95 900 is above 500"


def test_several_objectives_keep_their_front() -> None:
    goal = Goal(
        objectives=tuple(
            Objective(info=BUILT_IN.cases[key]) for key in ("recall_at_k", "context_tokens")
        )
    )
    points = {"base": (0.5, 900.0), "cheap": (0.4, 100.0), "best": (0.9, 900.0), "no": (0.5, 950.0)}
    rung = {
        key: measured({"x": recall}, figures={"recall_at_k": recall, "context_tokens": tokens})
        for key, (recall, tokens) in points.items()
    }
    cut = keep(rung, 3, "base", goal)
    assert cut.kept == ("best", "cheap", "base")
    assert cut.dropped[0].reason == "another is at least as good in every objective"


# ---

POINTS = st.dictionaries(
    st.text(max_size=3), st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12
)


def test_the_front_of_recall_and_latency_by_hand() -> None:
    points = {"a": (0.9, -300.0), "b": (0.8, -100.0), "c": (0.8, -200.0), "d": (None, -1.0)}
    assert pareto_front(points) == ("a", "b")
    assert pareto_ranks(points) == {"a": 0, "b": 0, "c": 1, "d": 2}


@given(POINTS)
def test_whatever_is_not_on_the_front_is_dominated_from_it(points) -> None:  # type: ignore[no-untyped-def]
    front = pareto_front(points)
    assert bool(front) == bool(points)
    for key, (x, y) in points.items():
        above = [(a, b) for k in front for a, b in [points[k]] if a >= x and b >= y]
        assert ((x, y) in above) if key in front else any(one != (x, y) for one in above)
        assert key not in front or set(above) == {(x, y)}
