"""Documents of other frameworks as retrieved chunks, for clients of your own.

The objects are known by their attributes, so that no framework is imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

from pytest_rageval.values.lenient import integer_or_none
from pytest_rageval.values.numbers import plain
from pytest_rageval.values.reply import RetrievedChunk

PATHS: Final = (
    "rel_path", "source", "file_path", "path", "file_name", "filename", "document_name", "url",
)  # fmt: skip
"""Fields of metadata that name the document; the first that is set counts."""
_TEXTS: Final = ("text", "page_content", "content", "chunk")
_IDS: Final = ("chunk_id", "id", "_id")
_SCORES: Final = ("score", "relevance_score", "similarity")
_PAGES: Final = ("page_label", "page_number", "page")
"""Fields of metadata that name a page counted from 1; a label counts as the document prints it."""
_HEADER: Final = re.compile(r"[Hh]eader[ _]([1-6])")
_OWN_HEADING: Final = re.compile(r"(?:Source \d+:\n)?#{1,6} ++(.*)")
"""First line of a node, below the number that CitationQueryEngine of LlamaIndex puts before it."""
_KNOWN: Final = (
    "a dict such as {'path': ..., 'text': ...}, a document of LangChain or Haystack, a node of "
    "LlamaIndex, or a pair of one and its score"
)


def from_documents(
    documents: Iterable[object],
    *,
    path: str | Callable[[Mapping[str, Any]], str] | None = None,
    root: str | PathLike[str] | None = None,
) -> tuple[RetrievedChunk, ...]:
    """Return documents as retrieved chunks, in the same order and ranked from 1.

    Args:
        documents: documents of LangChain (``page_content``, ``metadata``) or Haystack (``content``,
            ``meta``), nodes of LlamaIndex with or without a score, dicts with such keys, pairs of
            one of these and its score, and chunks, which stay as they are.
        path: field of the metadata that names the document, or a function of the metadata; None:
            the first of ``PATHS`` that is set.
        root: folder that paths are relative to, itself relative to the working directory; None:
            paths stay as they are.

    Raises:
        TypeError: an object of another type; names its place and type.
        ValueError: the metadata of an object names no document.
    """
    chunks = []
    for n, document in enumerate(documents):
        if isinstance(document, RetrievedChunk):
            chunks.append(document)
            continue
        read = _read(document, n)
        read["rel_path"] = _path(read.pop("metadata"), path, root, n)
        chunks.append(RetrievedChunk(**read, rank=n + 1))
    return tuple(chunks)


def _read(document: object, n: int) -> dict[str, Any]:
    """Return the fields of a chunk, with the metadata in place of its path."""
    given: Any = document
    score: object = None
    if isinstance(given, tuple) and len(given) == 2:
        given, score = given
    if hasattr(given, "node"):  # LlamaIndex, with a score
        given, score = given.node, given.score if score is None else score
    if isinstance(given, Mapping):
        nested = given.get("metadata") or given.get("meta") or {}
        metadata = {**given, **nested} if isinstance(nested, Mapping) else dict(given)
        # Metadata may hold the id of the whole document, and of Pinecone the text.
        text, chunk_id = _first(given, _TEXTS), _first(given, _IDS)
        text = _first(metadata, _TEXTS[:-1]) if text is None else text
        score = _first(given, _SCORES) if score is None else score
    elif hasattr(given, "page_content"):
        metadata, text, chunk_id = given.metadata, given.page_content, getattr(given, "id", None)
    elif hasattr(given, "get_content") and hasattr(given, "metadata"):
        metadata, text = given.metadata, given.get_content()
        chunk_id = getattr(given, "node_id", None)
    elif hasattr(given, "content") and hasattr(given, "meta"):
        metadata, text, chunk_id = given.meta, given.content, getattr(given, "id", None)
        score = getattr(given, "score", None) if score is None else score
    else:
        kind = type(given).__name__
        raise TypeError(f"documents[{n}]: expected {_KNOWN}, got a value of type {kind}")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    identifier = _first(metadata, _IDS) if chunk_id is None else chunk_id
    # LangChain, maybe as a dict, counts pages from 0.
    from_zero = hasattr(given, "page_content") or "page_content" in metadata
    text = _text(text)
    return {
        "metadata": metadata,
        "text": text,
        "chunk_id": None if identifier is None else str(identifier),
        "heading_path": _heading(metadata, text or ""),
        "score_final": _number(_first(metadata, _SCORES) if score is None else score),
        "pages": _pages(metadata, from_zero=from_zero),
    }


def _text(content: object) -> str | None:
    """Return a text, or those of content in parts, as of OpenAI, Anthropic or Amazon Bedrock."""
    if isinstance(content, Mapping):
        return _text(content.get("text"))
    if isinstance(content, list | tuple):
        return "\n".join(filter(None, map(_text, content))) or None
    return None if content is None else str(content)


def _path(
    metadata: Mapping[str, Any],
    path: str | Callable[[Mapping[str, Any]], str] | None,
    root: str | PathLike[str] | None,
    n: int,
) -> str:
    if callable(path):
        found: object = path(metadata)
    else:
        found = _first(metadata, PATHS if path is None else (path,))
    if isinstance(found, PathLike):
        found = fspath(found)
    if not isinstance(found, str) or not found.strip():
        wanted = path if isinstance(path, str) else ", ".join(PATHS)
        names = ", ".join(sorted(map(str, metadata))[:20]) or "none"
        raise ValueError(
            f"documents[{n}]: no path of the document in its metadata; name the field, as in "
            f"from_documents(documents, path='doc') (its keys: {names}; looked for: {wanted})"
        )
    if root is None:
        return found
    # SimpleDirectoryReader("docs") of LlamaIndex notes absolute paths.
    below, folder = (Path(p.replace("\\", "/")).absolute() for p in (found, fspath(root)))
    return below.relative_to(folder).as_posix() if below.is_relative_to(folder) else found


def _heading(metadata: Mapping[str, Any], text: str) -> str | None:
    """Return the heading path that a Markdown splitter of one of the frameworks noted."""
    if isinstance(given := metadata.get("heading_path"), str):
        return given
    numbered = {
        int(match[1]): value
        for key, value in metadata.items()
        if isinstance(value, str) and (match := _HEADER.fullmatch(str(key)))
    }
    if numbered:  # LangChain
        return " > ".join(f"{'#' * level} {title}" for level, title in sorted(numbered.items()))
    parents = metadata.get("parent_headers")
    if isinstance(metadata.get("header"), str):  # Haystack
        titles = [*(parents if isinstance(parents, list) else ()), metadata["header"]]
        return " > ".join(map(str, titles))
    if isinstance(above := metadata.get("header_path"), str):  # LlamaIndex, without the own heading
        own = _OWN_HEADING.match(text)
        titles = [title for title in above.split("/") if title]
        titles += [_without_closing(own[1])] if own else []
        return " > ".join(titles) or None
    return None


def _without_closing(heading: str) -> str:
    """Return a heading without the ``#`` that may end its line after a blank."""
    heading = heading.rstrip(" ")
    bare = heading.rstrip("#")
    return bare.rstrip(" ") if bare.endswith(" ") else heading


def _pages(metadata: Mapping[str, Any], *, from_zero: bool) -> tuple[int, ...] | None:
    index = metadata.get("page" if from_zero else "page_index")
    if not isinstance(index, str) and (whole := integer_or_none(plain(index))) is not None:
        return (whole + 1,)
    known = (integer_or_none(plain(metadata.get(name))) for name in _PAGES)
    return next(((number,) for number in known if number is not None), None)


def _first(metadata: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((metadata[n] for n in names if metadata.get(n) not in (None, "")), None)


def _number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]  # also numbers of NumPy
    except (TypeError, ValueError, OverflowError):
        return None
    return number if isfinite(number) else None
