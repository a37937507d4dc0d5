from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.report.html.run.figures import (
    Figure,
    check_rows,
    costs_table,
    figures_of,
    metrics_table,
    place_on_scale,
    scale_of,
)
from pytest_rageval.report.view.blocks import Cell, Note, Row, Scale
from tests.build.runs import numbers_with
from tests.report.html.builders import check, config, errored, missed, passed, run


def metrics(*records: Any) -> Any:
    return run([*records]).aggregate


def figures(*records: Any, **fields: Any) -> dict[str, Figure]:
    return {one.key: one for one in figures_of(metrics(*records), **fields)}


def texts(row: Row | Note) -> list[str]:
    assert not isinstance(row, Note)
    return [str(cell.value if isinstance(cell, Cell) else cell) for cell in row]


def test_a_mean_stands_with_counts_interval_and_limit() -> None:
    checks = [check("recall_at_k", "fail")]

    found = figures(passed("a"), missed("b"), errored("c"), checks=checks)

    recall = found["recall_at_k"]
    assert (recall.found.n, recall.found.n_error, recall.value) == (2, 1, "0.500")
    scale = scale_of(recall)
    assert isinstance(scale, Scale)
    assert (scale.value, scale.limits, scale.failed) == (0.5, [0.75], True)
    assert scale.interval is not None
    assert scale.interval[0] < 0.5 < scale.interval[1]
    cells: list[Any] = [*metrics_table([recall], compared=False).rows]
    ((name, mean, _, interval, limit, n, errors),) = cells
    assert (name.value, mean.value, mean.status, n, errors) == (
        "recall_at_k", "0.500", "bad", 2, 1,
    )  # fmt: skip
    assert interval == recall.interval
    assert [one.value for one in limit.parts] == ["FAIL >= 0.75"]


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("mrr", 0.25, 0.25),
        ("groundedness", 2.5, 0.5),
        ("similarity_margin", 0.0, 0.5),
        ("mrr", 1.5, 1.0),
        ("mrr", None, None),
        ("unheard_of", 0.5, None),
    ],
)
def test_values_are_placed_on_the_scale_of_their_metric(
    key: str, value: float | None, place: float | None
) -> None:
    assert place_on_scale(value, BUILT_IN.cases.get(key)) == place


def test_failed_checks_are_apart_and_warnings_before_what_passed() -> None:
    checks = [
        check("a"),
        check("b", "warn"),
        check("c", "fail", missed_cases=("x", "y")),
        check("d", "skip", n=None, low=None),
    ]

    failed, others = check_rows(checks, {"x": "case-x"}, ["c"], {"c": 2})

    rows: list[Any] = [*failed]
    ((word, name, finding, cases),) = rows
    assert (word.value, word.status, name) == ("FAIL", "bad", "c")
    assert finding.value == "0.700 is below min 0.750", "the sentence of the gate"
    assert finding.note.endswith("without 2 cases that ended in an error")
    assert [(one.value, one.link) for one in cases.parts] == [
        ("x", "#case-x"), ("y", ""), ("all its cases", "#check=c"),
    ]  # fmt: skip
    assert [texts(row)[1] for row in others] == ["b", "d", "a"]


def test_costs_stand_beside_those_of_the_baseline_and_an_unknown_price_is_not_nothing() -> None:
    old, new = (
        run([passed("a")], name, aggregate=numbers_with(**numbers), config=config(wall_s=wall))
        for name, numbers, wall in (
            ("old", {"cost_usd": 0.01, "cost_usd_uncached": 0.01, "judge_tokens": 9_000}, 2.25),
            ("new", {"cost_usd": None, "cost_usd_uncached": 0.0123, "judge_tokens": 12_000}, 1.25),
        )
    )

    rows = costs_table(new, old).rows

    assert rows == [
        ("Judge, this run", "price unknown", "$0.0100", "-"),
        ("Judge, without its cache", "$0.0123", "$0.0100", "+$0.0023"),
        ("Judge tokens", "12,000", "9,000", "+3,000"),
        ("Wall time", "1.2 s", "2.2 s", "-1.0 s"),
    ]
    assert costs_table(new, None).columns == ("cost", ">this run")
