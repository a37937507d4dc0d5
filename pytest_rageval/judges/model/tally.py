"""Tokens, money and time that the calls of a judge take, and whether its model is pinned."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pytest_rageval.judges.cost import Price
from pytest_rageval.judges.model.endpoint import Answer
from pytest_rageval.judges.model.wire import Reply
from pytest_rageval.support.text import excerpt
from pytest_rageval.values.verdict import JudgeUsage


@dataclass(slots=True)
class Tally:
    """Sums of the calls of one judgement."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    cost_usd: float | None = 0.0
    tokens_reported: bool = True
    duration_ms: float = 0.0

    def add(self, answer: Answer) -> None:
        """Count a question and its retries."""
        self.calls += answer.calls
        self.duration_ms += answer.duration_ms

    def add_reply(self, reply: Reply, price: Price) -> None:
        """Count the tokens of a reply and what they cost."""
        prompt, completion = reply.prompt_tokens, reply.completion_tokens
        cost = None
        if prompt is None or completion is None:
            self.tokens_reported = False
        else:
            self.prompt_tokens += prompt
            self.completion_tokens += completion
            cost = price.cost_usd(prompt, completion)
        known = self.cost_usd is not None and cost is not None
        self.cost_usd = (self.cost_usd or 0.0) + (cost or 0.0) if known else None

    def usage(self) -> JudgeUsage:
        """Return the sums."""
        return JudgeUsage(
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            calls=self.calls,
            cost_usd=self.cost_usd,
            cost_usd_uncached=self.cost_usd,
            tokens_reported=self.tokens_reported,
        )


_HOSTED: Final = re.compile(
    r"(gpt|chatgpt|o\d|claude|gemini|mistral|ministral|magistral|codestral|pixtral|command|"
    r"deepseek-(chat|reasoner)|grok|sonar|qwen-(max|plus|turbo)|nova)\b",
    re.IGNORECASE,
)
_PINNED: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}|(?<!\d)(20\d{6}|\d{4}|0\d\d)(?!\d)|\d[bm]\b|\bv\d+\.\d", re.IGNORECASE
)
"""A date, a build such as ``-001``, or a size and version, as the names of open weights have."""


def unpinned_alias(model: str) -> str | None:
    """Warn of a model name under which the weights may change.

    Args:
        model: as it is asked for.

    Returns:
        One sentence; None: the name holds a date or a version.

    >>> unpinned_alias("gpt-4o-2024-08-06")
    >>> unpinned_alias("gpt-4o")
    "judge model 'gpt-4o' is an unpinned alias: pin a dated version so that scores stay comparable"
    """
    shown = excerpt(model, 100)
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
