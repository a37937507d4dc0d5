"""Pages that commands write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_rageval.cli.output import write_page


def test_a_page_replaces_a_link_and_leaves_what_it_names(tmp_path: Path) -> None:
    outside, page = tmp_path / "precious.txt", tmp_path / "run" / "report.html"
    outside.write_text("mine", encoding="utf-8")
    page.parent.mkdir()
    page.symlink_to(outside)
    write_page(page, ["<p>", "ü"])
    assert (outside.read_text("utf-8"), page.read_text("utf-8")) == ("mine", "<p>ü")
    assert not page.is_symlink()


def test_a_page_that_fails_leaves_the_older_one(tmp_path: Path) -> None:
    def broken() -> Iterator[str]:
        yield "half"
        raise LookupError("no more")

    page = tmp_path / "report.html"
    page.write_text("old", encoding="utf-8")
    with pytest.raises(LookupError):
        write_page(page, broken())
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert page.read_text("utf-8") == "old"
