from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from pytest_rageval.values.read_only import ReadOnlyDict, read_only
from tests.build.records import changed, record

VERDICT = {"score": 4.0, "claims": [{"text": "a", "supported": True}]}
RECORD = changed(record("a", {"mrr": 0.5}), answer="Yes.", groundedness=VERDICT)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.__setitem__("mrr", 1.0),
        lambda d: d.__delitem__("mrr"),
        lambda d: d.__ior__({"mrr": 1.0}),
        lambda d: d.update(mrr=1.0),
        lambda d: d.setdefault("new", 1.0),
        lambda d: d.pop("mrr"),
        lambda d: d.popitem(),
        lambda d: d.clear(),
    ],
)
def test_every_change_is_refused(change: Callable[[Any], object]) -> None:
    metrics = read_only(RECORD).metrics
    with pytest.raises(TypeError, match="read-only"):
        change(metrics)
    assert metrics == {"mrr": 0.5}


def test_a_read_only_record_equals_the_original_and_shares_no_container() -> None:
    frozen = read_only(RECORD)
    assert frozen == RECORD
    assert frozen.groundedness is not None
    with pytest.raises(TypeError):
        frozen.groundedness["claims"][0]["supported"] = False
    frozen.groundedness["claims"].clear()
    assert RECORD.groundedness == VERDICT


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))],
)
def test_a_copy_is_equal_and_read_only(again: Callable[[Any], Any]) -> None:
    found = again(ReadOnlyDict(a=1))
    assert found == {"a": 1}
    with pytest.raises(TypeError):
        found["a"] = 2


def test_it_is_written_as_json_and_turned_into_plain_fields() -> None:
    frozen = read_only(RECORD)
    assert json.dumps(frozen.metrics) == '{"mrr": 0.5}'
    assert asdict(frozen) == asdict(RECORD)
