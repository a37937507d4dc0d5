from __future__ import annotations

import pytest

from pytest_rageval.project.thresholds import parse_gate_expression
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.gate import Check
from tests.project.threshold_texts import parse


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("recall_at_k>=0.9", Check(metric="recall_at_k", kind="min", limit=0.9)),
        (" error_rate <= 0 ", Check(metric="error_rate", kind="max", limit=0)),
        ("success_at_k>=1", Check(metric="hit_at_k", kind="min", limit=1)),
        ("latency_ms.p95<=2.5e3", Check(metric="latency_ms.p95", kind="max", limit=2500)),
        (
            "recall_all_at_k[multi_hop]>=0.7",
            Check(
                metric="recall_all_at_k",
                kind="min",
                limit=0.7,
                table="category",
                group="multi_hop",
            ),
        ),
        (
            "mrr [recency/conflict] >= 0.7",
            Check(metric="mrr", kind="min", limit=0.7, table="category", group="recency/conflict"),
        ),
        (
            "recall_at_k[tag work]>=0.8",
            Check(metric="recall_at_k", kind="min", limit=0.8, table="tag", group="work"),
        ),
        ("mrr[tag]>=0", Check(metric="mrr", kind="min", limit=0, table="category", group="tag")),
    ],
)
def test_an_expression_is_a_check(text: str, check: Check) -> None:
    assert parse_gate_expression(text) == check


@pytest.mark.parametrize(
    "text",
    ["", "mrr", "mrr>0.5", "mrr=0.5", "mrr>=", ">=0.5", "mrr>=0.5x", "mrr>=nan", "mrr>=1e999",
     "mrr[]>=1", "mrr[a b]>=1", "mrr[a>=1", "mrr>=0.5 mrr>=0.6"],
)  # fmt: skip
def test_an_expression_of_another_shape_shows_the_right_one(text: str) -> None:
    with pytest.raises(ConfigError, match=r"NUMBER in quotes, such as 'recall_at_k>=0\.9', "):
        parse_gate_expression(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mr>=1", 'got \'mr>=1\': unknown metric "mr", did you mean "mrr"?'),
        ("zzzz>=1", "got 'zzzz>=1': unknown metric \"zzzz\""),
        ("pass_rate[a]>=1", "got 'pass_rate[a]>=1': pass_rate is a figure of the whole run"),
    ],
)
def test_an_expression_with_a_wrong_metric_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_gate_expression(text)
    assert str(caught.value) == message


def test_a_gate_replaces_the_same_check_of_the_file_in_its_place() -> None:
    found = parse("[overall]\nmrr = '>= 0.5'\nmap = '>= 0.5'", "mrr>=0.9", "mrr>=0.8")
    assert [(check.name, check.limit) for check in found.checks] == [("mrr", 0.8), ("map", 0.5)]
