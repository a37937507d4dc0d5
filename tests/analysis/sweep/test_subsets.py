from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.analysis.sweep.subsets import SweepCase, case_order, split_holdout
from pytest_rageval.values.errors import ConfigError

CASES = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=1, max_size=80).map(
    lambda rows: [
        SweepCase(id=f"c{i}", category=category, answerable=answerable)
        for i, (category, answerable) in enumerate(rows)
    ]
)


@given(CASES, st.integers(0, 5), st.randoms())
def test_every_beginning_has_the_mix_of_the_whole(cases, seed, draw) -> None:  # type: ignore[no-untyped-def]
    order = case_order(cases, seed)
    assert sorted(order) == sorted(one.id for one in cases)
    strata = {one.id: (one.category, one.answerable) for one in cases}
    whole = Counter(strata.values())
    for n in range(1, len(order)):
        part = Counter(strata[id] for id in order[:n])
        for name, size in whole.items():
            # Up to one case, and to what the others round up together.
            assert abs(part[name] - n * size / len(order)) <= 1 + len(whole) * size / len(order)
    shuffled = list(cases)
    draw.shuffle(shuffled)
    assert case_order(shuffled, seed) == order


@pytest.mark.parametrize(("n", "fraction"), [(100, 0.25), (116, 0.25), (59, 0.5), (40, 0.9)])
def test_a_holdout_of_too_few_cases_is_refused(n: int, fraction: float) -> None:
    with pytest.raises(ConfigError, match="at least 30"):
        split_holdout([f"c{i}" for i in range(n)], fraction)


def test_the_turns_of_a_conversation_stay_together_in_their_order() -> None:
    talks = [
        SweepCase(id=f"{talk}#{n}", category="talk", answerable=n < 3, conversation=talk)
        for talk in ("one", "two", "three")
        for n in range(1, 12)
    ]
    order = case_order(talks, seed=7)
    parts = [order[at : at + 11] for at in range(0, 33, 11)]
    assert sorted(order) == sorted(one.id for one in talks)
    assert [[int(id.partition("#")[2]) for id in part] for part in parts] == [[*range(1, 12)]] * 3
