"""Replies of a model to one question about groundedness, and failures by them."""

from __future__ import annotations

import json
from typing import Any

from pytest_rageval.values.verdict import JudgeFailure, JudgeRequest, Passage
from tests.build.hostile_judge import Canned
from tests.judges.model.conftest import OpenJudge

REQUEST = JudgeRequest(
    question="How long are logs kept?",
    answer="Logs are kept for 30 days [1].",
    context=(Passage(text="Logs are kept for 30 days.", rel_path="ops.md"),),
)
CLAIM = {"text": "Logs are kept for 30 days.", "reason": "said", "passage": 1, "supported": True}
GOOD = json.dumps({"claims": [CLAIM], "reasoning": "All said.", "score": 5})


def scored(score: str) -> str:
    return '{"claims": [], "reasoning": "", "score": ' + score + "}"


def failed(open_judge: OpenJudge, *script: Canned, **settings: Any) -> JudgeFailure:
    judge, _ = open_judge(script, **settings)
    judgement = judge.judge("groundedness", REQUEST)
    assert judgement.verdict is None
    assert judgement.failure is not None
    assert "\n" not in judgement.failure.message
    return judgement.failure
