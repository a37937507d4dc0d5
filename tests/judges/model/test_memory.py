"""Content of the cache of a judge, and the questions of a second run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.judges.cache import JudgeCache
from pytest_rageval.judges.model.memory import document_of, judgement_of
from pytest_rageval.values.verdict import (
    Claim,
    Judgement,
    JudgeUsage,
    OutputLevel,
    Verdict,
)
from tests.build.hostile_judge import Canned, completion, error
from tests.judges.model.conftest import DictCache, OpenJudge
from tests.judges.model.groundedness_replies import GOOD, REQUEST, scored

PRICE = {"input_per_mtok": 1.0, "output_per_mtok": 1.0}


def test_a_second_run_asks_nothing_and_says_the_same(open_judge: OpenJudge, tmp_path: Path) -> None:
    with JudgeCache(tmp_path / "judge.sqlite") as cache:
        judge, server = open_judge([completion(GOOD)], cache=cache, **PRICE)
        first = judge.judge("groundedness", REQUEST)
    with JudgeCache(tmp_path / "judge.sqlite") as cache:
        judge._cache = cache
        second = judge.judge("groundedness", REQUEST)
    assert len(server.asked) == 1
    assert second.usage == replace(first.usage, calls=0, cached=True, cost_usd=0.0)
    assert second.usage.cost_usd_uncached == pytest.approx(240e-6)
    assert replace(second, usage=first.usage, duration_ms=first.duration_ms) == first


def test_a_second_run_needs_no_server_at_all(open_judge: OpenJudge) -> None:
    judge, server = open_judge([completion(GOOD)], cache=DictCache())
    judge.judge("groundedness", REQUEST)
    server.__exit__(None, None, None)
    assert judge.reopened(retries=0).judge("groundedness", REQUEST).usage.cached


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"temperature": 0.5},
        {"seed": 1},
        {"max_tokens": 100},
        {"structured_output": "text"},
    ],
)
def test_another_way_of_asking_is_asked_anew(open_judge: OpenJudge, change: dict[str, Any]) -> None:
    judge, server = open_judge([completion(GOOD)], cache=DictCache())
    judge.judge("groundedness", REQUEST)
    assert not judge.reopened(**change).judge("groundedness", REQUEST).usage.cached
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    "reply",
    [
        completion("no"),
        completion(scored("6")),
        completion(None, refusal="no"),
        completion(GOOD, finish_reason="length"),
        error(401, "no"),
        Canned(how="reset"),
    ],
)
def test_a_failure_is_never_kept(open_judge: OpenJudge, reply: Canned) -> None:
    cache = DictCache()
    judge, server = open_judge([reply], cache=cache, retries=0)
    judge.judge("groundedness", REQUEST)
    asked = len(server.asked)
    judge.judge("groundedness", REQUEST)
    assert cache.verdicts == {}
    assert len(server.asked) == 2 * asked


# --- the stored form -----------------------------------------------------------------------

FULL = Judgement(
    rubric="groundedness",
    rubric_version="groundedness-0123456789ab",
    judge="m at h",
    verdict=Verdict(
        scores={"groundedness": 4.5},
        not_applicable={"claim_support_rate": "none"},
        reasoning="because",
        claims=(Claim(text="a", supported=True, passage=1, reason="r"),),
        key_facts_found=(True, False),
        abstained=False,
        acknowledges_conflict=True,
        coerced=("score",),
    ),
    usage=JudgeUsage(prompt_tokens=1, completion_tokens=2, calls=1, cost_usd=None),
    level="json_object",
    prompt_hash="0" * 64,
    model="m-1",
    system_fingerprint="fp",
    parameters={"temperature": 0.0},
    dropped_parameters=("seed",),
    repaired=True,
)


# Any text at all, half surrogate pairs and line separators included.
TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
COUNT = st.integers(min_value=0, max_value=10**12)
COST = st.floats(min_value=0, max_value=1e9)
FLAG = st.none() | st.booleans()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


def few(of: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(of, max_size=3).map(tuple)


VERDICTS = st.builds(
    Verdict,
    scores=st.dictionaries(TEXT, NUMBER, max_size=3),
    not_applicable=st.dictionaries(TEXT, TEXT, max_size=2),
    reasoning=TEXT,
    claims=few(
        st.builds(Claim, text=TEXT, supported=st.booleans(), passage=st.none() | COUNT, reason=TEXT)
    ),
    key_facts_found=st.none() | few(st.booleans()),
    abstained=FLAG,
    acknowledges_conflict=FLAG,
    coerced=few(TEXT),
)
USAGES = st.builds(
    JudgeUsage,
    prompt_tokens=COUNT,
    completion_tokens=COUNT,
    calls=COUNT,
    cached=st.booleans(),
    cost_usd=st.none() | COST,
    cost_usd_uncached=st.none() | COST,
    tokens_reported=st.booleans(),
)
OTHERS = st.fixed_dictionaries(
    {
        "rubric": TEXT,
        "rubric_version": TEXT,
        "judge": TEXT,
        "usage": USAGES,
        "level": st.sampled_from(get_args(OutputLevel)),
        "prompt_hash": TEXT,
        "model": st.none() | TEXT,
        "system_fingerprint": st.none() | TEXT,
        "parameters": st.dictionaries(TEXT, VALUES, max_size=3),
        "dropped_parameters": few(TEXT),
        "repaired": st.booleans(),
    }
)


@given(verdict=VERDICTS, others=OTHERS)
def test_any_verdict_survives_keeping(verdict: Verdict, others: dict[str, Any]) -> None:
    judgement = Judgement(verdict=verdict, **others)
    found = judgement_of(json.loads(json.dumps(document_of(judgement), allow_nan=False)))
    assert found == judgement
    # An integer that became a float would be equal to it.
    assert repr(found) == repr(judgement)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("verdict", None),
        ("usage", {"prompt_tokens": "1"}),
        ("usage", {"prompt_tokens": -1}),
        ("parameters", 5),
        ("dropped_parameters", None),
    ],
)
def test_a_damaged_document_is_asked_anew(field: str, value: Any) -> None:
    assert judgement_of({**document_of(FULL), field: value}) is None
