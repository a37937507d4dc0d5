"""Citations that name a chunk by its id, or the beginning of it: ``[c910e2e]``. Pure.

R2R asks its model for the first seven characters of an id, LlamaIndexServer for ``[citation:ID]``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Final

from pytest_rageval.metrics.prepared import Span
from pytest_rageval.values.reply import RetrievedChunk

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
