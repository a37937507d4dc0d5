from __future__ import annotations

import logging
from pathlib import Path

import pytest

from pytest_rageval.server.engine import ReferenceEngine
from tests.server.builders import make_engine, write_vault


def warnings_of(engine: ReferenceEngine) -> list[str]:
    found: list[str] = engine.index.coverage["warnings"]
    return found


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "the note is empty"),
        (b"\xef\xbb\xbf \n\n", "the note is empty"),
        (b"# Title\n\n## More\n", "it holds only headings or front matter"),
        (b"---\ntitle: x\n---\n", "it holds only headings or front matter"),
    ],
)
def test_a_note_without_chunks_is_named_with_the_reason(
    tmp_path: Path, data: bytes, why: str
) -> None:
    write_vault(tmp_path, {"a.md": "# A\ntext\n", "none.md": data})
    assert warnings_of(make_engine(tmp_path)) == [f"none.md: no chunk made: {why}"]


def test_every_warning_is_logged_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_vault(tmp_path, {"a.md": "", "b.md": b"bad \xff"})
    with caplog.at_level(logging.WARNING, "rageval.reference"):
        engine = make_engine(tmp_path)
    logged = [record.getMessage().split(": ", 1)[1] for record in caplog.records]
    assert logged == warnings_of(engine)
    assert len(logged) == 2
