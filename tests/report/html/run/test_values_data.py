from __future__ import annotations

from typing import Any

from pytest_rageval.metrics.built_in import BUILT_IN
from pytest_rageval.report.html.run.cases import view_cases
from pytest_rageval.report.html.run.values import ReportOptions, page_data
from pytest_rageval.values.record import CaseRecord
from tests.build.records import talk
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
    assert named(data(*talk("t", "passed", "passed")), "turn") == [["1"], ["2"]]
    assert found["rank"] == [None, None, 1]
    assert found["ms"] == [20, 20, 20]


def test_a_redacted_page_has_no_question() -> None:
    assert data(passed("a"), redact=True)["question"] == [""]
