""""""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import to_builtins

from pytest_rageval.analysis.sweep.outcome import main_effects
from pytest_rageval.analysis.sweep.plan import expand_grid
from tests.build.sweeps import measured, noisy, planned, swept


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        json.dumps(to_builtins(swept(planned(n_cases=150), noisy(1))))
    )
    return found


def test_a_document_has_what_readers_rely_on() -> None:
    found = document()
    assert (found["verdict"], found["winner"]) == ("no_clear_winner", None)
    assert (found["requests_spent"], found["requests_grid"], found["holdout"]) == (810, 1800, 0)
    first = found["ranking"][0]
    assert first.keys() >= {"parameters", "objective", "interval", "requests", "run"}
    assert len(first["interval"]) == 2


# ---


def test_the_effect_of_a_value_is_the_mean_of_all_that_have_it() -> None:
    grid = expand_grid({"k": (3, 5), "same": (1,)}, {"tokens": (True, 1)})
    values = dict(zip([one.key for one in grid], (0.2, 0.4, 0.6, 1.0), strict=True))
    found = main_effects(grid, {key: measured({"c": value}) for key, value in values.items()})
    assert [(one.kind, one.parameter, one.value, one.n) for one in found] == [
        ("query", "k", 3, 2),
        ("query", "k", 5, 2),
        ("index", "tokens", True, 2),
        ("index", "tokens", 1, 2),
    ]
    assert [round(one.difference, 9) for one in found] == [-0.15, 0.15, -0.25, 0.25]
    assert main_effects(grid, {}) == ()


@pytest.mark.parametrize(("others", "shown"), [((1,), 0), ((1, 2), 20)])
def test_many_values_are_shown_where_each_has_several_configurations(
    others: tuple[int, ...], shown: int
) -> None:
    grid = expand_grid({"k": tuple(range(1, 21)), "n": others}, {})
    found = main_effects(grid, {one.key: measured({"c": 0.5}) for one in grid})
    assert sum(one.parameter == "k" for one in found) == shown
