"""Pages that commands write."""

from __future__ import annotations

from pathlib import Path

from pytest_rageval.cli.output import write_page


def test_a_page_replaces_a_link_and_leaves_what_it_names(tmp_path: Path) -> None:
    outside, page = tmp_path / "precious.txt", tmp_path / "run" / "report.html"
    outside.write_text("mine", encoding="utf-8")
    page.parent.mkdir()
    page.symlink_to(outside)
    write_page(page, ["<p>", "ü"])
    assert (outside.read_text("utf-8"), page.read_text("utf-8")) == ("mine", "<p>ü")
    assert not page.is_symlink()
