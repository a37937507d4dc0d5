"""Matching of passages: paths, texts, headings, anchors, duplicates and scope.

Gold evidence is an anchor (document and heading path), never a chunk id, so that it survives
every change of chunking. All comparisons use the three normal forms of this module, which remove
only differences of spelling and, in headings, of markup. Pure functions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar
from urllib.parse import unquote

from pytest_rageval.values.case import Anchor
from pytest_rageval.values.record import ScoreSettings
from pytest_rageval.values.reply import AskResponse, Citation, RetrievedChunk

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_MARKUP: Final = re.compile(
    r"[*`\\]|(?<![^\W_])_|_(?![^\W_])|\]\(|\]\[|\[\^|&#?\w+;|<[A-Za-z/!?]|\}$"
)
"""Part of any text that is not all text."""
_ATTRIBUTES: Final = re.compile(r"(?: |^)\{:? ?(?=[#.]|-\}|[\w-]+=)[^{}]*\}$")
"""Block at the end of a heading, such as ``{#id .class}``, of Pandoc, kramdown and others."""
_FOOTNOTE: Final = re.compile(r"(?<=\S)\[\^[^\]\s]+\]|(?:^| )\[\^\d{1,3}\]")
_REFERENCE: Final = re.compile(r"(?<!\w)\[([^\[\]]+)\]\[([^\[\]]*)\]")
_TAG: Final = re.compile(r"<(?P<end>/?)(?P<name>[\w-]*)(?P<rest>.*)>$")
_PLAIN: Final = str.maketrans(
    dict.fromkeys("‘’‚‛‹›", "'") | dict.fromkeys("“”„‟«»", '"') | dict.fromkeys("‐‑‒–—―−", "-")
)


def heading_text(text: str) -> str:
    """Return a heading as a reader sees it, so that it equals the same heading printed as text.

    It is the text of CommonMark's inline rules, of links by reference too: emphasis, code, links
    and images become their text, escapes and entities what they stand for. Tags of HTML go, unless
    they are neither closed nor have attributes, as in ``Vec<T>`` and ``the <br> tag``. A closing
    block of attributes and footnote marks go; typographic quotes and dashes become plain. What code
    or escapes leave is read again, as its printed form would be.

    Args:
        text: on one line, without the ``#`` of its level. One of more than 1,000 characters is
            read as plain text.

    >>> heading_text("See [the **return** policy](return.md) {#returns}")
    'See the return policy'
    >>> heading_text("What’s new in `my_func`[^2]")
    "What's new in my_func"
    """
    if len(text) <= 1_000:
        for _ in range(5):
            if not _MARKUP.search(text) or (read := _read(text)) in {text, ""}:
                break
            text = read
    return text if text.isascii() else text.translate(_PLAIN)


def _read(text: str) -> str:
    from markdown_it.common.utils import normalizeReference

    text = _ATTRIBUTES.sub("", text)
    # Where a link by reference leads to stands elsewhere in the document.
    labels = [label or title for title, label in _REFERENCE.findall(text)]
    references = {normalizeReference(label): {"href": "#", "title": ""} for label in labels}
    [paragraph] = _parser().parseInline(text, {"references": references})
    tokens = paragraph.children or []
    tags = [_TAG.match(token.content) for token in tokens if token.type == "html_inline"]
    closed = {tag["name"] for tag in tags if tag and tag["end"]}
    return _FOOTNOTE.sub("", "".join(_texts(tokens, closed))).strip()


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # slow, and few headings need it

    return MarkdownIt("commonmark")


def _texts(tokens: Sequence[Token], closed: Container[str]) -> Iterator[str]:
    for token in tokens:
        tag = _TAG.match(token.content) if token.type == "html_inline" else None
        if token.type == "image":
            yield from _texts(token.children or (), closed)
        elif tag is None or not (tag["rest"].strip(" /") or tag["name"] in closed):
            yield token.content


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


_Named = TypeVar("_Named", RetrievedChunk, Citation)


def with_own_names(
    response: AskResponse, anchors: Iterable[Anchor], settings: ScoreSettings
) -> AskResponse:
    """Return a response whose chunks and references name documents as ``own_names`` does."""
    chunks, references = response.retrieved_chunks or (), response.references or ()
    anchors = tuple(anchors)
    own_chunks = own_names(chunks, anchors, settings)
    own_references = own_names(references, anchors, settings)
    if own_chunks is not chunks:
        response = replace(response, retrieved_chunks=tuple(own_chunks))
    if own_references is not references:
        response = replace(response, references=tuple(own_references))
    return response


def own_names(
    found: Sequence[_Named], anchors: Iterable[Anchor], settings: ScoreSettings
) -> Sequence[_Named]:
    """Return chunks or citations with the paths that the anchors of a case use.

    A path that an anchor names stays. Else the folder of ``strip_root`` that it lies in is taken
    off, and what its first or last ``#`` or ``?`` begins where an anchor names the rest. Names that
    were changed are not changed again.

    Args:
        found: returned itself if no path changes.
        anchors: golds and irrelevant supports of the case.
        settings: ``strip_root`` and ``path_case`` are used.
    """
    paths = [one.rel_path for one in found]
    if not settings.strip_root and not any("#" in path or "?" in path for path in paths if path):
        return found
    known = {norm_path(anchor.rel_path, settings.path_case) for anchor in anchors}
    own = [path and _own_name(path, known, settings) for path in paths]
    if own == paths:
        return found
    return [
        one if one.rel_path == path else replace(one, rel_path=path)
        for one, path in zip(found, own, strict=True)
    ]


def _own_name(path: str, known: Collection[str], settings: ScoreSettings) -> str:
    path_case = settings.path_case
    if norm_path(path, path_case) in known:
        return path
    parts = [part for part in path.replace("\\", "/").split("/") if part not in {"", "."}]
    for root in settings.strip_root:
        normal = norm_path(root, path_case)
        depth = normal.count("/") + 1
        if parts[depth:] and norm_path("/".join(parts[:depth]), path_case) == normal:
            path = "/".join(parts[depth:])
            break
    if norm_path(path, path_case) not in known:
        places = [match.start() for match in re.finditer(r"[#?]", path)]
        for place in {*places[:1], *places[-1:]}:
            if norm_path(path[:place], path_case) in known:
                return path[:place]
    return path


def without_roots(answer: str, roots: Iterable[str]) -> str:
    """Return an answer without the folders of ``strip_root`` before the paths that it writes.

    >>> without_roots("See [File: /srv/docs/a.md] and other/srv/docs/b.md.", ["/srv/docs"])
    'See [File: a.md] and other/srv/docs/b.md.'
    """
    for root in roots:
        folder = re.escape(root.rstrip("/\\"))
        answer = re.sub(rf"(?<![\w/.\\-]){folder}[/\\]+", "", answer)
    return answer
