"""What tokens cost, from the price table that genai-prices brings along; never from the network.

An unknown price is None, which is not 0: tokens are still counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import JudgeSettings

OPENAI_URL: Final = "https://api.openai.com/v1"
_MTOK: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What the calls to one model cost."""

    model: str
    """Its name as it is asked for."""
    base_url: str = OPENAI_URL
    """Of the API that serves it, without credentials."""
    input_per_mtok: float | None = None
    """US dollars per million tokens of prompts; None, as the next: what the table says."""
    output_per_mtok: float | None = None
    """US dollars per million tokens of replies."""

    @property
    def source(self) -> str:
        """Say where prices come from: ``settings``, or the bundled table and its version."""
        return table_version() if self.input_per_mtok is None else "settings"

    def cost_usd(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Return what one call costs in US dollars; None: the price is unknown.

        The table knows a model by the address that serves it: a model of a well-known name on a
        server of one's own has no known price. Some models cost more per token from a length of
        prompt on, so calls are priced one by one.

        Args:
            prompt_tokens: of one call, from 0.
            completion_tokens: of its reply, from 0.

        >>> Price(model="any", input_per_mtok=2.5, output_per_mtok=10.0).cost_usd(1000, 100)
        0.0035
        """
        if self.input_per_mtok is not None and self.output_per_mtok is not None:
            cost = prompt_tokens * self.input_per_mtok + completion_tokens * self.output_per_mtok
            return cost / _MTOK
        from genai_prices import Usage, calc_price

        usage = Usage(input_tokens=prompt_tokens, output_tokens=completion_tokens)
        try:
            return float(calc_price(usage, self.model, provider_api_url=self.base_url).total_price)
        except (LookupError, ValueError):
            return None


def find_price(model: str, settings: JudgeSettings, base_url: str | None = None) -> Price:
    """Say how calls to a model are priced: by the settings where they say, else by the table.

    Args:
        model: its name as it is asked for.
        settings: of the judge.
        base_url: of the API, without credentials; None: the settings', or OpenAI's.

    Raises:
        ConfigError: only one of the two prices is set, or one is no finite number from 0 on.
    """
    stated = {
        "input_per_mtok": settings.input_per_mtok,
        "output_per_mtok": settings.output_per_mtok,
    }
    if any(value is not None for value in stated.values()):
        for name, value in stated.items():
            _check(name, value)
    return Price(model=model, base_url=base_url or settings.base_url or OPENAI_URL, **stated)


def table_version() -> str:
    """Name the bundled price table and its version, for a run's configuration."""
    return f"genai-prices {version('genai-prices')}"


def _check(name: str, value: float | None) -> None:
    where = f"[tool.rageval.judge] {name}"
    if value is None:
        raise ConfigError(f"{where}: not set, but the other price is; set both or neither")
    if not math.isfinite(value) or value < 0:
        raise ConfigError(f"{where}: {value!r}, expected US dollars from 0 on")
