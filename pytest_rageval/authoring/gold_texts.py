"""Texts of golds, from the documents that they name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from pytest_rageval.authoring.notes import Note, parse_note
from pytest_rageval.metrics.matching import PathCase, anchor_segments, norm_path, starts_with
from pytest_rageval.project.documents import (
    documents_path,
    find_loader,
    load_documents,
    read_document_set,
)
from pytest_rageval.values.case import Anchor

MAX_CHARS: Final = 8_000
"""Embedding models read a few thousand words at most."""


def read_document_notes(case_files: Iterable[Path], loader: str | None) -> list[Note]:
    """Read the documents that are stored beside case files, as notes.

    Args:
        case_files: those without documents are skipped.
        loader: the setting ``loader`` of ``[tool.rageval.documents]``.

    Raises:
        ConfigError: the loader cannot be imported, or returned no text.
        DatasetError: documents cannot be read.
    """
    paths = [path for file in case_files if (path := documents_path(file)).is_file()]
    function = find_loader(loader) if paths else None
    return [
        parse_note(one.rel_path, one.text.encode("utf-8", "replace"))
        for path in paths
        for one in load_documents(read_document_set(path), function)
    ]


def gold_texts(
    golds: Iterable[Anchor], notes: Iterable[Note], path_case: PathCase = "sensitive"
) -> dict[Anchor, str]:
    """Return the text of each gold, as far as it is known.

    It is that of its section and the sections below, cut to ``MAX_CHARS``; where the document or
    section is not among the notes, the snippets of the gold.
    """
    by_path = {norm_path(note.rel_path, path_case): note for note in notes}
    texts = ((gold, _text(gold, by_path, path_case)) for gold in golds)
    return {gold: text for gold, text in texts if text.strip()}


def _text(gold: Anchor, notes: Mapping[str, Note], path_case: PathCase) -> str:
    note = notes.get(norm_path(gold.rel_path, path_case))
    wanted = anchor_segments(gold)
    sections = [s.text for s in note.sections if starts_with(s.segments, wanted)] if note else []
    return "\n\n".join(sections)[:MAX_CHARS] if sections else "\n".join(gold.snippets)
