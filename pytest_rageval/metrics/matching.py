"""Matching of passages: paths, texts, headings, anchors, duplicates and scope.

Gold evidence is an anchor (document and heading path), never a chunk id, so that it survives
every change of chunking. All comparisons use the three normal forms of this module, which remove
only differences of spelling and, in headings, of markup. Pure functions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, Literal
from urllib.parse import unquote

from pytest_rageval.metrics.headings import heading_text
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import Citation, RetrievedChunk

PathCase = Literal["sensitive", "insensitive"]
Segments = tuple[str, ...]
DocumentKey = tuple[str | None, str]
"""Vault (None: not reported) and normalised path of a document."""

INVISIBLE: Final = str.maketrans("", "", "\u200b\ufeff\u00ad")
"""Table for ``str.translate`` that removes characters without a width."""
# A ">" with blank or string end on both sides, or glued to an ATX marker ("Setup>## Usage").
_SEPARATOR: Final = re.compile(r"(?<!\S)>(?!\S)|>(?=#{1,6} )")
_ATX: Final = re.compile(r"#{1,6} (.*)")
_ATX_CLOSER: Final = re.compile(r" #+(?=(?: \{[^{}]*\})?$)")
_SPACES: Final = re.compile(r"\s{2,}|[^\S ]")
_EVERYTHING: Final = frozenset({"", "*"})


def fold(text: str) -> str:
    """Canonical caseless form, Unicode D145, composed."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())


@lru_cache(maxsize=8192)
def norm_path(path: str, path_case: PathCase = "sensitive") -> str:
    r"""Return the normal form of a path: ``./docs//a%20b.md`` is ``docs\a b.md``.

    Percent-decodes once (left alone unless it gives valid UTF-8), turns ``\`` into ``/``, trims,
    composes (NFC), drops empty and ``.`` segments and resolves ``..`` lexically. A leading ``..``
    stays, so it matches nothing inside the corpus; a leading ``/`` is the corpus root. Neither
    extension nor ``#fragment`` is stripped.

    Args:
        path: path as written by the case or the target.
        path_case: ``insensitive`` folds case as well.
    """
    try:
        path = unquote(path, errors="strict")
    except UnicodeDecodeError:
        pass
    path = unicodedata.normalize("NFC", path.replace("\\", "/").strip())
    kept: list[str] = []
    for segment in path.split("/"):
        if segment in {"", "."}:
            continue
        if segment == ".." and kept and kept[-1] != "..":
            kept.pop()
        else:
            kept.append(segment)
    joined = "/".join(kept)
    return fold(joined) if path_case == "insensitive" else joined


def norm_text(text: str) -> str:
    """Return text for caseless comparison: no invisible characters, single spaces, trimmed.

    Quotes, dashes and compatibility characters stay as they are: a snippet is a quotation.
    """
    folded = fold(text.translate(INVISIBLE))
    if len(folded) > 100_000:  # a list of its words would take twenty times its memory
        return _SPACES.sub(" ", folded).strip()
    return " ".join(folded.split())


@lru_cache(maxsize=8192)
def norm_heading(heading_path: str | None) -> Segments | None:
    """Split a heading path into normalised segments, outermost first.

    ``# Setup>##  Embeddings ##`` and ``Setup > Embeddings`` are both ``("setup", "embeddings")``.
    The number of ``#`` is ignored: depth is the position. Segments are read without their Markdown.

    Returns:
        The segments, ``()`` for an empty path, None for None (not reported).
    """
    if heading_path is None:
        return None
    segments = []
    for raw in _SEPARATOR.split(" ".join(heading_path.split())):
        segment = raw.strip()
        if marker := _ATX.fullmatch(segment):
            segment = _ATX_CLOSER.sub("", marker.group(1))
        if normal := norm_text(heading_text(segment)):
            segments.append(normal)
    return tuple(segments)


def anchor_segments(anchor: Anchor) -> Segments:
    """Return the heading segments of an anchor; ``()`` is the whole document."""
    return norm_heading(anchor.heading_path) or ()


def document_key(where: Anchor | RetrievedChunk, path_case: PathCase = "sensitive") -> DocumentKey:
    """Return the key of the document of a passage."""
    return where.vault, norm_path(where.rel_path, path_case)


def document_keys(
    chunks: Iterable[RetrievedChunk], path_case: PathCase = "sensitive"
) -> list[DocumentKey]:
    """Return ``document_key`` of every chunk."""
    return [(chunk.vault, norm_path(chunk.rel_path, path_case)) for chunk in chunks]


def same_document(one: DocumentKey, other: DocumentKey) -> bool:
    """Return whether two keys name one document; vaults count only if both are known."""
    return one[1] == other[1] and vaults_agree(one[0], other[0])


def vaults_agree(one: str | None, other: str | None) -> bool:
    """Return whether two vaults are the same, as far as both are known."""
    return one is None or other is None or one == other


def starts_with(segments: Segments, prefix: Segments) -> bool:
    """Return whether a heading path is at or below another, segment by segment."""
    return segments[: len(prefix)] == prefix


def order_chunks(chunks: Sequence[RetrievedChunk]) -> tuple[RetrievedChunk, ...]:
    """Return chunks in rank order: by ``rank`` if every chunk has one (stably), else as listed.

    Scores do not reorder chunks: the order that the generator received is judged.
    """
    ranks: list[Any] = [chunk.rank for chunk in chunks]
    if None in ranks or ranks == sorted(ranks):  # usually in order already
        return tuple(chunks)
    return tuple(sorted(chunks, key=lambda chunk: chunk.rank or 0))


def _holds_snippets(anchor: Anchor, text: str | None, *, every: bool) -> bool:
    if text is None:
        return False
    haystack = norm_text(text)
    found = (norm_text(snippet) in haystack for snippet in anchor.snippets)
    return all(found) if every else any(found)


def matches_anchor(anchor: Anchor, chunk: RetrievedChunk, settings: ScoreSettings) -> bool:
    """Return whether a chunk is at an anchor by its headings (docs/matching.md#matching).

    Args:
        anchor: gold or irrelevant support.
        chunk: a chunk, with its full text if snippets are read.
        settings: ``path_case``, ``snippets`` and ``coarse_chunks`` are used.
    """
    case = settings.path_case
    if not same_document(document_key(anchor, case), document_key(chunk, case)):
        return False
    return matches_section(anchor, chunk, settings)


def matches_section(anchor: Anchor, chunk: RetrievedChunk, settings: ScoreSettings) -> bool:
    """``matches_anchor`` of a chunk in the document of the anchor."""
    wanted = anchor_segments(anchor)
    found = norm_heading(chunk.heading_path) or ()
    if found[: len(wanted)] == wanted:
        if settings.snippets == "off" or not anchor.snippets:
            return True
        return _holds_snippets(anchor, chunk.text, every=settings.snippets == "all")
    coarser = settings.coarse_chunks and bool(anchor.snippets) and starts_with(wanted, found)
    return coarser and _holds_snippets(anchor, chunk.text, every=True)


def text_hash(text: str) -> str:
    """Return the hash of a normalised text: 16 hex digits of a SHA-256."""
    # Half a surrogate pair has no UTF-8 form.
    return sha256(norm_text(text).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def duplicate_flags(
    chunks: Sequence[RetrievedChunk], path_case: PathCase = "sensitive"
) -> tuple[bool, ...]:
    """Flag every chunk that is a later copy of an earlier one.

    A copy has the same document and ``chunk_id``; without ids the same document, heading and
    text. Chunks with neither id nor text are never copies, and neither are different chunks of
    one section.
    """
    ids = {chunk.chunk_id for chunk in chunks}
    if len(ids) == len(chunks) and all(ids):  # nearly always
        return (False,) * len(chunks)
    seen: set[tuple[object, ...]] = set()
    flags = []
    for chunk in chunks:
        key: tuple[object, ...] | None = None
        document = document_key(chunk, path_case)
        if chunk.chunk_id:
            key = ("id", document, chunk.chunk_id)
        elif chunk.text is not None:
            heading = norm_heading(chunk.heading_path) or ()
            text = norm_text(chunk.text) if chunk.text_hash is None else None
            key = ("text", document, heading, text, chunk.text_hash)
        flags.append(key is not None and key in seen)
        if key is not None:
            seen.add(key)
    return tuple(flags)


def citation_points_into(
    citation: Citation, anchor: Anchor, path_case: PathCase = "sensitive"
) -> bool:
    """Return whether a citation points into an anchor; without a heading, at its document.

    Snippets are ignored.
    """
    if citation.rel_path is None:
        return False
    if norm_path(citation.rel_path, path_case) != norm_path(anchor.rel_path, path_case):
        return False
    if not vaults_agree(citation.vault, anchor.vault):
        return False
    segments = norm_heading(citation.heading_path)
    return segments is None or starts_with(segments, anchor_segments(anchor))


def citation_in_chunks(
    citation: Citation, chunks: Sequence[RetrievedChunk], path_case: PathCase = "sensitive"
) -> bool:
    """Return whether a citation points at any of several chunks.

    The chunk must be at or below the cited heading; if either heading is not reported, the same
    document suffices.
    """
    return next(cited_ranks(citation, chunks, path_case), None) is not None


def cited_ranks(
    citation: Citation, chunks: Sequence[RetrievedChunk], path_case: PathCase = "sensitive"
) -> Iterator[int]:
    """Yield the places, from 1, of the chunks that a citation points at."""
    if citation.rel_path is None:
        return
    path, segments = norm_path(citation.rel_path, path_case), norm_heading(citation.heading_path)
    for place, chunk in enumerate(chunks, start=1):
        same = norm_path(chunk.rel_path, path_case) == path
        if same and vaults_agree(citation.vault, chunk.vault):
            found = norm_heading(chunk.heading_path)
            if segments is None or found is None or starts_with(found, segments):
                yield place


def in_scope(rel_path: str, folders: Sequence[str], path_case: PathCase = "sensitive") -> bool:
    """Return whether a document is below one of the folders, segment by segment.

    ``notes`` does not contain ``notes-archive/x.md``, and a file is not a folder. An empty
    folder, ``.``, ``/`` or ``*`` contains everything.
    """
    path = norm_path(rel_path, path_case)
    normal = (norm_path(folder, path_case) for folder in folders)
    return any(folder in _EVERYTHING or path.startswith(f"{folder}/") for folder in normal)
