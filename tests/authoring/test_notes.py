from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.authoring.notes import parse_note
from pytest_rageval.server.chunking import chunk_note

ROOT = Path(__file__).resolve().parents[2]
VAULTS = (ROOT / "evals/vault", ROOT / "pytest_rageval/authoring/scaffold/files/vault")


def headings(text: str) -> list[str]:
    return [section.heading_path for section in parse_note("a.md", text.encode()).sections]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("only text", [""]),
        ("# A\n\ntext\n\n## B\n\nmore\n\n# C", ["# A", "# A > ## B", "# C"]),
        ("before\n\n# A", ["", "# A"]),
        ("# A\n### C\n## B", ["# A", "# A > ### C", "# A > ## B"]),
        ("Title\n=====\n\nPart\n----\n", ["# Title", "# Title > ## Part"]),
        ("# A\n```\n# no\n```\n> # no\n\n- # no\n", ["# A"]),
        ("---\ntitle: x\n---\n# A", ["# A"]),
        ("\ufeff# A   b  #", ["# A b"]),
        ("# \n\ntext", ["#"]),
        ("# `a` *b*", ["# `a` *b*"]),
        ("# A\r\n\r\n## B\r\n", ["# A", "# A > ## B"]),
    ],
)
def test_headings_become_paths(text: str, expected: list[str]) -> None:
    assert headings(text) == expected


@pytest.mark.parametrize("vault", VAULTS, ids=lambda path: path.parts[-2])
def test_sections_are_those_of_the_embedded_server(vault: Path) -> None:
    for path in sorted(vault.rglob("*.md")):
        data = path.read_bytes()
        chunks = chunk_note(vault="v", rel_path="a.md", data=data, max_tokens=10**6, overlap=0)
        sections = {one.heading_path: one for one in parse_note("a.md", data).sections}
        for chunk in chunks:
            assert chunk.text.strip() in sections[chunk.heading_path].text


@given(st.binary(max_size=200))
def test_any_bytes_are_a_note(data: bytes) -> None:
    note = parse_note("a.md", data)
    assert all(section.start_line >= 1 for section in note.sections)
