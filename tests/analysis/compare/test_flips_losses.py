"""The group that explains most of what was lost."""

from __future__ import annotations

from dataclasses import replace

from pytest_rageval.analysis.compare.flips import Loss, find_loss
from pytest_rageval.values.record import CaseRecord
from tests.build.runs import scored

NAMES = ("billing", "accounts", "shipping", "returns", "security", "hardware")


def case(i: int, hit: bool, *, pages: bool = False, **fields: object) -> CaseRecord:
    name = NAMES[i // 10]
    document = f"{name}/page-{i % 10}.md" if pages else f"{name}/{name}.md"
    return scored(f"c{i:02}", float(hit), cluster=document, **fields)


def loss(
    lost: set[int], *, pages: bool = False, tagged: frozenset[int] = frozenset()
) -> Loss | None:
    """Loss of 60 cases about six folders, of which the tenth of each could not be lost."""
    cases = {
        i: replace(one, case=replace(one.case, tags=("rare",) if i in tagged else ()))
        for i in range(60)
        if i % 10 != 9
        for one in [case(i, i not in lost, pages=pages)]
    }
    return find_loss({cases[i].nodeid for i in lost}, cases.values())


def test_a_lost_document_is_named_with_its_cases() -> None:
    found = loss({*range(9), 10, 21, 32, 43, 54})
    assert found is not None
    assert (found.kind, found.name) == ("document", "billing/billing.md")
    assert (found.lost, found.n, found.lost_in_all) == (9, 9, 14)


def test_a_tag_is_named_where_no_document_explains_the_loss() -> None:
    chosen = frozenset({0, 11, 22, 33, 44, 55})
    found = loss(set(chosen), tagged=chosen)
    assert found is not None
    assert (found.where, found.lost, found.n) == ("with tag rare", 6, 6)


def test_losses_that_are_spread_or_few_have_no_pattern() -> None:
    assert loss({0, 11, 22, 33, 44, 55}) is None
    assert loss({0, 1}) is None
    assert loss(set()) is None
