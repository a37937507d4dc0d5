"""Citations in the forms of other systems, rewritten into those of this package. Pure.

``[doc1]`` becomes ``[1]``, and ``[a.md]`` becomes ``[File: a.md]`` (docs/site/metrics.toml). R2R
asks its model for the first seven characters of an id, LlamaIndexServer for ``[citation:ID]``. The
answer of a record stays as delivered; scores and judges see the rewritten one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import islice, takewhile
from typing import Final

from pytest_rageval.metrics.matching import PathCase, norm_path
from pytest_rageval.metrics.prepared import Span, cited_numbers, merged, numbers_pattern
from pytest_rageval.values.record import CitationMarkers
from pytest_rageval.values.reply import AskResponse, Citation, RetrievedChunk
from pytest_rageval.values.settings import Counted

_SHORTEST: Final = 6
"""Characters of the beginning of an id that name its chunk."""
_MARKER: Final = re.compile(
    r"[\[【]{1,2}\s?([^\[\]【】()\n]{2,600}?)\s?[\]】]{1,2}|\(\s?(citation\s?:[^()\[\]\n]{1,600})\)",
    re.I,
)
_SEPARATOR: Final = re.compile(
    r"\s*[,;、]\s*(?:and\s+)?|\s+(?:and|&)\s+|\s+(?=citation\s?:)", re.IGNORECASE
)
_PREFIX: Final = re.compile(
    r"(?:(citations?|cite)|sources?|ref(?:erence)?s?|chunks?|doc(?:ument)?s?|nodes?|passages?"
    r"|(?:chunk|node|doc|source)?[_ ]?ids?)\s?[:=#]\s?",
    re.IGNORECASE,
)
_HEX: Final = re.compile(
    r"(?=[a-f-]{0,40}[0-9])(?=[0-9-]{0,40}[a-f])[0-9a-f]{6,40}(?:-[0-9a-f]{1,12}){0,4}"
)
_ID_LIKE: Final = re.compile(r"(?=\D{0,200}\d|[a-f]{6,}$).{6,}", re.IGNORECASE)
"""A beginning that is not a word of prose."""


class ChunkIds:
    """The ids of the chunks of one response, which citations name.

    Args:
        chunks: in rank order.
    """

    def __init__(self, chunks: Sequence[RetrievedChunk]) -> None:
        self._chunks = chunks

    def markers(self, answer: str) -> Iterator[Span]:
        """Yield the citations by id; one of a chunk that was not retrieved is read as ``[0]``."""
        if not _MARKER.search(answer) or not (self._ranks or "citation" in answer.lower()):
            return
        for found in _MARKER.finditer(answer):
            parts = _SEPARATOR.split(found[1] or found[2])
            read = [self._read(part) for part in parts if part.strip()]
            if read and None not in read:
                yield Span("marker", *found.span(), "".join(filter(None, read)))

    def _read(self, part: str) -> str | None:
        part = part.strip(" \t`\"'*^")
        prefix = _PREFIX.match(part)
        name = part[prefix.end() :] if prefix else part
        name = name.rstrip(".…").strip("`\"'").lower()
        if not name:
            return None
        rank = self._ranks.get(name)
        if rank is not None and (prefix or not name.isdecimal() or len(name) > 3):
            return _number(rank)
        if _ID_LIKE.fullmatch(name) and (cited := self._beginning(name)) is not None:
            return cited
        if prefix and prefix[1]:
            return _number(int(name)) if name.isdecimal() and len(name) < 4 else "[0]"
        return "[0]" if self._hexadecimal and _HEX.fullmatch(name) else None

    def _beginning(self, name: str) -> str | None:
        """Return the chunk whose id begins so, or the document of several; None if absent."""
        at = bisect_left(self._sorted, name)
        ids = list(takewhile(lambda one: one.startswith(name), self._sorted[at : at + 100]))
        ranks = sorted(self._ranks[one] for one in ids)
        paths = {self._chunks[rank - 1].rel_path for rank in ranks}
        if len(paths) != 1:
            return None
        if len(ranks) == 1:
            return _number(ranks[0])
        return f"[File: {paths.pop()}]"

    @cached_property
    def _ranks(self) -> Mapping[str, int]:
        """Ranks of the chunks by their ids, the first of several."""
        ranks: dict[str, int] = {}
        for rank, chunk in enumerate(self._chunks, 1):
            if chunk.chunk_id:
                ranks.setdefault(chunk.chunk_id.lower(), rank)
        return ranks

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._ranks)

    @cached_property
    def _hexadecimal(self) -> bool:
        """Whether every id is of the kind that a generator writes, which no word is."""
        return all(map(_HEX.fullmatch, self._ranks)) and bool(self._ranks)


def _number(rank: int) -> str:
    return f"[{rank if rank < 1000 else 0}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """One form of a citation."""

    pattern: str
    """That of a preset begins with a fixed character. Its groups: ``n``, all of whose numbers
    count; ``path`` and ``section``; ``text``, which the marker surrounds and which is kept."""
    first: int = 1
    """Number of the first passage."""
    counts: Counted = "chunks"
    """List that the numbers count."""
    only_known: bool = False
    """Whether a path must be that of a retrieved chunk or a reference."""


_NUMBERS: Final = numbers_pattern("")
_DOC: Final = numbers_pattern(r"(?i:doc)\s?")
_ID: Final = numbers_pattern(r"(?i:ID)\s?:\s?")
_FOOTNOTE: Final = numbers_pattern(r"\^")
_SOURCE: Final = numbers_pattern(r"(?:(?i:sources?|documents?|passages?)\s?:?\s?#?|#)")
_NAME: Final = r"(?!\s?(?i:File)\s?:)[^\[\]()|\n]{1,200}\.[A-Za-z]\w{0,7}"
_DOCUMENT: Final = (
    r"(?!\s?(?i:File)\s?:)[^\[\]()|\n]{1,200}\.(?i:md|mdx|markdown|txt|text|rst|adoc|org|tex|pdf|docx?"
    r"|odt|rtf|pptx?|odp|xlsx?|ods|csv|tsv|html?|xml|jsonl?|ya?ml|toml|epub|eml|msg|ipynb|log)"
)
"""A name of a kind that documents have: ``Node.js`` and ``obj.name`` have none."""
_LINKED: Final = r"(?:\([^()\s]{1,500}\))?"

PRESETS: Final[Mapping[str, tuple[Marker, ...]]] = {
    "doc": (Marker(pattern=rf"\[{_DOC}\]"),),
    "id": (
        Marker(pattern=rf"\[{_ID}\]", first=0),
        Marker(pattern=r"\#\#(?P<n>\d{1,3})\$\$", first=0),
    ),
    "openai": (
        Marker(pattern=r"【(?:\d{1,4}:)?(?P<n>\d{1,3})†(?P<path>[^【】\n]{1,200})】", first=0),
    ),
    "footnote": (Marker(pattern=rf"\[{_FOOTNOTE}\](?!:)"),),
    "source": (
        Marker(pattern=rf"\[\s?(?!#){_SOURCE}\s?\]"),
        Marker(pattern=rf"\(\s?(?!#){_SOURCE}\s?\)"),
    ),
    "path": (
        Marker(pattern=rf"\[(?P<path>{_NAME})\]{_LINKED}", only_known=True),
        Marker(pattern=rf"\[(?P<path>{_DOCUMENT})\]{_LINKED}"),
        Marker(pattern=rf"\((?P<path>{_NAME})\)", only_known=True),
    ),
    "cite": (
        Marker(
            pattern=r"<cite\s+index\s?=\s?[\"']?(?P<n>\d{1,3})[^<>]{0,100}>(?P<text>[^<>]{0,800})"
            r"</cite\s?>",
            first=0,
        ),
        Marker(
            pattern=r"<cite\s+(?:id|source|doc|ref)\s?=\s?[\"']?(?P<n>\d{1,3})[\"']?\s?"
            r"(?:/>|>(?P<text>[^<>]{0,800})</cite\s?>)"
        ),
        Marker(pattern=rf"<cite>\s?\[?{_NUMBERS}\]?\s?</cite\s?>"),
        Marker(pattern=r"<cite>(?P<path>[^<>\n]{1,300})</cite\s?>"),
    ),
    "file": (),
}
"""Forms by name. ``file`` is ``File: a.md, Section: B`` and ``[1]``, which are always read."""

_PATH_LIKE: Final = re.compile(r"/|\S\.[A-Za-z]\w{0,7}$")
_PATHS: Final = re.compile(r"\s?[,;]\s+")
_UNSAFE: Final = re.compile(r"[\[\]\n]|[,;]\s*(?:File|Section)\s*:", re.IGNORECASE)
_ENTRY: Final = re.compile(
    r"^[ \t>*_+•·–#|-]*(?:\d{1,3}[.)][ \t]+)?"
    r"(?:[^\W\d][^\n:：]{0,40}[:：][*_ \t]*(?=\S))?(?P<entry>[^\n]{1,500}?)[ \t]*$",
    re.MULTILINE,
)
_ENTRY_NUMBER: Final = re.compile(r"[\[(]\^?\d{1,3}[\])]:?\s*")
_ENTRY_PART: Final = re.compile(r"[^\s,;][^,;\n]*(?<=\S)")
_ENTRY_LINK: Final = re.compile(r"\[([^\[\]\n]{1,300})\]\(([^()\s]{1,500})\)")
_ENTRY_TAIL: Final = re.compile(r"\s+[-–—(|]|[,;:]\s")
_GROUPS: Final = frozenset({"n", "path", "section", "text"})


@dataclass(frozen=True, slots=True)
class _Reader:
    regex: re.Pattern[str]
    start: str
    """First character of what it matches; empty: any."""
    window: int
    marker: Marker


def check_pattern(pattern: str) -> None:
    """Check a pattern of the user.

    Raises:
        ValueError: it is not a regular expression, has no group ``n`` or ``path``, or has others.
    """
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"not a regular expression: {error}") from None
    names = set(compiled.groupindex)
    if not names & {"n", "path"} or names - _GROUPS:
        found = ", ".join(sorted(names)) or "none"
        raise ValueError(
            "expected a group (?P<n>...) for a number or (?P<path>...), and besides them only "
            f"section and text; its groups: {found}"
        )


def find_markers(
    response: AskResponse,
    chunks: Sequence[RetrievedChunk] | None,
    markers: CitationMarkers | None,
    path_case: PathCase = "sensitive",
    *,
    listed: tuple[int, int] | None = None,
) -> list[Span]:
    """Find the citations of an answer that are not in the package's own form.

    These are the configured forms; ids of chunks, which are always read; and, in a closing list of
    sources, the names of what is known. A number beyond the list that it counts is read as ``[0]``,
    which names nothing. A path that is not like one and that nothing known has is not a citation.

    Args:
        response: response of the target.
        chunks: its chunks in rank order; None: not reported, so numbers of chunks mean nothing.
        markers: presets and pattern; None: none.
        path_case: comparison of paths.
        listed: range of the closing list of sources.
    """
    readers = () if markers is None else _readers(markers)
    answer = response.answer
    sources = _Sources(chunks, response.references or (), path_case)
    found: list[Span] = []
    done = 0
    for at in _places(readers, answer):
        if at < done:
            continue
        for reader in readers:
            match = reader.start in ("", answer[at]) and reader.regex.match(
                answer, at, min(len(answer), at + reader.window)
            )
            if match and (read := sources.rewritten(match, reader.marker)) is not None:
                done = match.end()
                found.append(Span("marker", at, done, read))
                break
    found = merged(found, ChunkIds(chunks or ()).markers(answer))
    return found if listed is None else merged(found, sources.named_in_list(answer, *listed))


def _places(readers: Sequence[_Reader], answer: str) -> list[int]:
    """Return the places of an answer at which a marker may begin, in their order."""
    places: set[int] = set()
    if fixed := "".join(sorted({reader.start for reader in readers})):
        opening = re.compile(f"[{re.escape(fixed)}]")
        places.update(one.start() for one in islice(opening.finditer(answer), 2000))
    for reader in readers:
        if not reader.start:
            places.update(range(min(len(answer), 20_000)))
    return sorted(places)


@cache
def _readers(markers: CitationMarkers) -> tuple[_Reader, ...]:
    forms = [(form, 1200) for name in markers.presets for form in PRESETS.get(name, ())]
    if markers.pattern is not None:
        forms.insert(0, (Marker(pattern=markers.pattern), 300))
    found = []
    for form, window in forms:
        first = form.first if markers.first is None else markers.first
        marker = replace(form, first=first, counts=markers.counts or form.counts)
        start = "" if form.pattern == markers.pattern else form.pattern.lstrip("\\")[0]
        found.append(_Reader(re.compile(form.pattern), start, window, marker))
    return tuple(found)


class _Sources:
    """Chunks and references of one response, which markers name."""

    def __init__(
        self,
        chunks: Sequence[RetrievedChunk] | None,
        references: Sequence[Citation],
        path_case: PathCase,
    ) -> None:
        self._chunks = chunks or ()
        self._references = references
        self._path_case = path_case

    @cached_property
    def _paths(self) -> Mapping[str, str]:
        """Paths as they were first written, by their normal form."""
        paths: dict[str, str] = {}
        found: list[RetrievedChunk | Citation] = [*self._chunks, *self._references]
        for one in found:
            if one.rel_path is not None:
                paths.setdefault(norm_path(one.rel_path, self._path_case), one.rel_path)
        return paths

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """Normal forms of paths by their last part, where it is that of one alone."""
        last = {path: path.rpartition("/")[2] for path in self._paths}
        uses = Counter(last.values())
        return {name: path for path, name in last.items() if uses[name] == 1}

    @cached_property
    def _documents(self) -> Sequence[Citation]:
        """The documents of the chunks, each once, with the rank of its first chunk."""
        first: dict[str, Citation] = {}
        for rank, chunk in enumerate(self._chunks, 1):
            one = Citation(rel_path=chunk.rel_path, chunk_rank=rank)
            first.setdefault(norm_path(chunk.rel_path, self._path_case), one)
        return [*first.values()]

    def rewritten(self, found: re.Match[str], marker: Marker) -> str | None:
        """Return a marker in our own form; None: it is not a citation."""
        groups = found.groupdict()
        own = None
        if groups.get("path"):
            # Beside a number a path decides only if it is known: "source" is the name of none.
            only_known = marker.only_known or bool(groups.get("n"))
            own = self._named(groups["path"], groups.get("section"), only_known=only_known)
        if own is None and (numbers := cited_numbers(groups.get("n") or "", marker.first)):
            own = "".join(self._numbered(numbers, marker))
        if own is None:
            return None
        text = groups.get("text") or ""
        return f"{text} {own}" if text else own

    def _named(self, written: str, section: str | None, *, only_known: bool) -> str | None:
        whole = self._known(written)
        paths = [whole] if whole is not None else []
        for part in () if paths else _PATHS.split(written.strip()):
            like_one = not only_known and _PATH_LIKE.search(part.strip())
            paths.append(self._known(part) or (part.strip() if like_one else ""))
        if not all(paths) or _UNSAFE.search(written) or any(map(_UNSAFE.search, paths)):
            return None
        heading = f", Section: {section}" if section and not _UNSAFE.search(section) else ""
        return "".join(f"[File: {path}{heading}]" for path in paths)

    def named_in_list(self, answer: str, start: int, end: int) -> Iterator[Span]:
        """Yield the names of chunks and references in a closing list, with their numbers."""
        if not self._paths:
            return
        for line in _ENTRY.finditer(answer, start, end):
            whole = line.span("entry")
            found = [*self._named_entry(answer, *whole, whole=True)]
            for part in () if found else _ENTRY_PART.finditer(answer, *whole):
                found += self._named_entry(answer, *part.span(), whole=False)
            yield from found

    def _named_entry(self, answer: str, start: int, end: int, *, whole: bool) -> Iterator[Span]:
        number = _ENTRY_NUMBER.match(answer, start, end)
        name = answer[number.end() if number else start : end]
        path = next(filter(None, map(self._known, _names(name, whole=whole))), None)
        if path is not None and not _UNSAFE.search(path):
            yield Span("marker", start, end, f"[File: {path}]")

    def _known(self, written: str) -> str | None:
        """Return the path of a chunk or reference that is written in full or by its last part."""
        path = norm_path(written.strip(), self._path_case)
        if path not in self._paths and "/" not in path:
            path = self._names.get(path, path)
        return self._paths.get(path)

    def _numbered(self, numbers: Sequence[int], marker: Marker) -> Iterator[str]:
        for number in numbers:
            at = number - marker.first
            if marker.counts == "chunks":
                yield f"[{at + 1 if 0 <= at < min(len(self._chunks), 999) else 0}]"
            else:
                listed = self._references if marker.counts == "references" else self._documents
                yield _reference(listed[at] if 0 <= at < len(listed) else None)


def _names(written: str, *, whole: bool) -> Iterator[str]:
    """Yield what may be the name of a document in an entry of a list, or in a part of it."""
    yield from (name for link in _ENTRY_LINK.finditer(written) for name in link.groups())
    name = written if whole else _ENTRY_TAIL.split(written, maxsplit=1)[0]
    yield name.strip(" \t*_`\"'.")


def _reference(one: Citation | None) -> str:
    if one is None or one.rel_path is None:
        return "[0]"
    heading = f", Section: {one.heading_path}" if one.heading_path else ""
    if _UNSAFE.search(one.rel_path + (one.heading_path or "")):
        # A reference counts anyway; a document of the chunks is named by the first of them.
        return f"[{one.chunk_rank}]" if one.chunk_rank else ""
    return f"[File: {one.rel_path}{heading}]"
