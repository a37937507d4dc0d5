"""Estimates of the calls, tokens and cost of judging, before any call is made. Pure.

Tokens are estimated from characters by a rule of thumb, since models count them differently, and
a typical length of replies is assumed: actual figures may differ by a third.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final
from urllib.parse import urlsplit

from pytest_rageval.support.text import part, plural
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import JudgeSettings
from pytest_rageval.values.verdict import sum_known

REPLY_TOKENS: Final = 300
"""A verdict with its claims and reasoning, typically."""
_ASCII_PER_TOKEN: Final = 4.0
_OTHER_PER_TOKEN: Final = 1.5
"""Characters beyond ASCII: about two letters of Cyrillic or Greek, one Chinese character."""
_MESSAGE_TOKENS: Final = 4
"""Tokens that the chat format adds to each message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """A verdict that will be needed."""

    prompt_tokens: int
    """Estimated."""
    cached: bool = False
    """Whether the cache holds it, so that the model is not asked."""


def count_tokens(text: str) -> int:
    """Estimate the tokens of a text.

    >>> count_tokens("What is the retention period?"), count_tokens("保存期間"), count_tokens("")
    (8, 3, 0)
    """
    n_ascii = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return math.ceil(n_ascii / _ASCII_PER_TOKEN + (len(text) - n_ascii) / _OTHER_PER_TOKEN)


def count_prompt_tokens(messages: Iterable[str]) -> int:
    """Estimate the tokens of a chat's messages."""
    return sum(count_tokens(text) + _MESSAGE_TOKENS for text in messages)


def describe(planned: Sequence[PlannedCall], price: Price, *, max_tokens: int) -> str:
    """Estimate in one line what verdicts will cost, without retries and repair turns."""
    asked = [call.prompt_tokens for call in planned if not call.cached]
    n_cached = len(planned) - len(asked)
    cached = part(" ({:,} more from the cache)", n_cached)
    if not asked:
        return f"judge: no call{cached}"
    reply = min(REPLY_TOKENS, max_tokens)
    calls = f"{len(asked):,} call{plural(len(asked), '', 's')}"
    text = f"judge: {calls}{cached}, about {sum(asked) + reply * len(asked):,} tokens"
    usual, most = (
        sum_known([price.cost_usd(prompt, tokens) for prompt in asked])
        for tokens in (reply, max_tokens)
    )
    if usual is None or most is None:
        return f"{text}, price unknown"
    cost = f"about ${usual:.4f}, at most ${most:.4f}"
    return f"{text}, {cost} without retries ({price.source})"


OPENAI_URL: Final = "https://api.openai.com/v1"
_MTOK: Final = 1_000_000
_HOSTED: Final = re.compile(r".+\.[a-z][^.]*\.?")
"""Host names that may be in the table of prices: not ``localhost``, nor a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Price of the calls to one model."""

    model: str
    """Name of the model, as in requests."""
    base_url: str = OPENAI_URL
    """URL of the API that serves it, without credentials."""
    input_per_mtok: float | None = None
    """US dollars per million tokens of prompts; None here and below: the price of the table."""
    output_per_mtok: float | None = None
    """US dollars per million tokens of replies."""

    @property
    def source(self) -> str:
        """Return the source of prices: ``settings``, or the bundled table and its version."""
        return table_version() if self.input_per_mtok is None else "settings"

    def cost_usd(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Return the cost of one call in US dollars; None: the price is unknown.

        The table looks a model up by the address that serves it: a well-known model on a private
        server has no known price. Some models cost more per token above a certain prompt length,
        so calls are priced one by one.

        >>> Price(model="any", input_per_mtok=2.5, output_per_mtok=10.0).cost_usd(1000, 100)
        0.0035
        """
        if self.input_per_mtok is not None and self.output_per_mtok is not None:
            cost = prompt_tokens * self.input_per_mtok + completion_tokens * self.output_per_mtok
            return cost / _MTOK
        if not _HOSTED.fullmatch(urlsplit(self.base_url).hostname or ""):
            return None  # and the table, whose import takes long, is not needed
        from genai_prices import Usage, calc_price

        usage = Usage(input_tokens=prompt_tokens, output_tokens=completion_tokens)
        try:
            return float(calc_price(usage, self.model, provider_api_url=self.base_url).total_price)
        except (LookupError, ValueError):
            return None


def find_price(model: str, settings: JudgeSettings, base_url: str) -> Price:
    """Return the price of a model: that of the settings if set, else that of the table.

    Args:
        model: name of the model, as in requests.
        settings: settings of the judge.
        base_url: URL of the API, without credentials.

    Raises:
        ConfigError: only one of the two prices is set, or one is not a finite number from 0 on.
    """
    stated = {
        "input_per_mtok": settings.input_per_mtok,
        "output_per_mtok": settings.output_per_mtok,
    }
    if any(value is not None for value in stated.values()):
        for name, value in stated.items():
            where = f"[tool.rageval.judge] {name}"
            if value is None:
                raise ConfigError.of(where, "one_price")
            if not math.isfinite(value) or value < 0:
                raise ConfigError.of(
                    where, "value", found=repr(value), expected="US dollars from 0 on"
                )
    return Price(model=model, base_url=base_url, **stated)


def table_version() -> str:
    """Name the bundled price table and its version, for a run's configuration."""
    return f"genai-prices {version('genai-prices')}"
