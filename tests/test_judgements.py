from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.errors import StorageError
from pytest_rageval.judgement_json import judgement_from_json, judgement_to_json
from pytest_rageval.judgements import (
    DEFAULT_RUBRICS,
    JUDGE_ERROR_KINDS,
    RUBRICS,
    Claim,
    JudgeErrorKind,
    JudgeFailure,
    Judgement,
    JudgeUsage,
    OutputLevel,
    Verdict,
)

JUDGED = Judgement(
    rubric="groundedness",
    rubric_version="groundedness-0123456789ab",
    judge="m at example.org",
    verdict=Verdict(
        scores={"groundedness": 4.0, "claim_support_rate": 0.1 + 0.2},
        not_applicable={"key_fact_recall": "no expected key facts"},
        claims=(Claim(text="One.", supported=True, passage=2), Claim(text="Two", supported=False)),
        key_facts_found=(True, False),
        abstained=False,
        coerced=("score",),
    ),
    usage=JudgeUsage(prompt_tokens=12, completion_tokens=3, calls=2, cost_usd=None),
    level="json_object",
    prompt_hash="a" * 64,
    parameters={"temperature": 0.0, "stop": ["x"]},
    dropped_parameters=("seed",),
    duration_ms=12.5,
)
FAILED = Judgement(
    rubric="correctness",
    rubric_version="correctness-0123456789ab",
    judge="m at example.org",
    failure=JudgeFailure(kind="truncated", message="cut by length", raw='{"score":'),
)


@pytest.mark.parametrize("judgement", [JUDGED, FAILED], ids=["verdict", "failure"])
def test_a_judgement_comes_back_from_json_as_it_was(judgement: Judgement) -> None:
    text = json.dumps(judgement_to_json(judgement), allow_nan=False)
    assert judgement_from_json(json.loads(text)) == judgement


# Any text at all, half surrogate pairs and line separators included.
TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
COUNT = st.integers(min_value=0, max_value=10**12)
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
FAILURES = st.builds(
    JudgeFailure, kind=st.sampled_from(JUDGE_ERROR_KINDS), message=TEXT, raw=st.none() | TEXT
)
OUTCOMES = st.fixed_dictionaries({"verdict": VERDICTS}) | st.fixed_dictionaries(
    {"failure": FAILURES}
)
USAGES = st.builds(
    JudgeUsage,
    prompt_tokens=COUNT,
    completion_tokens=COUNT,
    calls=COUNT,
    cached=st.booleans(),
    cost_usd=st.none() | NUMBER,
    cost_usd_uncached=st.none() | NUMBER,
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
        "duration_ms": st.none() | NUMBER,
    }
)


@given(outcome=OUTCOMES, others=OTHERS)
def test_any_judgement_comes_back_from_json_as_it_was(
    outcome: dict[str, Any], others: dict[str, Any]
) -> None:
    judgement = Judgement(**outcome, **others)
    text = json.dumps(judgement_to_json(judgement), allow_nan=False)
    found = judgement_from_json(json.loads(text))
    assert found == judgement
    # An integer that became a float would be equal to it.
    assert repr(found) == repr(judgement)


def document(**changes: Any) -> dict[str, Any]:
    return {**judgement_to_json(JUDGED), **changes}


def test_a_field_of_a_later_version_is_left_out() -> None:
    assert judgement_from_json(document(mood="good")) == JUDGED


def test_a_field_that_an_earlier_version_did_not_have_takes_its_default() -> None:
    found = document()
    del found["repaired"]
    assert judgement_from_json(found) == JUDGED


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"level": "xml"}, "level: Input should be 'json_schema'"),
        ({"usage": {"calls": "many"}}, "usage.calls: Input should be a valid integer"),
        ({"verdict": {"scores": {"x": None}}}, "verdict.scores.x: Input should be a valid number"),
        ({"verdict": {"scores": {"x": float("nan")}}}, "verdict.scores.x: got nan, expected a fin"),
        ({"verdict": {"scores": {"x": float("inf")}}}, "verdict.scores.x: got inf, expected a fin"),
        ({"verdict": None}, "verdict and failure: got neither, expected exactly one"),
        (
            {"failure": {"kind": "refused", "message": "no"}},
            "verdict and failure: got both, expected exactly one",
        ),
        (
            {"verdict": None, "failure": {"kind": "tired", "message": "no"}},
            "failure.kind: Input should be 'unreachable'",
        ),
    ],
)
def test_a_document_that_is_no_judgement_is_refused_by_its_field(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(StorageError) as caught:
        judgement_from_json(document(**changes))
    assert str(caught.value).startswith(message)


def test_a_missing_field_is_named() -> None:
    found = document()
    del found["judge"]
    with pytest.raises(StorageError, match="judge: Field required"):
        judgement_from_json(found)


def test_the_lists_of_names_hold_every_name() -> None:
    assert get_args(JudgeErrorKind) == JUDGE_ERROR_KINDS
    assert set(DEFAULT_RUBRICS) < set(RUBRICS)
    assert len(set(RUBRICS)) == len(RUBRICS)
