from __future__ import annotations

import logging
from pathlib import Path

import pytest

from pytest_rageval.server import vault as findings_module
from pytest_rageval.server.engine import ReferenceEngine
from pytest_rageval.server.vault import NAMED_PATHS, finding_lines
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


def test_a_large_note_is_indexed_whole_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings_module, "LARGE_NOTE_BYTES", 1000)
    paragraph = "Plain words fill this paragraph of the note. " * 20 + "\n\n"
    write_vault(tmp_path, {"long.md": paragraph * 3, "just.md": "x" * 1000})
    engine = make_engine(tmp_path, chunk_tokens=200, chunk_overlap=0)
    made = sum(chunk.rel_path == "long.md" for chunk in engine.index.chunks)
    assert made > 1
    assert warnings_of(engine) == ["long.md: a large note, over 1,000 bytes, indexed whole"]


def test_a_kind_gets_one_line_beyond_a_handful_of_notes() -> None:
    def lines(count: int) -> list[str]:
        return finding_lines((f"{i}.md", "not read: UTF-16") for i in range(count))

    assert lines(NAMED_PATHS)[-1] == "4.md: not read: UTF-16"
    assert lines(NAMED_PATHS + 1) == [
        "6 notes: not read: UTF-16: 0.md, 1.md, 2.md, 3.md, 4.md and 1 more"
    ]


def test_every_warning_is_logged_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_vault(tmp_path, {"a.md": "", "b.md": b"bad \xff"})
    with caplog.at_level(logging.WARNING, "rageval.reference"):
        engine = make_engine(tmp_path)
    logged = [record.getMessage().split(": ", 1)[1] for record in caplog.records]
    assert logged == warnings_of(engine)
    assert len(logged) == 2
