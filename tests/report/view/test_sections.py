from __future__ import annotations

from pytest_rageval.report.faces.markdown import lines_of
from pytest_rageval.report.view.blocks import Scale, Table
from pytest_rageval.report.view.sections import section_groups
from pytest_rageval.values.own_code import ShownSection


def test_long_tables_are_cut_and_bars_are_tables() -> None:
    rows = tuple((f"r{i}", i) for i in range(40))
    groups = section_groups(
        [
            ShownSection(title="a|b", columns=("n", "v"), rows=rows),
            ShownSection(title="c", columns=("", "ms"), rows=(("x", 0.5),), bars=True, unit="ms"),
            ShownSection(title="d", error="<lost>"),
        ]
    )
    text = "\n".join(lines_of(groups))
    assert "### a\\|b\n\n| n | v |\n|---|---:|\n| r0 | 0 |\n" in text
    assert "| r29 | 29 |\n\n<details><summary>10 more rows</summary>\n" in text
    assert "| name | value |\n|---|---:|\n| x | 0.500 ms |" in text
    assert "This section could not be made: \\<lost\\>" in text
    assert [*section_groups([])] == []


def test_bars_are_shares_of_the_longest() -> None:
    shown = ShownSection(title="bars", columns=("", "n"), rows=(("x", 0), ("y", 2)), bars=True)
    ((table,),) = [group.blocks for group in section_groups([shown])]
    assert isinstance(table, Table)
    assert table.rows == [("x", "0.000", Scale(value=0.0)), ("y", "2.000", Scale(value=1.0))]
