"""Judgements as JSON values, as the cache keeps them and gives them back. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, Final

from pytest_rageval.judges.model.wire import LADDER, Form
from pytest_rageval.support.http.address import blot_out_of_reply
from pytest_rageval.values.verdict import Claim, Judgement, JudgeUsage, Verdict

_KEPT: Final = (
    "rubric",
    "rubric_version",
    "judge",
    "level",
    "prompt_hash",
    "model",
    "system_fingerprint",
    "repaired",
)


def document_of(judgement: Judgement, secrets: Sequence[str] = ()) -> dict[str, Any]:
    """Return a verdict and how it came about as JSON values.

    Args:
        judgement: one with a verdict.
        secrets: blotted out of every text: a server may echo what it was sent.
    """
    verdict = judgement.verdict or Verdict()
    document = {
        **{name: getattr(judgement, name) for name in _KEPT},
        "parameters": dict(judgement.parameters),
        "dropped_parameters": list(judgement.dropped_parameters),
        "usage": asdict(judgement.usage),
        "verdict": {
            **{field.name: getattr(verdict, field.name) for field in fields(verdict)},
            "scores": dict(verdict.scores),
            "not_applicable": dict(verdict.not_applicable),
            "claims": [asdict(claim) for claim in verdict.claims],
            "key_facts_found": _listed(verdict.key_facts_found),
            "coerced": list(verdict.coerced),
        },
    }
    return {key: blot_out_of_reply(value, secrets) for key, value in document.items()}


def judgement_of(document: Mapping[str, Any]) -> Judgement | None:
    """Return the judgement that a document holds, as it came about.

    Returns:
        None: the document does not hold one, such as one that another version wrote.
    """
    try:
        return Judgement(
            **{name: document[name] for name in _KEPT},
            verdict=_verdict(document["verdict"]),
            parameters=dict(document["parameters"]),
            dropped_parameters=tuple(document["dropped_parameters"]),
            usage=_usage(document["usage"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def recalled(judgement: Judgement) -> Judgement:
    """Return a stored judgement as one that cost nothing now."""
    usage = replace(judgement.usage, calls=0, cached=True, cost_usd=0.0)
    return replace(judgement, usage=usage, duration_ms=0.0)


def document_of_form(form: Form) -> dict[str, Any]:
    """Return how an endpoint wants to be asked as JSON values."""
    return {"level": form.level, "dropped": list(form.dropped)}


def form_of(document: Mapping[str, Any]) -> Form | None:
    """Return how an endpoint wants to be asked; None: the document does not say."""
    level, dropped = document.get("level"), document.get("dropped")
    if level not in LADDER or not isinstance(dropped, list):
        return None
    return Form(level, tuple(name for name in dropped if isinstance(name, str)))


def _listed(values: tuple[bool, ...] | None) -> list[bool] | None:
    return None if values is None else list(values)


def _verdict(stored: Mapping[str, Any]) -> Verdict:
    scores = {str(key): float(value) for key, value in stored["scores"].items()}
    if not all(map(math.isfinite, scores.values())):
        raise ValueError("a score is no finite number")
    found = stored["key_facts_found"]
    return Verdict(
        scores=scores,
        not_applicable=dict(stored["not_applicable"]),
        reasoning=stored["reasoning"],
        claims=tuple(Claim(**claim) for claim in stored["claims"]),
        key_facts_found=None if found is None else tuple(found),
        abstained=stored["abstained"],
        acknowledges_conflict=stored["acknowledges_conflict"],
        coerced=tuple(stored["coerced"]),
    )


def _usage(stored: Mapping[str, Any]) -> JudgeUsage:
    usage = JudgeUsage(**stored)
    # So that sums over what is stored cannot fail far from here.
    if usage.prompt_tokens + usage.completion_tokens + (usage.cost_usd_uncached or 0.0) < 0:
        raise ValueError("tokens or cost below 0")
    return usage
