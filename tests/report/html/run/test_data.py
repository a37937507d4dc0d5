from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.report.html.run.cases import view_cases
from pytest_rageval.report.html.run.data import page_data
from pytest_rageval.report.html.run.values import ReportOptions
from pytest_rageval.values.record import CaseRecord
from tests.report.html.builders import errored, missed, passed, run


def data(*records: CaseRecord, redact: bool = False, **fields: Any) -> dict[str, Any]:
    cases = view_cases(run([*records], **fields), ReportOptions(redact=redact))
    return page_data(cases, BUILT_IN)


def named(found: dict[str, Any], key: str) -> list[list[str]]:
    facet = found["facets"][key]
    return [[facet["names"][place] for place in places] for places in facet["of"]]


def test_columns_say_of_each_case_what_can_be_filtered() -> None:
    found = data(
        passed("a", tags=("t", "u"), difficulty="easy"), missed("b", category="c"), errored("e")
    )

    assert found["id"] == ["e", "b", "a"]
    assert found["anchor"] == ["case-e", "case-b", "case-a"]
    assert named(found, "outcome") == [["error"], ["missed"], ["passed"]]
    assert named(found, "stage") == [["http"], ["not_retrieved"], []]
    assert named(found, "category") == [["general"], ["c"], ["general"]]
    assert named(found, "tag") == [[], [], ["t", "u"]]
    assert named(found, "difficulty") == [[], [], ["easy"]]
    assert found["rank"] == [None, None, 1]
    assert found["ms"] == [20, 20, 20]


def test_a_redacted_page_has_no_question() -> None:
    assert data(passed("a"), redact=True)["question"] == [""]


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=20))
def test_the_names_of_a_facet_come_most_frequent_first(categories: list[str]) -> None:
    records = [passed(f"c{i}", category=name) for i, name in enumerate(categories)]
    found = data(*records)

    names = found["facets"]["category"]["names"]
    assert sorted(names) == sorted(set(categories))
    assert [*names] == sorted(names, key=lambda name: (-categories.count(name), name))
    assert [one[0] for one in named(found, "category")] == categories
    assert json.loads(json.dumps(found)) == found
    names = ("outcome", "stage", "category", "tag", "difficulty", "flip", "check")
    assert (*found["facets"],) == names
