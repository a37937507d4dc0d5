"""What the calls of a judge take: tokens, money, time, and their share of the rate limits."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pytest_rageval.judges.judge_price import Price
from pytest_rageval.judges.model.endpoint import Answer
from pytest_rageval.judges.model.wire import Reply
from pytest_rageval.support.http.rate_limit import RateLimiter
from pytest_rageval.values.settings import JudgeSettings
from pytest_rageval.values.verdict import JudgeUsage


@dataclass(slots=True)
class Tally:
    """What one judgement took so far."""

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


def shared_limiter(base_url: str, model: str, settings: JudgeSettings) -> RateLimiter | None:
    """Open the rate limits that all processes of this user share; None: there are none.

    Raises:
        ConfigError: a limit is no number above 0.
    """
    limits = (settings.requests_per_minute, settings.tokens_per_minute)
    if limits == (None, None):
        return None
    user = getattr(os, "getuid", lambda: "")()
    digest = hashlib.sha256(f"{base_url} {model}".encode()).hexdigest()[:16]
    return RateLimiter(
        Path(tempfile.gettempdir()) / f"rageval-{user}-{digest}.limit",
        requests_per_minute=settings.requests_per_minute,
        tokens_per_minute=settings.tokens_per_minute,
    )
