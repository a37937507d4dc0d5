from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.support.text import Unit, format_limit_pair, format_value


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "score", "-"),
        (0.0, "score", "0.000"),
        (-0.0, "score", "0.000"),
        (1.0, "score", "1.000"),
        (5 / 6, "score", "0.833"),
        (-0.02, "score", "-0.020"),
        (4.25, "score", "4.250"),
        (0.9996, "score", "0.9996"),
        (0.99996, "score", "0.99996"),
        (0.0004, "score", "0.0004"),
        (-0.0004, "score", "-0.0004"),
        (3.9999, "score", "3.9999"),
        (1 - 1e-12, "score", "1.000"),
        (2600.4, "score", "2600"),
        (2600.4, "ms", "2600"),
        (5.25, "ms", "5.2"),
        (0.0, "ms", "0"),
        (0.0, "usd", "0.00"),
        (0.0042, "usd", "0.0042"),
        (12.346, "usd", "12.35"),
        (3.0, "count", "3"),
    ],
)
def test_format_value(value: float | None, unit: Unit, text: str) -> None:
    assert format_value(value, unit) == text


@pytest.mark.parametrize(
    ("value", "limit", "unit", "texts"),
    [
        (0.7, 0.75, "score", ("0.700", "0.750")),
        (0.75, 0.75, "score", ("0.750", "0.750")),
        (0.8496, 0.85, "score", ("0.8496", "0.8500")),
        (0.8499999, 0.85, "score", ("0.8499999", "0.8500000")),
        (0.85 - 1e-12, 0.85, "score", ("0.850", "0.850")),
        (0.85, 0.8504, "score", ("0.8500", "0.8504")),
        (0.0004, 0.0, "score", ("0.0004", "0.0000")),
        (2500.4, 2500.0, "ms", ("2500.4", "2500.0")),
        (2600.0, 2500.0, "ms", ("2600", "2500")),
        (0.62, 0.5, "usd", ("0.6200", "0.5000")),
        (3.0, 2.0, "count", ("3", "2")),
        (1e6 + 0.25, 1e6, "ms", ("1000000.2", "1000000.0")),
    ],
)
def test_format_limit_pair(value: float, limit: float, unit: Unit, texts: tuple[str, str]) -> None:
    assert format_limit_pair(value, limit, unit) == texts


@given(st.floats(-10, 10), st.floats(-10, 10), st.sampled_from(["score", "ms", "usd", "count"]))
def test_texts_compare_as_the_numbers_do(value: float, limit: float, unit: Unit) -> None:
    shown, against = (float(text) for text in format_limit_pair(value, limit, unit))
    if value < limit - 1e-9:
        assert shown < against
    if value > limit + 1e-9:
        assert shown > against


@given(st.floats(0, 5))
def test_a_score_that_is_not_whole_never_looks_whole(value: float) -> None:
    if abs(value - round(value)) > 1e-9:
        assert float(format_value(value)) != round(value)
