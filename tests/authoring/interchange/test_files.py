""""""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.authoring.interchange.files import (
    append_cases,
    open_source,
    read_text_file,
    without_clashes,
    write_corpus,
    write_new,
    write_new_files,
)
from pytest_rageval.authoring.interchange.values import ReadOptions
from pytest_rageval.project.documents import Document
from pytest_rageval.values.errors import DatasetError

LINES = [{"id": "a"}, {"id": "b"}, {"id": "c"}]


def names(folder: Path, *suffixes: str) -> list[str]:
    source = open_source([str(folder)], ReadOptions(), suffixes=suffixes)
    return [Path(file.name).relative_to(folder).as_posix() for file in source.files]


def test_a_folder_is_read_two_levels_deep(tmp_path: Path) -> None:
    for name in ("a.json", "b/c.json", "b/c/d.json", "e.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}", encoding="utf-8")
    assert names(tmp_path, ".json") == ["a.json", "b/c.json"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_texts_of_spreadsheets_are_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Größe", encoding=encoding)
    assert read_text_file(path).text == "Größe"


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(DatasetError, match="cannot be read"):
        read_text_file(tmp_path / name)


def test_no_url_is_opened_unless_asked() -> None:
    with pytest.raises(DatasetError, match="add --fetch"):
        open_source(["http://127.0.0.1:9/x.json"], ReadOptions(), suffixes=())


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("old", encoding="utf-8")
    with pytest.raises(DatasetError, match="exists, and nothing is overwritten"):
        write_new_files(tmp_path, {"a": "new", "b": "new"})
    assert not (tmp_path / "a").exists()
    assert (tmp_path / "b").read_text(encoding="utf-8") == "old"


@pytest.mark.posix
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, b'{"n":1}\n{"n":2}\n'),
        (b"", b'{"n":1}\n{"n":2}\n'),
        (b'{"o":0}\n', b'{"o":0}\n{"n":1}\n{"n":2}\n'),
        (b'{"o":0}', b'{"o":0}\n{"n":1}\n{"n":2}\n'),
        (b'\xef\xbb\xbf{"o" : 0}\r\n', b'\xef\xbb\xbf{"o" : 0}\r\n{"n":1}\r\n{"n":2}\r\n'),
    ],
)
def test_cases_are_added_and_all_else_stays(
    tmp_path: Path, before: bytes | None, after: bytes
) -> None:
    path = tmp_path / "deep" / "set.jsonl"
    if before is not None:
        path.parent.mkdir()
        path.write_bytes(before)
        path.chmod(0o640)
    append_cases(path, ['{"n":1}', '{"n":2}'])
    assert path.read_bytes() == after
    assert before is None or path.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in path.parent.iterdir()] == ["set.jsonl"]


def test_a_link_to_a_case_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.jsonl").write_text("", encoding="utf-8")
    link = tmp_path / "link.jsonl"
    link.symlink_to("real.jsonl")
    append_cases(link, ["{}"])
    assert link.is_symlink()
    assert (tmp_path / "real.jsonl").read_text(encoding="utf-8") == "{}\n"


def test_a_write_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def pieces() -> Any:
        yield "new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_new(tmp_path / "f", pieces())
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "f"

    def pieces() -> Any:
        path.write_text("theirs", encoding="utf-8")
        yield "ours"

    with pytest.raises(DatasetError, match="f: exists, and nothing is overwritten"):
        write_new(path, pieces())
    assert [one.read_text(encoding="utf-8") for one in tmp_path.iterdir()] == ["theirs"]


def test_a_secret_in_a_url_is_shown_nowhere() -> None:
    url = "https://ann:hunter2@localhost/a.json?token=s3cret"
    with pytest.raises(DatasetError, match=r"^https://localhost/a.json: a URL; add --fetch"):
        open_source([url], ReadOptions(), suffixes=())
    source = open_source([url], ReadOptions(), suffixes=(), fetch=lambda _: "{}")
    assert [file.name for file in source.files] == ["https://localhost/a.json"]


def test_clashes_are_refused_skipped_or_renamed() -> None:
    taken = {"b": 3, "b-2": 4}
    with pytest.raises(DatasetError, match=r"b \(line 3\); choose --on-clash skip"):
        without_clashes(LINES, taken, "refuse")
    kept, clashes = without_clashes(LINES, taken, "skip")
    assert ([one["id"] for one in kept], clashes) == (["a", "c"], {"b": None})
    kept, clashes = without_clashes(LINES, taken, "rename")
    assert ([one["id"] for one in kept], clashes) == (["a", "b-3", "c"], {"b": "b-3"})
    assert without_clashes(LINES, {}, "refuse") == (LINES, {})


# ---

ROSES = Document(rel_path="a/roses.md", text="Red.", source_id="r", metadata={"title": "Roses"})
BEANS = Document(rel_path="beans.md", text="Green.", source_id="b")


def test_notes_have_their_paths_and_titles(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert write_corpus(tmp_path / "notes", [ROSES, BEANS], as_notes=True) == 2
    assert (tmp_path / "notes/a/roses.md").read_text(encoding="utf-8") == "# Roses\n\nRed."
    assert (tmp_path / "notes/beans.md").read_text(encoding="utf-8") == "Green."


def test_lines_have_the_layout_of_beir(tmp_path: Path) -> None:
    assert write_corpus(tmp_path / "c", [ROSES, BEANS], as_notes=False) == 2
    lines = (tmp_path / "c/corpus.jsonl").read_text(encoding="utf-8").splitlines()
    assert list(map(json.loads, lines)) == [
        {"_id": "r", "title": "Roses", "text": "Red."},
        {"_id": "b", "title": "", "text": "Green."},
    ]


def test_a_filled_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("x", encoding="utf-8")
    with pytest.raises(DatasetError, match="exists, and nothing is overwritten"):
        write_corpus(tmp_path, [ROSES], as_notes=True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.md"]


def test_a_corpus_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[Document]:
        yield ROSES
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_corpus(tmp_path / "c", broken(), as_notes=True)
    assert list(tmp_path.iterdir()) == []
