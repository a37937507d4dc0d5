"""The group that explains most of what was lost."""

from __future__ import annotations

from dataclasses import replace

from pytest_rageval.analysis.compare.losses import Loss
from pytest_rageval.analysis.compare.metrics import compare_records
from pytest_rageval.values.record import CaseRecord
from tests.build.records import failed
from tests.build.runs import scored

NAMES = ("billing", "accounts", "shipping", "returns", "security", "hardware")


def case(i: int, hit: bool, *, pages: bool = False, **fields: object) -> CaseRecord:
    name = NAMES[i // 10]
    document = f"{name}/page-{i % 10}.md" if pages else f"{name}/{name}.md"
    return scored(f"c{i:02}", float(hit), cluster=document, **fields)


def loss(
    lost: set[int], *, pages: bool = False, tagged: frozenset[int] = frozenset()
) -> Loss | None:
    """Loss of 60 cases about six folders, of which the tenth of each was missed before."""

    def run(missed: set[int]) -> list[CaseRecord]:
        tags = {i: ("rare",) if i in tagged else () for i in range(60)}
        cases = [case(i, i % 10 != 9 and i not in missed, pages=pages) for i in range(60)]
        return [replace(c, case=replace(c.case, tags=tags[i])) for i, c in enumerate(cases)]

    return compare_records(run(set()), run(lost)).loss


def test_a_lost_document_is_named_with_its_cases() -> None:
    found = loss({*range(9), 10, 21, 32, 43, 54})
    assert found is not None
    assert (found.kind, found.name, found.lost, found.n) == ("document", "billing/billing.md", 9, 9)
    assert found.sentence == "9 of 9 cases of billing/billing.md lost, of 14 lost in all"


def test_a_lost_folder_of_many_documents_is_named() -> None:
    found = loss({*range(9), 10, 21}, pages=True)
    assert found is not None
    assert found.sentence == "9 of 9 cases of folder billing/ lost, of 11 lost in all"


def test_a_tag_is_named_where_no_document_explains_the_loss() -> None:
    chosen = frozenset({0, 11, 22, 33, 44, 55})
    found = loss(set(chosen), tagged=chosen)
    assert found is not None
    assert found.sentence == "6 of 6 cases of tag rare lost"


def test_losses_that_are_spread_or_few_have_no_pattern() -> None:
    assert loss({0, 11, 22, 33, 44, 55}) is None
    assert loss({0, 1}) is None
    assert loss(set()) is None


def test_cases_that_are_an_error_now_are_not_lost() -> None:
    base = [case(i, True) for i in range(60)]
    new = [
        failed(f"c{i:02}", "connection", case_hash=f"c{i:02}-content") if i < 10 else case(i, True)
        for i in range(60)
    ]
    assert compare_records(base, new).loss is None
