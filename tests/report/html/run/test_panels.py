from __future__ import annotations

import xml.etree.ElementTree as ET

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.report.html.run.panels import (
    abstention_panel,
    metric_panels,
    rank_panel,
)
from tests.build.records import changed
from tests.report.html.builders import errored, missed, passed

RECORDS = [
    passed("a", metrics={"recall_at_k": 0.5, "mrr": 0.3, "hit_at_k": 1.0}),
    passed("b", metrics={"recall_at_k": 1.0, "mrr": 1.0, "hit_at_k": 1.0}),
    missed("c"),
    errored("d"),
]


def test_the_bars_of_a_metric_are_links_to_ranges_and_stand_in_a_table() -> None:
    (panel,) = metric_panels(RECORDS, BUILT_IN, ["mrr", "hit_at_k", "unheard_of"])

    links = [one.get("href") for one in ET.fromstring(str(panel.chart)).iter("a")]
    assert links == ["#mrr=..%3C0.1", "#mrr=0.3..%3C0.4", "#mrr=0.9.."]
    assert [(row.label, row.n, row.link) for row in panel.rows] == [
        ("0 to 0.1", 1, links[0]),
        ("0.3 to 0.4", 1, links[1]),
        ("0.9 to 1", 1, links[2]),
    ]
    assert panel.note == "3 cases, mean 0.433"


def test_ranks_lead_to_their_cases_and_what_was_not_found_is_apart() -> None:
    panel = rank_panel(RECORDS)

    assert panel is not None
    assert [(row.label, row.n, row.share, row.link) for row in panel.rows] == [
        ("1", 2, "67%", "#rank=1"),
        ("none", 1, "-", "#rank=none&recall_at_k=0.."),
    ]
    assert rank_panel([errored("d")]) is None
    unranked = passed("a", metrics={"recall_at_k": 1.0}, not_applicable={"mrr": "No ranks."})
    assert rank_panel([unranked]) is None


def test_answers_that_ask_back_are_counted_beside_those_that_abstain() -> None:
    scored = passed("a", metrics={"over_abstention_rate": 0.0})
    asking = changed(passed("b", metrics={}), clarifies=True)

    alone, both = abstention_panel([scored]), abstention_panel([scored, asking])

    assert alone is not None
    assert both is not None
    assert (alone.note, both.note.removeprefix(alone.note)) == (
        "share of each row",
        "; 1 ask back instead, as their cases allow",
    )
