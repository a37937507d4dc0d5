"""Citations of an answer: its references, and those written in its text.

Defined in docs/metrics.md#citations.

Read from text: ``[File: path.md, Section: heading]``, ``(File: path.md, Section: heading)``,
``[path.md, Section: heading]`` and numbers such as ``[1]`` or ``[1, 3]`` that index the retrieved
chunks. Pure functions on the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pytest_rageval.metrics.matching import PathCase, Segments, norm_heading, norm_path
from pytest_rageval.values.reply import AskResponse, Citation, RetrievedChunk

# One level of nesting, because headings hold brackets: "(File: a.md, Section: Setup (Linux))".
# The limits keep an answer full of opening brackets linear.
_IN_SQUARE: Final = r"(?:[^\[\]\n]|\[[^\[\]\n]{0,200}\]){1,600}"
_IN_ROUND: Final = r"(?:[^()\n]|\([^()\n]{0,200}\)){1,600}"
_WRITTEN: Final = re.compile(
    r"\[(?P<numbers>\s*[0-9]{1,3}(?:\s*[,;]\s*[0-9]{1,3})*\s*)\]"
    rf"|\[(?P<square>\s*File\s*:{_IN_SQUARE})\]"
    rf"|\((?P<round>\s*File\s*:{_IN_ROUND})\)"
    rf"|\[(?P<bare>[^\[\]\n]{{1,300}}?,\s*Section\s*:{_IN_SQUARE})\]",
    re.IGNORECASE,
)
_NEXT: Final = re.compile(
    r"[;,]\s*(?=File\s*:)|;\s*(?=[^;,]+\.\w{1,8}\s*,\s*Section\s*:)", re.IGNORECASE
)
_SECTION: Final = re.compile(r"[,;|]\s*Section\s*:", re.IGNORECASE)
_FILE: Final = re.compile(r"\s*File\s*:", re.IGNORECASE)
# Without "File:" only what looks like a path is one: "[see above, Section: 3]" is prose.
_PATH_LIKE: Final = re.compile(r"/|\S\.\w{1,8}$")
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_QUOTE_PAIRS: Final = ("``", "''", '""', "**", "__", "“”", "‘’", "«»")


def read_citations(
    response: AskResponse,
    chunks: Sequence[RetrievedChunk] | None,
    path_case: PathCase = "sensitive",
) -> tuple[Citation, ...] | None:
    """Return the distinct citations of a response, references first.

    Args:
        response: of the target.
        chunks: its retrieved chunks in rank order; None: not reported.
        path_case: how paths compare.

    Returns:
        None where the target reports no references and its text cites nothing; empty where it
        reports an empty list.
    """
    written = tuple(text_citations(response.answer, chunks, path_case))
    if response.references is None and not written:
        return None
    return distinct_citations((*(response.references or ()), *written), path_case)


def text_citations(
    answer: str, chunks: Sequence[RetrievedChunk] | None, path_case: PathCase = "sensitive"
) -> Iterator[Citation]:
    """Yield the citations written in an answer, in order, repeats included.

    Args:
        answer: the answer as delivered.
        chunks: retrieved chunks in rank order; None (not reported) leaves numbers unread, since
            nothing tells what they count.
        path_case: how paths compare when a section name is looked up.
    """
    if "[" not in answer and "(" not in answer:
        return
    prose = _CODE.sub(lambda match: " " * len(match.group()), answer)
    for match in _WRITTEN.finditer(answer):
        numbers = match.group("numbers")
        if numbers is None:
            content = match.group("square") or match.group("round") or match.group("bare")
            yield from _named(content, chunks or (), path_case)
        elif chunks is not None and prose[match.start()] == "[":  # "items[0]" in code is none
            yield from (_numbered(int(n), chunks) for n in re.findall("[0-9]+", numbers))


def _numbered(number: int, chunks: Sequence[RetrievedChunk]) -> Citation:
    if not 1 <= number <= len(chunks):
        return Citation(rel_path=None)
    chunk = chunks[number - 1]
    return Citation(rel_path=chunk.rel_path, heading_path=chunk.heading_path, vault=chunk.vault)


def _named(
    content: str, chunks: Sequence[RetrievedChunk], path_case: PathCase
) -> Iterator[Citation]:
    for part in _NEXT.split(content):
        marker = _FILE.match(part)
        path, *section = _SECTION.split(part[marker.end() :] if marker else part, maxsplit=1)
        path = _unquote(path)
        if path and (marker or (section and _PATH_LIKE.search(path))):
            heading = _unquote(section[0]) if section else ""
            yield _resolve(path, heading or None, chunks, path_case)


def _unquote(text: str) -> str:
    """Trim blanks and the quotes or emphasis that models put around names."""
    text = text.strip()
    while len(text) > 1 and text[0] + text[-1] in _QUOTE_PAIRS:
        text = text[1:-1].strip()
    return text


def _resolve(
    path: str, section: str | None, chunks: Sequence[RetrievedChunk], path_case: PathCase
) -> Citation:
    """Find the retrieved chunk whose heading path ends with a section name, best rank first."""
    wanted, normal = norm_heading(section), norm_path(path, path_case)
    for chunk in chunks:
        found = norm_heading(chunk.heading_path)
        if wanted and found and norm_path(chunk.rel_path, path_case) == normal:
            if found[-len(wanted) :] == wanted:
                return Citation(rel_path=path, heading_path=chunk.heading_path, vault=chunk.vault)
    return Citation(rel_path=path, heading_path=section)


def distinct_citations(
    citations: Iterable[Citation], path_case: PathCase = "sensitive"
) -> tuple[Citation, ...]:
    """Drop every citation whose normalised path and heading an earlier one has.

    Citations of nothing count once. Vaults tell citations apart only where both are known.
    """
    seen: dict[tuple[str | None, Segments | None], list[str | None]] = {}
    kept = []
    for citation in citations:
        path = None if citation.rel_path is None else norm_path(citation.rel_path, path_case)
        vaults = seen.setdefault((path, norm_heading(citation.heading_path)), [])
        if not any(v is None or citation.vault is None or v == citation.vault for v in vaults):
            kept.append(citation)
            vaults.append(citation.vault)
    return tuple(kept)
