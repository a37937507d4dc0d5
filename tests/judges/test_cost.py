""""""

from __future__ import annotations

import math

import pytest

from pytest_rageval.judges.cost import (
    OPENAI_URL,
    PlannedCall,
    Price,
    count_tokens,
    describe,
    find_price,
    table_version,
)
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import JudgeSettings

PRICED = Price(model="m", input_per_mtok=2.0, output_per_mtok=10.0)
UNKNOWN = Price(model="no-such-model", base_url="http://localhost:1/v1")


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        # At most one token a word and a mark more or less; ideographs about one each.
        ("The quick brown fox jumps over the lazy dog.", 7, 13),
        ("Die Aufbewahrungsfrist für Protokolle beträgt 30 Tage.", 8, 17),
        ("日志保留三十天。", 5, 12),
        ("", 0, 0),
    ],
)
def test_tokens_are_estimated_within_reason(text: str, low: int, high: int) -> None:
    assert low <= count_tokens(text) <= high


def test_cached_verdicts_cost_nothing() -> None:
    planned = [PlannedCall(prompt_tokens=1000), PlannedCall(prompt_tokens=5000, cached=True)]
    # 1000 * 2 + 300 * 10 and 1000 * 2 + 1024 * 10 millionths of a dollar.
    assert describe(planned, PRICED, max_tokens=1024) == (
        "judge: 1 call (1 more from the cache), about 1,300 tokens, about $0.0050, at most "
        "$0.0122 without retries (settings)"
    )


def test_an_unknown_price_is_said_and_not_0() -> None:
    found = describe([PlannedCall(prompt_tokens=10)], UNKNOWN, max_tokens=10)
    assert found == "judge: 1 call, about 20 tokens, price unknown"


@pytest.mark.parametrize("planned", [[], [PlannedCall(prompt_tokens=9, cached=True)]])
def test_nothing_to_ask_costs_nothing_whatever_the_price(planned: list[PlannedCall]) -> None:
    assert describe(planned, UNKNOWN, max_tokens=10).startswith("judge: no call")


# ---


def test_a_known_model_costs_what_the_table_says() -> None:
    # gpt-4o-2024-08-06: 2.50 and 10.00 dollars per million tokens since it came out.
    price = find_price("gpt-4o-2024-08-06", JudgeSettings(), OPENAI_URL)
    assert price.cost_usd(1000, 100) == pytest.approx(0.0035, rel=1e-12)
    assert price.source == table_version()
    assert table_version().startswith("genai-prices ")


@pytest.mark.parametrize(
    ("model", "base_url"),
    [
        ("no-such-model", OPENAI_URL),
        ("", OPENAI_URL),
        ("gpt-4o", "http://localhost:11434/v1"),
        ("gpt-4o", "https://gateway.example/v1"),
    ],
)
def test_an_unknown_price_is_none_and_not_0(model: str, base_url: str) -> None:
    price = find_price(model, JudgeSettings(), base_url)
    assert price.cost_usd(1000, 1000) is None


def test_the_settings_go_before_the_table() -> None:
    settings = JudgeSettings(input_per_mtok=1.0, output_per_mtok=0.0)
    price = find_price("gpt-4o", settings, OPENAI_URL)
    assert price.cost_usd(2_000_000, 5) == 2.0
    assert price.source == "settings"


@pytest.mark.parametrize(
    "settings",
    [
        JudgeSettings(input_per_mtok=1.0),
        JudgeSettings(output_per_mtok=1.0),
        JudgeSettings(input_per_mtok=-1.0, output_per_mtok=1.0),
        JudgeSettings(input_per_mtok=1.0, output_per_mtok=math.nan),
    ],
)
def test_half_or_senseless_prices_are_refused(settings: JudgeSettings) -> None:
    with pytest.raises(ConfigError, match="per_mtok"):
        find_price("gpt-4o", settings, OPENAI_URL)
