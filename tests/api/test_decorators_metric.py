from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pytest_rageval.api.decorators import metric, run_metric
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.project.plugins import Extensions
from pytest_rageval.values.case import Case
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.own_code import Scored
from pytest_rageval.values.reply import AskResponse

CASE = Case(id="a", question="Why?")
REPLY = AskResponse(answer="So.")


@metric("acme.one")
@metric("acme.two", version="7", scale=(1, 5))
def one(case: Case, reply: AskResponse) -> Scored:
    return Scored(len(case.id))


def test_a_decorated_function_stays_a_function_and_has_its_definitions() -> None:
    assert one(CASE, REPLY).value == 1
    found = Extensions()
    found.add(one, one)
    assert [
        (i.key, i.title, i.version, i.scale, i.level, i.source)
        for i in found
        if isinstance(i, MetricInfo)
    ] == [
        ("acme.two", "acme.two", "7", (1, 5), "own", "tests.api.test_decorators_metric:one"),
        ("acme.one", "acme.one", "1", (0, 1), "own", "tests.api.test_decorators_metric:one"),
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"direction": "up"}, "direction: got 'up', expected one of higher, lower, neutral"),
        ({"scale": (1, 0)}, r"scale: got \(1, 0\), expected the lowest and the highest score"),
        ({"scale": (float("nan"), 1)}, "expected the lowest"),
        ({"scale": 5}, "scale: got 5, expected the lowest"),
        ({"scale": None}, r"scale: got None, .* or \(0, None\) for no highest"),
        ({"scale": (0, "1")}, "expected the lowest"),
        ({"scale": (0, 1, 2)}, "expected the lowest"),
        ({"binary": True, "scale": (0, 5)}, r"expected \(0, 1\): it is binary"),
        ({"version": 2}, "version: got 2, expected a string"),
        ({"title": 2}, "title: got 2, expected a string"),
    ],
)
def test_a_wrong_definition_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=f"metric 'acme.x': .*{told}"):
        metric("acme.x", **given)(partial(one))


@pytest.mark.parametrize("decorator", [metric, run_metric])
def test_a_decorator_without_its_key_is_told_to_take_one(decorator: Callable[..., object]) -> None:
    with pytest.raises(ConfigError) as caught:
        decorator(one)
    told = 'metric one: the decorator has no key; expected one, such as ("acme.one")'
    assert str(caught.value) == told
