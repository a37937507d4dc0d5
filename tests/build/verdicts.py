"""Short ways to say the verdicts of a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from pytest_rageval.judges.cost import Price
from pytest_rageval.values.diagnoses.table import JudgeErrorKind
from pytest_rageval.values.verdict import JudgeFailure, Judgement, JudgeUsage, Verdict

_OF_VERDICT: Final = {one.name for one in fields(Verdict)}


def judged_by(
    rubric: str = "groundedness",
    scores: Mapping[str, float] | None = None,
    *,
    error: tuple[JudgeErrorKind, str] | None = None,
    **given: Any,
) -> dict[str, Judgement]:
    """``judgements`` of a record with one.

    ``given`` are fields of the judgement or, by their own names, of its verdict; ``error`` is the
    kind and the message of a failure in place of a verdict.
    """
    verdict = {name: given.pop(name) for name in _OF_VERDICT & given.keys()}
    made = Judgement(
        rubric=rubric,
        verdict=None if error else Verdict(scores=scores or {}, **verdict),
        failure=JudgeFailure(kind=error[0], message=error[1]) if error else None,
        **{"judge": "j", "rubric_version": f"{rubric}-1", **given},
    )
    return {rubric: made}


def called(
    prompt_tokens: int = 0,
    completion_tokens: int = 0,
    *,
    cached: bool = False,
    price: Mapping[str, float] | None = None,
    usd: float | None = None,
) -> dict[str, Judgement]:
    """``judgements`` of a case whose judge, a model, was called once.

    Args:
        prompt_tokens: of the call.
        completion_tokens: of its reply.
        cached: whether the verdict came from the cache.
        price: in US dollars per million tokens; None: unknown.
        usd: what the call cost, where no price is given.
    """
    if price is not None:
        named = Price(
            model="any",
            input_per_mtok=price["input_per_mtok"],
            output_per_mtok=price["output_per_mtok"],
        )
        usd = named.cost_usd(prompt_tokens, completion_tokens)
    usage = JudgeUsage(
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        cached=cached,
        cost_usd=0.0 if cached else usd,
        cost_usd_uncached=usd,
    )
    return judged_by("r", level="text", usage=usage)


def usage_of_call(*tokens: int, **given: Any) -> JudgeUsage:
    """Return the usage of such a call."""
    return called(*tokens, **given)["r"].usage
