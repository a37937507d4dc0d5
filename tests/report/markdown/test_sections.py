from __future__ import annotations

from pytest_rageval.report.markdown.sections import render_sections


def test_long_tables_are_cut_and_bars_are_tables() -> None:
    rows = [[f"r{i}", i] for i in range(40)]
    text = render_sections(
        [
            {"title": "a|b", "kind": "table", "columns": ["n", "v"], "rows": rows},
            {"title": "c", "kind": "bars", "unit": "ms", "bars": [["x", 0.5]]},
            {"title": "d", "error": "<lost>"},
        ]
    )
    assert "### a\\|b\n\n| n | v |\n|---|---|\n| r0 | 0 |\n" in text
    assert "| r29 | 29 |\n\nAnd 10 more.\n" in text
    assert "|  | ms |\n|---|---|\n| x | 0.500 |" in text
    assert "This section could not be made: \\<lost\\>" in text
    assert render_sections([]) == ""
