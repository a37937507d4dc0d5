from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval.project.documents import (
    Document,
    document_lines,
    documents_path,
    find_loader,
    is_scope_prefix,
    load_documents,
    read_document_set,
)
from pytest_rageval.values.errors import ConfigError, DatasetError

HEAD = '{"scope_prefix": "evals/set/"}'


def write(folder: Path, *lines: str) -> Path:
    path = folder / "set.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_documents_stand_beside_their_case_file() -> None:
    assert documents_path(Path("evals/a.jsonl")) == Path("evals/documents/a.jsonl")


@pytest.mark.parametrize("prefix", ["evals/set", "evals/set/", "eval/sample/", "a/b/cdefg/"])
def test_a_folder_of_its_own_is_a_prefix(prefix: str) -> None:
    assert is_scope_prefix(prefix)


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    documents = (
        Document(rel_path="evals/set/a.md", text="A", source_id="1", metadata={"k": [1]}),
        Document(rel_path="evals/set/b.md", ref="b"),
        Document(rel_path="evals/set/c.md", file="c.txt"),
    )
    path = tmp_path / "set.jsonl"
    path.write_text("".join(document_lines(documents, "evals/set/")), encoding="utf-8")
    found = read_document_set(path)
    assert (found.documents, found.scope_prefix) == (documents, "evals/set/")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "empty, expected a first line"),
        (['{"rel_path": "a"}'], "set.jsonl:1: scope_prefix: missing"),
        (['{"scope_prefix": "notes/"}'], 'set.jsonl:1: scope_prefix: got "notes/", expected'),
        ([HEAD, "[1]"], "set.jsonl:2: got [1], expected a document"),
        ([HEAD, "{"], "set.jsonl:2:"),
        (
            [HEAD, '{"rel_path": "evals/other/a.md", "text": "x"}'],
            "expected a path below",
        ),
        ([HEAD, '{"rel_path": "evals/set/../a.md", "text": "x"}'], "without '..'"),
        ([HEAD, '{"rel_path": "evals/set/%2e%2e/a.md", "text": "x"}'], "expected a relative path"),
        ([HEAD, '{"rel_path": "evals/set/a.md"}'], "expected one of text, file and ref"),
        ([HEAD, '{"rel_path": "evals/set/a.md", "text": "x", "ref": "y"}'], "expected one of text"),
        (
            [HEAD, '{"rel_path": "evals/set/a.md", "txt": "x"}'],
            "txt: unknown field, did",
        ),
        (
            [HEAD, *['{"rel_path": "evals/set/a.md", "text": "x"}'] * 2],
            "the path of line 2",
        ),
        (["[" * 200_000], "nested too deeply"),
    ],
)
def test_faults_name_the_line(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(DatasetError) as caught:
        read_document_set(write(tmp_path, *lines))
    assert message in str(caught.value)


def texts(path: Path, loader: str | None = None) -> list[str]:
    return [one.text for one in load_documents(read_document_set(path), find_loader(loader))]


def test_a_text_may_stand_in_a_file_below_the_documents(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.md").write_text("\ufeff# A", encoding="utf-8")
    line = json.dumps({"rel_path": "evals/set/a.md", "file": "texts/a.md"})
    assert texts(write(tmp_path, HEAD, line)) == ["# A"]


@pytest.mark.parametrize("name", ["../secret.md", "/etc/hostname", "link.md"])
def test_a_file_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "link.md").symlink_to(tmp_path / "secret.md")
    line = json.dumps({"rel_path": "evals/set/a.md", "file": name})
    with pytest.raises(DatasetError, match="is outside the folder"):
        texts(write(inner, HEAD, line))


def test_a_ref_is_what_the_loader_of_the_project_is_called_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "def load(ref):\n    return f'text of {ref}' if ref != 'none' else None\n"
    (tmp_path / "my_texts_for_refs.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    line = '{"rel_path": "evals/set/a.md", "ref": "x"}'
    assert texts(write(tmp_path, HEAD, line), "my_texts_for_refs:load") == ["text of x"]
    with pytest.raises(ConfigError, match="'none': got None, expected a text"):
        texts(write(tmp_path, HEAD, line.replace('"x"', '"none"')), "my_texts_for_refs:load")
    with pytest.raises(ConfigError, match="has no attribute 'missing'"):
        find_loader("my_texts_for_refs:missing")
