from __future__ import annotations

from typing import Any

from pytest_rageval.report.html.run.groups import group_changes, heat_maps
from pytest_rageval.report.view.blocks import Cell, Group, Table
from tests.build.records import talk
from tests.report.html.builders import against, missed, passed, run


def metrics(*records: Any) -> Any:
    return run([*records]).aggregate


def rows(group: Group) -> dict[str, dict[str, Any]]:
    """Cells of a heat map by group and column."""
    table = group.blocks[-1]
    assert isinstance(table, Table)
    names = [name.removeprefix(">") for name in table.columns]
    cells: list[Any] = [*table.rows]
    found: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in cells]
    return {str(row[names[0]].value): row for row in found}


def test_groups_show_their_means_and_how_good_they_are() -> None:
    found = heat_maps(
        metrics(
            passed("a", category="one", tags=("t",), difficulty="easy"),
            missed("b", category="two"),
        )
    )

    assert [one.title.split()[1] for one in found] == ["category", "tag", "difficulty"]
    assert [one.folded for one in found] == [False, True, True]
    cells = {name: row["recall_at_k"] for name, row in rows(found[0]).items()}
    assert (cells["one"].value, cells["one"].tone) == ("1.000", "h6")
    assert (cells["two"].value, cells["two"].tone) == ("0.000", "h0")


def test_a_cell_says_how_its_mean_changed_since_the_baseline() -> None:
    old = [passed("a", category="x"), passed("b", category="x"), missed("c", category="y")]
    new = [missed("a", category="x"), passed("b", category="x"), missed("c", category="y")]
    pairs = against(run(old, "old"), run(new, "new")).comparison.pairing.pairs
    changes = group_changes(pairs, ["recall_at_k", "mrr"])

    found = rows(heat_maps(metrics(*new), changes=changes)[0])

    x, y = (found[name]["recall_at_k"] for name in ("x", "y"))
    assert isinstance(x, Cell)
    assert (x.note, y.note) == ("-0.50 \u25bc", "")


def test_turns_of_conversations_are_groups_whose_cells_lead_to_their_cases() -> None:
    turns = talk("ada", "passed", "passed", "passed", "passed", metrics={"recall_at_k": 1.0})

    found = heat_maps(metrics(*turns, passed("alone")))[-1]

    assert found.title.split()[1] == "turn"
    shown = rows(found)
    assert {name: row["cases"] for name, row in shown.items()} == {"1": 1, "2": 1, "3+": 2}
    assert shown["3+"]["turn"].link == "#turn=3%2B"
