from __future__ import annotations

from pytest_rageval.report.html.run.sections import cell_text, view_sections


def test_texts_of_a_section_are_escaped() -> None:
    (table,) = view_sections(
        [{"title": "<b>", "kind": "table", "columns": ["<i>"], "rows": [["<u>"], [None]]}]
    )
    assert "<h2>&lt;b&gt;</h2>" in table
    assert '<th scope="col">&lt;i&gt;</th>' in table
    assert '<td class="text">&lt;u&gt;</td>' in table


def test_bars_of_nothing_and_documents_of_another_shape_are_drawn() -> None:
    found = view_sections(
        [
            {"title": "a", "kind": "bars", "bars": []},
            {"title": "b", "kind": "bars", "bars": [["x", 0]]},
            {"title": "c", "rows": 3},
            {},
        ]
    )
    assert len(found) == 4
    assert "<svg" in found[1]


def test_a_bar_of_a_damaged_file_without_a_number_is_left_out() -> None:
    bars = [["a", None], ["b", "2"], ["c", 10**400], ["d", [1]], ["e", 0.5]]

    (found,) = view_sections([{"title": "t", "kind": "bars", "bars": bars}])

    assert "e: 0.500</desc>" in found
    assert found.count('class="p50"') == 2  # a wide and a narrow one


def test_numbers_are_shown_as_elsewhere() -> None:
    assert [cell_text(v) for v in (0.5, 12, True, None, "x")] == ["0.500", "12", "True", "-", "x"]
