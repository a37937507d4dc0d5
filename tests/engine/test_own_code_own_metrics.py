"""Calls of own metrics; their way through a run is in tests/plugin/test_own_metrics.py."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

from pytest_rageval.engine.own_code import compute, own_scores, run_scores
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.registry import MetricInfo
from pytest_rageval.metrics.view import FAILED
from pytest_rageval.values.case import Case
from pytest_rageval.values.own_code import Scored
from pytest_rageval.values.reply import AskResponse
from pytest_rageval.values.settings import Settings

SETTINGS = Settings(rootdir=".")
INFO = MetricInfo(key="acme.x", title="x", population="all", level="own", source="acme:x")


@pytest.mark.parametrize("value", [1, True, 1.0, np.float32(1), np.bool_(True), Fraction(1)])
def test_any_kind_of_number_is_a_score(value: Any) -> None:
    info = replace(INFO, compute=lambda: Scored(value))
    found = compute(info, SETTINGS, tuple)
    assert found.score == 1.0
    assert type(found.score) is float


class Strange:
    def __repr__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    "value", [None, "1", [1], np.ones(1), complex(1), 10**400, Strange(), float("inf"), -0.1]
)
def test_anything_else_is_an_error(value: Any) -> None:
    found = compute(replace(INFO, compute=lambda: Scored(value)), SETTINGS, tuple)
    assert found.score is FAILED
    assert found.said.error.startswith("returned ")
    assert "acme:x" in found.said.place


def sleeps(records: object) -> Scored:
    time.sleep(0.5)
    return Scored(1)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (attrgetter("the answer"), "AttributeError"),  # as in an installed package
        (sleeps, "no result after 0.05 s (metric_timeout_s of [tool.rageval])"),
        (lambda records: "the answer", "no valid score but a value of type str"),
        (lambda records: Scored(float("nan")), "no valid score"),
    ],
)
def test_the_error_of_a_whole_run_names_its_kind_without_text_of_the_run(
    function: Any, told: str
) -> None:
    # The others end at once, but not within 0.05 s on every machine.
    settings = replace(SETTINGS, metric_timeout_s=0.05) if function is sleeps else SETTINGS
    registry = BUILT_IN.with_([replace(INFO, level="run", compute=function)])
    found = run_scores(registry, (), registry, settings)["acme.x"].error
    assert str(found).endswith(f": {told}")


def test_a_metric_gets_a_copy() -> None:
    def change(case: Case, reply: AskResponse) -> Scored:
        case.metadata["list"].append(1)
        return Scored(1)

    case = Case(id="a", question="b", metadata={"list": []})
    registry = BUILT_IN.with_([replace(INFO, compute=change)])
    found = own_scores(case, AskResponse(answer="c"), registry, SETTINGS)["acme.x"]
    assert found.score == 1.0
    assert case.metadata == {"list": []}
