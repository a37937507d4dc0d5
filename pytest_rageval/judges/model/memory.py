"""Judgements as JSON values for the cache, and the tokens, money and time of calls. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from pytest_rageval.judges.cost import Price
from pytest_rageval.judges.model.wire import LADDER, Form, ModelReply
from pytest_rageval.support.text import clean
from pytest_rageval.values.verdict import Judgement, JudgeUsage, Verdict


def document_of(judgement: Judgement) -> dict[str, Any]:
    """Return a judgement with a verdict, and the details of its request, as JSON values."""
    kept = replace(judgement, failure=None, truncated_chunk_ids=(), duration_ms=None)
    document: dict[str, Any] = msgspec.to_builtins(kept)
    return document


def text_of(judgement: Judgement) -> str:
    """Return the texts of a verdict's document that are neither numbers nor names of ours."""
    verdict, names = judgement.verdict or Verdict(), (judgement.model, judgement.system_fingerprint)
    claims = [f"{claim.text}\n{claim.reason}" for claim in verdict.claims]
    return "\n".join((judgement.judge, *filter(None, names), verdict.reasoning, *claims))


def judgement_of(document: Mapping[str, Any]) -> Judgement | None:
    """Return the judgement that a document holds.

    Returns:
        None: the document does not hold a judgement, such as that of another version.
    """
    try:
        judgement = msgspec.convert(document, Judgement)
    except msgspec.ValidationError:
        return None
    verdict, usage = judgement.verdict, judgement.usage
    figures = usage.prompt_tokens, usage.completion_tokens, usage.cost_usd_uncached or 0.0
    # So that sums over what is stored cannot fail far from here.
    if verdict is None or not all(map(math.isfinite, verdict.scores.values())) or min(figures) < 0:
        return None
    return judgement


def recalled(judgement: Judgement, truncated_chunk_ids: tuple[str | None, ...]) -> Judgement:
    """Return a stored judgement as one that cost nothing now.

    Args:
        judgement: as stored.
        truncated_chunk_ids: passages that the prompt left out; caches do not see them.
    """
    usage = replace(judgement.usage, calls=0, cached=True, cost_usd=0.0)
    return replace(judgement, usage=usage, truncated_chunk_ids=truncated_chunk_ids, duration_ms=0.0)


def document_of_form(form: Form) -> dict[str, Any]:
    """Return a form of request as JSON values."""
    return {"level": form.level, "dropped": list(form.dropped)}


def form_of(document: Mapping[str, Any]) -> Form | None:
    """Return the form of request that a document holds; None: it does not hold one."""
    level, dropped = document.get("level"), document.get("dropped")
    if level not in LADDER or not isinstance(dropped, list):
        return None
    return Form(level, tuple(name for name in dropped if isinstance(name, str)))


def reply_usage(calls: int, reply: ModelReply | None, price: Price) -> JudgeUsage:
    """Return what one question with its retries used; None: no reply of it is billed."""
    if reply is None:
        return JudgeUsage(calls=calls)
    prompt, completion = reply.prompt_tokens, reply.completion_tokens
    if prompt is None or completion is None:
        return JudgeUsage(calls=calls, cost_usd=None, cost_usd_uncached=None, tokens_reported=False)
    cost = price.cost_usd(prompt, completion)
    return JudgeUsage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        calls=calls,
        cost_usd=cost,
        cost_usd_uncached=cost,
    )


_HOSTED: Final = re.compile(
    r"(gpt|chatgpt|o\d|claude|gemini|mistral|ministral|magistral|codestral|pixtral|command|"
    r"deepseek-(chat|reasoner)|grok|sonar|qwen-(max|plus|turbo)|nova)\b",
    re.IGNORECASE,
)
_PINNED: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}|(?<!\d)(20\d{6}|\d{4}|0\d\d)(?!\d)|\d[bm]\b|\bv\d+\.\d|"
    r"^claude-[a-z]+-(4[-.][6-9]|[5-9])(?!\d)",
    re.IGNORECASE,
)
"""A date, a build such as ``-001``, or a size and version, as the names of open weights have; from
4.6 on the name of a Claude model without a date is that of one version."""


def unpinned_alias(model: str) -> str | None:
    """Warn of a model name under which the weights may change.

    Returns:
        One sentence; None: the name holds a date or a version.

    >>> unpinned_alias("gpt-4o-2024-08-06")
    >>> unpinned_alias("gpt-4o")
    "judge model 'gpt-4o' is an unpinned alias: pin a dated version so that scores stay comparable"
    """
    shown = clean(model, 100)
    name = model.rsplit("/", 1)[-1]
    latest = re.search(r"(^|[-:@_])latest$", name, re.IGNORECASE) is not None
    hosted = _HOSTED.match(name) is not None
    # Open weights carry their version in the name: llama-3.1-8b-instruct.
    pinned = _PINNED.search(name) if hosted else re.search(r"\d", name)
    if pinned and not latest:
        return None
    return (
        f"judge model {shown!r} is an unpinned alias: pin a dated version so that scores stay "
        "comparable"
    )
