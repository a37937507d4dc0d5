"""Whatever a case and a target come with, every metric is on its scale, or says why not."""

from __future__ import annotations

import math
from random import Random
from typing import get_args

import pytest

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.engine.case import CaseRepeat
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.context import CONTEXT_CARRY
from pytest_rageval.metrics.whole_run import indexing_numbers
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.diagnoses.table import TargetErrorKind
from pytest_rageval.values.record import CaseScores
from pytest_rageval.values.reply import ErrorInfo
from pytest_rageval.values.settings import Settings
from tests.build.records import measure
from tests.build.scores import score_reply
from tests.properties.scenes import (
    chance,
    make_case,
    make_payload,
    make_settings,
    make_verdicts,
)


def make_scores(dice: Random) -> CaseScores:
    """The scores of any case, answered or not, judged or not."""
    response = parse_ask_response(make_payload(dice)) if chance(dice, 0.9) else None
    kind = dice.choice(get_args(TargetErrorKind))
    return score_reply(
        make_case(dice),
        response,
        make_settings(dice),
        error=ErrorInfo(kind=kind, message="no answer") if response is None else None,
        verdicts=make_verdicts(dice) if chance(dice, 0.8) else None,
    )


def test_every_metric_is_on_its_scale_or_says_why_not() -> None:
    scored: set[str] = set()
    low: set[str] = set()
    blocked: set[str] = set()
    erred: set[str] = set()
    for seed in range(900):
        scores = make_scores(Random(seed))
        assert list(scores.metrics) == list(BUILT_IN.cases)
        assert all(scores.not_applicable.values())
        for key, value in scores.metrics.items():
            info = BUILT_IN.cases[key]
            if value is None:
                (blocked if key in scores.not_applicable else erred).add(key)
                continue
            bottom, top = info.scale
            assert isinstance(value, float), key
            assert bottom <= value <= (math.inf if top is None else top), key
            assert value in {0.0, 1.0} or not info.binary, key
            assert key not in scores.not_applicable
            (scored if value != info.worst else low).add(key)
        for key, value in (scores.metrics_before_rerank or {}).items():
            assert value is None or 0 <= value <= 1, key
    # Every metric was in every state. Scenes are single questions.
    every = BUILT_IN.cases.keys() - {CONTEXT_CARRY}
    assert scored == blocked - {CONTEXT_CARRY} == every
    # A failed case cannot tell whether vectors would have come.
    vectors = {key for key, info in BUILT_IN.cases.items() if info.level == "embedding"}
    assert erred - {CONTEXT_CARRY} == every - vectors
    ended = {key for key, info in BUILT_IN.cases.items() if info.worst is not None}
    assert low >= ended - vectors - {CONTEXT_CARRY}


@pytest.mark.parametrize(
    "coverage",
    [
        {"docs_processed": 5e-324, "docs_with_0_chunks": 1},
        {"docs_processed": 0.5, "docs_with_0_chunks": 3},
        {"docs_processed": 3, "docs_with_0_chunks": -1},
    ],
)
def test_rates_of_the_index_are_on_their_scale_whatever_is_counted(
    coverage: dict[str, float],
) -> None:
    rate = indexing_numbers(coverage).no_chunks_generated_rate
    assert rate is None or 0 <= rate <= 1


def test_absurd_durations_do_not_end_the_run() -> None:
    reply = {"answer": "text", "debug": {"latency": {"retrieval_ms": 1e308}}}
    located = LocatedCase(case=make_case(Random(0)), lineno=1)
    one, two = (
        measure(
            CaseRepeat(located, f"evals/{name}.jsonl", Settings(rootdir=".")),
            lambda _: reply,
            clock=float,
        )
        for name in "ab"
    )
    assert "retrieval_ms" not in one.latency
    found = aggregate([one, two])
    assert (found.total, found.latency_by_phase) == (2, {})
