from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.report.html.run.trend import TrendView, view_trend
from tests.report.html.builders import config, missed, passed, run


def rows(found: TrendView) -> list[list[Any]]:
    return [[*row] for row in found.table.rows]  # type: ignore[misc]


def test_the_trend_shows_each_run_and_which_one_this_is() -> None:
    runs = [run([missed("a")], "old"), run([passed("a")], "new")]

    found = view_trend(runs, "new")

    assert found is not None
    recall = 2 + [*found.columns].index("recall_at_k")
    old, new = rows(found)
    assert [(r[0].value, r[0].note, r[recall].value, r[-1]) for r in (old, new)] == [
        ("old", "", "0.000", ""),
        ("new", "this run", "1.000", ""),
    ]
    assert len(found.charts) == len(found.columns)
    assert "latency_ms.p95" in found.columns


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"settings": {"k": 10, "judge": "offline"}}, ("k",)),
        ({"settings": {"k": 5, "judge": "offline", "snippets": "all"}}, ("matching.snippets",)),
        ({"dataset_hash": "other"}, ("dataset",)),
    ],
)
def test_the_line_breaks_where_an_invariant_changed(
    changed: dict[str, object], named: tuple[str, ...]
) -> None:
    a, b = run([passed("x")], "a"), run([passed("x")], "b")
    c, d = (run([passed("x")], name, config=config(**changed)) for name in "cd")

    found = view_trend([a, b, c, d], "d")

    assert found is not None
    assert [row[-1] for row in rows(found)] == ["", "", ", ".join(named), ""]
    assert found.charts[0].count('class="break"') == 1
    assert found.charts[0].count("<polyline") == 2
    assert "changed c" in found.charts[0]
