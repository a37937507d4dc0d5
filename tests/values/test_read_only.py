from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest

from pytest_rageval.values.read_only import ReadOnlyDict, ReadOnlyList, read_only
from pytest_rageval.values.reply import RetrievedChunk
from tests.build.records import changed, record
from tests.build.verdicts import judged_by

VERDICTS = judged_by(scores={"groundedness": 4.0}, parameters={"stop": ["a"]})
RECORD = changed(record("a", {"mrr": 0.5}), answer="Yes.", judgements=VERDICTS)


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
    metrics = read_only(RECORD).scores.metrics
    with pytest.raises(TypeError, match="read-only"):
        change(metrics)
    assert metrics == {"mrr": 0.5}


def test_a_read_only_record_equals_the_original_and_shares_no_container() -> None:
    frozen = read_only(RECORD)
    assert frozen == RECORD
    judgements: Any = frozen.verdicts.judgements
    with pytest.raises(TypeError):
        judgements["groundedness"].verdict.scores["groundedness"] = 5.0
    with pytest.raises(TypeError):
        judgements["groundedness"].parameters["stop"].clear()
    assert RECORD.verdicts.judgements == judged_by(
        scores={"groundedness": 4.0}, parameters={"stop": ["a"]}
    )


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))],
)
@pytest.mark.parametrize("value", [ReadOnlyDict(a=1), ReadOnlyList([1])])
def test_a_copy_is_equal_and_read_only(again: Callable[[Any], Any], value: Any) -> None:
    found = again(value)
    assert found == value
    with pytest.raises(TypeError):
        found.clear()


@pytest.mark.parametrize(
    "change",
    [
        lambda v: v.__setitem__(0, 1),
        lambda v: v.__delitem__(0),
        lambda v: v.__iadd__([1]),
        lambda v: v.__imul__(2),
        lambda v: v.append(1),
        lambda v: v.extend([1]),
        lambda v: v.insert(0, 1),
        lambda v: v.pop(),
        lambda v: v.remove(1),
        lambda v: v.reverse(),
        lambda v: v.sort(),
    ],
)
def test_a_list_refuses_every_change_too(change: Callable[[Any], object]) -> None:
    found = read_only({"list": [2, 1], "deep": ([3],)})
    for values in (found["list"], found["deep"][0]):
        with pytest.raises(TypeError, match="read-only"):
            change(values)
    assert found == {"list": [2, 1], "deep": ([3],)}


def test_what_cannot_be_changed_is_not_copied() -> None:
    plain = replace(RECORD.case, metadata={})
    chunk = RetrievedChunk(rel_path="a.md", embedding=(0.5, 0.5))
    assert read_only(chunk) is chunk
    assert read_only(plain) == plain
    chunks = (chunk,)
    assert read_only(chunks) is chunks


def test_it_is_written_as_json_and_turned_into_plain_fields() -> None:
    frozen = read_only(RECORD)
    assert json.dumps(frozen.scores.metrics) == '{"mrr": 0.5}'
    assert asdict(frozen) == asdict(RECORD)
