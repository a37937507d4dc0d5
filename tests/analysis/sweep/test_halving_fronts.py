from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.analysis.sweep.halving import pareto_front, pareto_ranks

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
