"""A corpus as files that a retrieval system can index."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pytest_rageval.project.documents import Document
from pytest_rageval.support.files import named_errors
from pytest_rageval.values.errors import DatasetError

LINES: Final = "corpus.jsonl"
"""File of a corpus whose documents keep their ids, in the layout of BEIR."""


def refuse_filled(folder: Path) -> None:
    """Refuse a folder that is not empty.

    Raises:
        DatasetError: it is a file, or not empty.
    """
    if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise DatasetError.of(folder.as_posix(), "exists", what="folder")


def write_corpus(folder: Path, documents: Iterable[Document], *, as_notes: bool) -> int:
    """Write documents to a new folder, all of them or none, and return their number.

    Args:
        folder: may be missing or empty.
        documents: written one at a time; each has a text.
        as_notes: one file for each at its path; else all as lines of ``corpus.jsonl``.

    Raises:
        DatasetError: the folder is not empty, cannot be written, or two documents have one path.
    """
    refuse_filled(folder)
    with named_errors(folder, DatasetError), _new_folder(folder) as unfinished:
        return (_write_notes if as_notes else _write_lines)(unfinished, documents)


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder whose files get their place when it is complete."""
    folder = folder.absolute()  # "." has no name
    unfinished = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    unfinished.mkdir(parents=True)
    try:
        yield unfinished
        if folder.is_dir():  # perhaps the working directory, which must stay
            for path in sorted(unfinished.iterdir()):
                path.rename(folder / path.name)
        else:
            unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _write_notes(folder: Path, documents: Iterable[Document]) -> int:
    n = 0
    for one in documents:
        n += 1
        path = folder / one.rel_path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(_note(one))
        except FileExistsError:
            raise DatasetError.of(
                "", "same_path", found=repr(one.source_id), file=repr(one.rel_path)
            ) from None
    return n


def _note(document: Document) -> str:
    title = document.metadata.get("title")
    return f"# {title}\n\n{document.text}" if title else document.text or ""


def _write_lines(folder: Path, documents: Iterable[Document]) -> int:
    n = 0
    with (folder / LINES).open("x", encoding="utf-8", newline="\n") as file:
        for one in documents:
            n += 1
            title = one.metadata.get("title", "")
            line = {"_id": one.source_id, "title": title, "text": one.text}
            file.write(f"{json.dumps(line, ensure_ascii=False)}\n")
    return n
