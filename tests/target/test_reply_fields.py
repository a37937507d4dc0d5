"""Replies without a fault are read as pydantic reads them, without pydantic."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from itertools import chain
from typing import Any

import jsonschema
import pytest

from pytest_rageval.target import contract, reply_fields
from pytest_rageval.target.contract import parse_ask_response, reply_json_schema
from pytest_rageval.values.errors import EndpointError
from tests.target.test_contract import FULL

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 3, 3.0, 2.5, 1e16, 10**20, 10**400, float("inf")),
    *("", "x", "0.5", "12-14", "\ud800", "a\udc00b"),
    *(
        [],
        [1, 2.5],
        [1e16],
        ["a"],
        ["\ud800"],
        [None],
        [[]],
        {},
        {"a": 1},
        {"a": "\ud800"},
        {"a": 9**99},
    ),
)


def outcome(payload: object, *, plain: bool) -> str:
    try:
        return repr(parse_ask_response(deepcopy(payload), plain=plain))
    except EndpointError as error:
        return f"{error.kind}: {error.message}"


def changed() -> Iterator[Any]:
    """Yield replies with one value in the place of another, or in a further field."""

    def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        yield path
        for key in value if isinstance(value, dict) else range(len(value)):
            if isinstance(value[key], dict | list):
                yield from places(value[key], (*path, key))

    for path in places(FULL):
        for odd in ODD:
            payload: Any = deepcopy(FULL)
            parent = payload
            for step in path:
                parent = parent[step]
            names = set(parent) | reply_fields._FIELDS if isinstance(parent, dict) else {0}
            for name in names:
                before = deepcopy(parent)
                parent[name] = odd
                yield payload
                if isinstance(parent, dict):
                    parent.clear()
                    parent.update(before)
                else:
                    parent[:] = before


def test_an_odd_value_is_read_alike() -> None:
    n = 0
    for payload in chain(changed(), ODD):
        assert outcome(payload, plain=True) == outcome(payload, plain=False), payload
        n += 1
    assert n > 1000


def test_both_readers_know_the_same_fields() -> None:
    kinds = {"_Reference": "ReplyReference", "_Chunk": "ReplyChunk", "_Folders": "ReplyFolders"}
    for usual, strict in {**kinds, "_Debug": "ReplyDebug", "UsualReply": "ReplyBody"}.items():
        kind = getattr(reply_fields, strict)
        assert getattr(contract, usual).__annotations__.keys() == kind.__annotations__.keys()


@pytest.mark.parametrize(
    ("reply", "valid"),
    [
        ({"answer": "a", "debug": {"retrieved_chunks": [{"rel_path": "a.md", "rank": 1}]}}, True),
        ({"answer": "a", "more": 1}, True),
        ({"debug": {}}, False),
        ({"answer": "a", "debug": {"retrieved_chunks": [{"rank": 1}]}}, False),
    ],
)
def test_the_schema_of_a_reply_asks_for_what_scores_need(reply: object, valid: bool) -> None:
    assert jsonschema.Draft202012Validator(reply_json_schema()).is_valid(reply) is valid
