"""Whatever a case and a target come with, every metric is on its scale, or says why not."""

from __future__ import annotations

import json
import math
from random import Random
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.engine.case import Trial
from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.metrics.conversation import CONTEXT_CARRY
from pytest_rageval.metrics.indexing import indexing_numbers
from pytest_rageval.project.case_reader import LocatedCase
from pytest_rageval.target.contract import parse_ask_response
from pytest_rageval.values.diagnoses.table import TargetErrorKind
from pytest_rageval.values.numbers import MetricSummary
from pytest_rageval.values.record import CaseRecord, CaseScores
from pytest_rageval.values.reply import ErrorInfo
from pytest_rageval.values.settings import Settings
from tests.build.records import measure
from tests.build.scores import score_reply
from tests.properties.scenes import (
    chance,
    make_case,
    make_payload,
    make_run,
    make_settings,
    make_verdicts,
    seeded,
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


@given(seeded(make_scores))
def test_every_metric_is_on_its_scale_or_says_why_not(scores: CaseScores) -> None:
    assert list(scores.metrics) == list(BUILT_IN.cases)
    for key, value in scores.metrics.items():
        low, high = BUILT_IN.cases[key].scale
        if value is None:
            continue
        assert isinstance(value, float), key
        assert low <= value <= (math.inf if high is None else high), key
        assert value in {0.0, 1.0} or not BUILT_IN.cases[key].binary, key
        assert key not in scores.not_applicable
    assert all(scores.not_applicable.values())


@given(seeded(make_scores))
def test_the_ranking_before_rerank_is_on_the_same_scales(scores: CaseScores) -> None:
    for key, value in (scores.metrics_before_rerank or {}).items():
        assert value is None or 0 <= value <= 1, key


def test_the_scenes_reach_every_state_of_every_metric() -> None:
    scored: set[str] = set()
    low: set[str] = set()
    blocked: set[str] = set()
    erred: set[str] = set()
    for seed in range(900):
        scores = make_scores(Random(seed))
        for key, value in scores.metrics.items():
            if value is not None:
                (scored if value != BUILT_IN.cases[key].worst else low).add(key)
            else:
                (blocked if key in scores.not_applicable else erred).add(key)
    # Scenes are single questions.
    every = BUILT_IN.cases.keys() - {CONTEXT_CARRY}
    assert scored == blocked - {CONTEXT_CARRY} == every
    # A failed case cannot tell whether vectors would have come.
    vectors = {key for key, info in BUILT_IN.cases.items() if info.level == "embedding"}
    assert erred - {CONTEXT_CARRY} == every - vectors
    ended = {key for key, info in BUILT_IN.cases.items() if info.worst is not None}
    assert low >= ended - vectors - {CONTEXT_CARRY}


# --- a whole run ---------------------------------------------------------------------------


@settings(deadline=None, max_examples=25)
@given(seeded(make_run))
def test_no_file_of_a_run_ever_holds_nan(records: list[CaseRecord]) -> None:
    # In JSON msgspec writes null for NaN, so that the values are looked at before.
    for held in (*records, aggregate(records, timeout_ms=1000)):
        text = json.dumps(msgspec.to_builtins(held, str_keys=True), allow_nan=False)
        assert json.loads(text) == json.loads(msgspec.json.encode(held))


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
            Trial(located, f"evals/{name}.jsonl", Settings(rootdir=".")),
            lambda _: reply,
            clock=float,
        )
        for name in "ab"
    )
    assert "retrieval_ms" not in one.latency
    found = aggregate([one, two])
    assert (found.total, found.latency_by_phase) == (2, {})


def bounds(summary: MetricSummary) -> list[float]:
    found = [
        *(summary.low, summary.low_one_sided, summary.mean, summary.median),
        *(summary.high_one_sided, summary.high, summary.mean_errors_as_worst),
    ]
    return [value for value in found if value is not None]


@settings(deadline=None, max_examples=25)
@given(seeded(make_run))
def test_every_mean_and_bound_is_on_the_scale_of_its_metric(records: list[CaseRecord]) -> None:
    for key, summary in aggregate(records).metrics.items():
        low, high = BUILT_IN.cases[key].scale
        top = math.inf if high is None else high
        assert all(low <= value <= top for value in bounds(summary)), key
        assert (summary.mean is None) == (summary.n == 0), key
        no_worst = summary.n_error == 0 or BUILT_IN.cases[key].worst is None
        assert (summary.mean_errors_as_worst is None) == no_worst, key
