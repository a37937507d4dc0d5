from __future__ import annotations

import pytest

from pytest_rageval.judges.cost import (
    PlannedCall,
    Price,
    count_tokens,
    describe,
)

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
