"""Cases that changed between two runs, and why, as their records tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.analysis.compare.flips import CaseFlip, Loss, find_loss
from pytest_rageval.analysis.compare.metrics import compare_records
from pytest_rageval.values.case import Case
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.reply import AskResponse, FolderSelection
from pytest_rageval.values.settings import Settings
from tests.build.records import failed
from tests.build.runs import SETTINGS, answered, scored
from tests.build.scores import chunk, gold

FILLER = tuple(f"x{i}.md | # X" for i in range(8))
ONE = Case(id="one", question="?", gold_supports=(gold("a.md | # A"),))
BOTH = Case(
    id="both",
    question="?",
    gold_supports=(gold("meetings.md | # 2026-01-15"), gold("b.md")),
    required_support_groups=((0, 1),),
)


def asked(case: Case, *chunks: str, settings: Settings = SETTINGS, **fields: Any) -> CaseRecord:
    given = {"answer": "It is.", "abstained": False, **fields}
    response = AskResponse(retrieved_chunks=tuple(map(chunk, chunks)), **given)
    return answered(case, response, settings)


def flips(base: CaseRecord, new: CaseRecord) -> tuple[CaseFlip, ...]:
    return compare_records([base], [new]).flips


def reason(base: CaseRecord, new: CaseRecord) -> tuple[str, str]:
    (found,) = flips(base, new)
    return found.direction, found.reason


FOUND = asked(ONE, "a.md | # A", *FILLER)


def test_a_gold_that_sank_below_the_cut_is_named_with_its_rank() -> None:
    assert reason(FOUND, asked(ONE, *FILLER, "a.md | # A")) == ("worse", "gold now at rank 9")


def test_a_gold_outside_the_searched_folders_left_the_scope() -> None:
    inside = Case(id="one", question="?", gold_supports=(gold("docs/a.md"),))
    on = Settings(rootdir=".", judge="none", folder_mode="on")
    there = FolderSelection(selected_folders=("docs",), fallback_used=False)
    elsewhere = FolderSelection(selected_folders=("notes",), fallback_used=False)
    base = asked(inside, "docs/a.md", settings=on, folder_selection=there)
    new = asked(inside, "notes/x.md", settings=on, folder_selection=elsewhere)
    assert reason(base, new) == ("worse", "left the scope")


def test_one_of_several_golds_is_named_by_its_place() -> None:
    base = asked(BOTH, "meetings.md | # 2026-01-15", "b.md | # B")
    new = asked(BOTH, "b.md | # B", *FILLER)
    (found,) = flips(base, new)
    assert found.reason == "lost meetings.md > # 2026-01-15 (not in top 9)"
    assert found.brief_reason == "lost gold 0 (not in top 9)"
    assert [(c.metric, c.base, c.new) for c in found.changes] == [
        ("recall_all_at_k", 1.0, 0.0),
        ("recall_at_k", 1.0, 0.5),
    ]
    assert reason(new, base) == (
        "better",
        "found meetings.md > # 2026-01-15 (rank 1, was not in top 9)",
    )


def test_a_case_that_fails_now_names_the_error() -> None:
    base = scored("a", 1.0)
    broken = failed("a", "timeout", case_hash="a-content", metrics={"hit_at_k": None})
    assert reason(base, broken) == ("worse", "fails now: timeout")
    assert reason(broken, base) == ("better", "answers now (was: timeout)")


def test_worse_cases_come_first_and_each_in_order() -> None:
    base = [scored("d", 0.0), scored("c", 1.0), scored("b", 0.0), scored("a", 1.0)]
    new = [scored("d", 1.0), scored("c", 0.0), scored("b", 1.0), scored("a", 0.0)]
    found = compare_records(base, new).flips
    assert [(flip.direction, flip.case_id) for flip in found] == [
        ("worse", "a"),
        ("worse", "c"),
        ("better", "b"),
        ("better", "d"),
    ]


def test_the_outcome_decides_the_direction_where_metrics_disagree() -> None:
    case = Case(id="one", question="?", gold_supports=(gold("a.md"), gold("b.md")))
    base = asked(case, "a.md", abstained=True, answer="No.")
    new = asked(case, "a.md", "b.md", abstained=False)
    (found,) = flips(base, new)
    assert (found.base_outcome, found.new_outcome, found.direction) == (
        "missed",
        "passed",
        "better",
    )


@pytest.mark.parametrize("worse", [True, False])
def test_of_repeats_the_one_that_changed_tells_why(worse: bool) -> None:
    good = [scored("a", 1.0, repeat=0), scored("a", 1.0, repeat=1)]
    bad = [scored("a", 1.0, repeat=0), scored("a", 0.0, repeat=1)]
    (found,) = compare_records(good, bad).flips if worse else compare_records(bad, good).flips
    words = "passed before, missed now" if worse else "missed before, passed now"
    assert (found.direction, found.reason) == ("worse" if worse else "better", words)


# --- the group that explains most of what was lost

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
