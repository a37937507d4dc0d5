import json
from typing import Any

import pytest

from pytest_rageval.analysis.sweep.outcome import outcome_document, outcome_from
from pytest_rageval.values.errors import StorageError
from tests.build.sweeps import noisy, planned, swept


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        json.dumps(outcome_document(swept(planned(n_cases=150), noisy(1))))
    )
    return found


def test_an_outcome_is_read_as_it_was_written() -> None:
    outcome = swept(planned(n_cases=150), noisy(1))
    assert outcome_document(outcome_from(document())) == outcome_document(outcome)
    assert outcome_from(document()).ranking == outcome.ranking


def test_a_document_has_what_readers_rely_on() -> None:
    found = document()
    assert (found["verdict"], found["winner"]) == ("no_clear_winner", None)
    assert (found["requests_spent"], found["requests_grid"], found["holdout"]) == (810, 1800, 0)
    first = found["ranking"][0]
    assert first.keys() >= {"parameters", "objective", "interval", "requests", "rank", "run"}
    assert first["interval"].keys() == {"low", "high"}


@pytest.mark.parametrize("name", ["ranking", "verdict", "sensitivity"])
def test_a_document_without_a_part_is_refused(name: str) -> None:
    found = document()
    del found[name]
    with pytest.raises(StorageError, match="not the outcome of a sweep"):
        outcome_from(found)
