import json
from typing import Any

from msgspec import to_builtins

from tests.build.sweeps import noisy, planned, swept


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        json.dumps(to_builtins(swept(planned(n_cases=150), noisy(1))))
    )
    return found


def test_a_document_has_what_readers_rely_on() -> None:
    found = document()
    assert (found["verdict"], found["winner"]) == ("no_clear_winner", None)
    assert (found["requests_spent"], found["requests_grid"], found["holdout"]) == (810, 1800, 0)
    first = found["ranking"][0]
    assert first.keys() >= {"parameters", "objective", "interval", "requests", "run"}
    assert len(first["interval"]) == 2
