"""The pictures of the docs are taken from real pages."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from tests.docs.pictures import IMAGES, PICTURES, ROOT, WIDTH, draw

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def size_of(picture: Path) -> tuple[int, int]:
    """Width and height from the head of a PNG file."""
    head = picture.read_bytes()[:24]
    assert head.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", head[16:])
    return width, height


def test_every_picture_is_drawn_by_the_script_and_shown_with_a_text() -> None:
    shown = re.findall(
        r"!\[([^\]]+)\]\((?:docs/)?images/([\w.-]+)\)",
        "\n".join(page.read_text(encoding="utf-8") for page in PAGES),
    )
    assert {name for _, name in shown} == {picture.name for picture in PICTURES}
    assert {path.name for path in IMAGES.iterdir()} == {picture.name for picture in PICTURES}
    assert all(len(text) > 40 for text, _ in shown)


@pytest.mark.slow
def test_the_script_draws_them_again(tmp_path: Path) -> None:
    draw(tmp_path)
    for picture in PICTURES:
        drawn, kept = tmp_path / picture.name, IMAGES / picture.name
        assert size_of(drawn) == size_of(kept) == (WIDTH, picture.height)
        # A page that shows nothing, or much else than the kept picture, is of another size.
        assert 0.5 < drawn.stat().st_size / kept.stat().st_size < 2
