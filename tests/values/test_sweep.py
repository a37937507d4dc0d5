from __future__ import annotations

import math
from pathlib import Path

import pytest

from pytest_rageval.values.sweep import QUICK, Builder, Range, SweepFile


@pytest.mark.parametrize(
    ("fields", "builder"),
    [
        ({}, None),
        ({"build_embedded": True}, "embedded"),
        ({"build": "make index"}, "command"),
        ({"build_fixture": "index"}, "fixture"),
    ],
)
def test_an_index_has_one_builder(fields: dict[str, str], builder: Builder | None) -> None:
    assert SweepFile(**fields).builder == builder  # type: ignore[arg-type]


def test_a_range_of_integers_has_whole_values() -> None:
    assert Range(min=1, max=5, step=2).whole
    assert not Range(min=1, max=5.5).whole
    assert [Range(min=1, max=n, step=2).n_values for n in (2, 5, 6)] == [1, 3, 3]
    assert Range(min=3, max=10).n_values == 8
    assert Range(min=0.1, max=0.4, step=0.1).n_values == 4
    assert Range(min=0.1, max=0.4).n_values == math.inf
    assert SweepFile(query={"k": Range(min=1, max=5)}).continuous
    assert not SweepFile(query={"k": (1, 5)}).continuous


def test_the_quick_grid_begins_with_what_the_embedded_server_does_anyway() -> None:
    from pytest_rageval.server.config import ReferenceConfig

    plain = ReferenceConfig(vault=Path())
    for name, values in {**QUICK.query, **QUICK.index}.items():
        assert isinstance(values, tuple)
        assert values[0] == getattr(plain, name)
    for tokens in QUICK.index["chunk_tokens"]:  # type: ignore[union-attr]
        for overlap in QUICK.index["chunk_overlap"]:  # type: ignore[union-attr]
            ReferenceConfig(vault=Path(), chunk_tokens=int(tokens), chunk_overlap=int(overlap))
