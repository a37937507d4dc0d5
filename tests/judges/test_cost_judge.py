from __future__ import annotations

import math

import pytest

from pytest_rageval.judges.cost import OPENAI_URL, find_price, table_version
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import JudgeSettings


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
