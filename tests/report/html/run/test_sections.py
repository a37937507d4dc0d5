from __future__ import annotations

from pytest_rageval.report.html.run.sections import cell_text, view_sections
from pytest_rageval.values.section import ShownSection


def test_texts_of_a_section_are_escaped() -> None:
    shown = ShownSection(title="<b>", columns=("<i>",), rows=(("<u>",), (None,)))
    (table,) = view_sections([shown])
    assert "<h2>&lt;b&gt;</h2>" in table
    assert '<th scope="col">&lt;i&gt;</th>' in table
    assert '<td class="text">&lt;u&gt;</td>' in table


def test_bars_and_tables_of_nothing_are_drawn() -> None:
    found = view_sections(
        [
            ShownSection(title="a", bars=True),
            ShownSection(title="b", columns=("", "n"), rows=(("x", 0),), bars=True),
            ShownSection(title="c"),
        ]
    )
    assert len(found) == 3
    assert "<svg" in found[1]


def test_numbers_are_shown_as_elsewhere() -> None:
    assert [cell_text(v) for v in (0.5, 12, True, None, "x")] == ["0.500", "12", "True", "-", "x"]
