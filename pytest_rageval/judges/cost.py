"""What judging will take, before anything is spent. Pure.

Tokens are estimated from characters by a rule of thumb, since every model counts them its own way,
and a reply's length is a typical one: the true figures may well differ by a third.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pytest_rageval.judges.judge_price import Price

REPLY_TOKENS: Final = 300
"""A verdict with its claims and reasoning, typically."""
_ASCII_PER_TOKEN: Final = 4.0
_OTHER_PER_TOKEN: Final = 1.5
"""Characters beyond ASCII: about two letters of Cyrillic or Greek, one Chinese character."""
_MESSAGE_TOKENS: Final = 4
"""What the chat format adds to each message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """One verdict that will be needed."""

    prompt_tokens: int
    """Estimated."""
    cached: bool = False
    """Whether the cache holds it, so that nobody is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a number of verdicts will take; without retries and repair turns."""

    verdicts: int
    cached: int
    """Of the verdicts: those that the cache holds."""
    calls: int
    prompt_tokens: int
    completion_tokens: int
    completion_tokens_max: int
    """If every reply were as long as it may be."""
    cost_usd: float | None
    """None, as the next: the price is unknown, which is not 0."""
    cost_usd_max: float | None
    price_source: str
    """``settings``, the price table and its version, or ``unknown``."""


def count_tokens(text: str) -> int:
    """Estimate the tokens of a text.

    >>> count_tokens("What is the retention period?"), count_tokens("保存期間"), count_tokens("")
    (8, 3, 0)
    """
    n_ascii = len(text.encode("ascii", "ignore"))
    return math.ceil(n_ascii / _ASCII_PER_TOKEN + (len(text) - n_ascii) / _OTHER_PER_TOKEN)


def count_prompt_tokens(messages: Iterable[str]) -> int:
    """Estimate the tokens of a chat's messages."""
    return sum(count_tokens(text) + _MESSAGE_TOKENS for text in messages)


def estimate(calls: Iterable[PlannedCall], price: Price, *, max_tokens: int) -> Estimate:
    """Sum up what verdicts will take.

    Args:
        calls: the verdicts needed.
        price: of the model.
        max_tokens: longest reply.
    """
    planned = list(calls)
    asked = [call for call in planned if not call.cached]
    reply = min(REPLY_TOKENS, max_tokens)
    cost = _cost(asked, price, reply)
    return Estimate(
        verdicts=len(planned),
        cached=len(planned) - len(asked),
        calls=len(asked),
        prompt_tokens=sum(call.prompt_tokens for call in asked),
        completion_tokens=reply * len(asked),
        completion_tokens_max=max_tokens * len(asked),
        cost_usd=cost,
        cost_usd_max=_cost(asked, price, max_tokens),
        price_source=price.source if cost is not None else "unknown",
    )


def describe(estimate: Estimate) -> str:
    """Say an estimate in one line."""
    calls = f"{estimate.calls:,} call{'' if estimate.calls == 1 else 's'}"
    cached = f" ({estimate.cached:,} more from the cache)" if estimate.cached else ""
    tokens = f"about {estimate.prompt_tokens + estimate.completion_tokens:,} tokens"
    if not estimate.calls:
        return f"judge: no call{cached}"
    if estimate.cost_usd is None or estimate.cost_usd_max is None:
        return f"judge: {calls}{cached}, {tokens}, price unknown"
    price = f"about ${estimate.cost_usd:.4f}, at most ${estimate.cost_usd_max:.4f}"
    return f"judge: {calls}{cached}, {tokens}, {price} without retries ({estimate.price_source})"


def _cost(calls: Iterable[PlannedCall], price: Price, reply_tokens: int) -> float | None:
    costs = [price.cost_usd(call.prompt_tokens, reply_tokens) for call in calls]
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if len(known) == len(costs) else None
