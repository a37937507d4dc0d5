from __future__ import annotations

from typing import Any

from pytest_rageval.report.html.run.cases import view_cases
from pytest_rageval.report.html.run.figures import numbers_of
from pytest_rageval.report.html.run.groups import group_changes, view_heat_maps
from pytest_rageval.report.html.run.values import ReportOptions
from pytest_rageval.values.case import Anchor, Case
from tests.report.html.builders import against, missed, passed, run


def metrics(*records: Any) -> Any:
    return run([*records]).aggregate


def test_groups_show_their_means_and_how_good_they_are() -> None:
    found = view_heat_maps(
        metrics(
            passed("a", category="one", tags=("t",), difficulty="easy"),
            missed("b", category="two"),
        )
    )

    category = found[0]
    assert [one.title for one in found] == ["Category", "Tag", "Difficulty"]
    column = [key for key, _ in category.columns].index("recall_at_k")
    cells = {row.name: row.cells[column] for row in category.rows}
    assert (cells["one"].text, cells["one"].level, cells["one"].n) == ("1.000", "h6", 1)
    assert (cells["two"].text, cells["two"].level) == ("0.000", "h0")


def test_the_best_of_a_rate_of_failures_is_its_lowest() -> None:
    (found,) = view_heat_maps(metrics(passed("a", metrics={"over_abstention_rate": 0.0})))

    (cell,) = found.rows[0].cells
    assert cell.level == "h6"
    assert cell.link.endswith("&sort=over_abstention_rate&dir=desc"), "the worst cases come first"


def test_a_cell_is_coloured_by_what_its_cases_can_reach_and_leads_to_them() -> None:
    case = Case(id="a", question="?", gold_supports=(Anchor(rel_path="a.md"),))
    record = passed("a", category="x y", case=case, metrics={"precision_at_k": 0.2})

    (plain, *_), (found, *_) = (
        view_heat_maps(metrics(record), cases=cases)
        for cases in ((), view_cases(run([record]), ReportOptions()).rows)
    )

    (row,) = found.rows
    (cell,) = row.cells
    assert (cell.text, cell.level, cell.bound) == ("0.200", "h6", "0.2")
    assert plain.rows[0].cells[0].level == "h1"
    assert row.link == "#category=x%20y"
    assert cell.link == "#category=x%20y&sort=precision_at_k"
    assert (found.ceilings, plain.ceilings) == (True, False)


def test_a_group_says_how_many_of_its_cases_changed() -> None:
    others = [passed("b", category="x"), passed("c", category="y")]
    old, new = run([passed("a", category="x"), *others]), run([missed("a", category="x"), *others])
    rows = view_cases(new, ReportOptions(), against(old, new)).rows

    (found, *_) = view_heat_maps(numbers_of(new), cases=rows)

    assert found.changed
    assert [(row.name, row.worse.n, row.better.n) for row in found.rows] == [
        ("x", 1, 0),
        ("y", 0, 0),
    ]
    assert found.rows[0].worse.link == "#category=x&flip=worse"


def test_a_case_that_was_asked_several_times_changed_once() -> None:
    old, new = (run([make("a", category="x", repeat=n) for n in range(3)])
                for make in (passed, missed))  # fmt: skip
    rows = view_cases(new, ReportOptions(), against(old, new)).rows

    (found,) = view_heat_maps(numbers_of(new), cases=rows)

    assert found.rows[0].worse.n == 1


def test_a_cell_says_how_its_mean_changed_since_the_baseline() -> None:
    old = [passed("a", category="x"), passed("b", category="x"), missed("c", category="y")]
    new = [missed("a", category="x"), passed("b", category="x"), missed("c", category="y")]
    pairs = against(run(old, "old"), run(new, "new")).comparison.pairing.pairs
    changes = group_changes(pairs, ["recall_at_k", "mrr"])

    (found, *_) = view_heat_maps(metrics(*new), changes=changes)

    column = [key for key, _ in found.columns].index("recall_at_k")
    cells = {row.name: row.cells[column] for row in found.rows}
    assert (cells["x"].change, cells["x"].changed) == ("-0.50", "worse")
    assert (cells["y"].change, cells["y"].changed) == ("", "")
