"""Parameters of a configuration as settings of its questions."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_rageval.engine.sweep.runner import with_query
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import Settings

BASE = Settings(rootdir=".", params={"tenant": "a"}, vector_weight=0.5)


def test_known_fields_are_settings_and_the_rest_goes_with_the_request() -> None:
    found = with_query(BASE, {"k": 10, "lexical_weight": 0.2, "rerank": True, "tenant": "b"})
    assert (found.k, found.lexical_weight, found.vector_weight) == (10, 0.2, 0.5)
    assert found.params == {"tenant": "b", "rerank": True}
    assert with_query(BASE, {}) == BASE


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ({"k": 0}, "query.k: got 0, expected"),
        ({"folder_mode": "sometimes"}, "query.folder_mode: got 'sometimes', expected"),
        ({"question": "x"}, "query.question: got 'question', expected a field that the request"),
    ],
)
def test_a_wrong_parameter_is_named(query: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(fault)):
        with_query(BASE, query)
