"""Fitting text into a token budget: counting, cutting, packing with overlap."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

# About what sub-word tokenizers produce: words, long ones in parts, and each punctuation mark.
_TOKEN = re.compile(rb"(?:[0-9A-Za-z]|[\xc2-\xf4][\x80-\xbf]*){1,10}|[^\s0-9A-Za-z\x80-\xff]")
_SENTENCE_END = re.compile(rb"[.!?][\"')\]]*\s+|\n\s*")
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Span:
    """A range of bytes, end exclusive."""

    start: int
    end: int
    solid: bool = True
    """Whether overlap must take the whole of it or nothing (code, tables, list items)."""


def count_tokens(text: str | bytes) -> int:
    """Return the length of a text in tokens: words (long ones in tens) and punctuation marks.

    >>> count_tokens("Don't panic.")
    5
    """
    data = text.encode("utf-8", errors="replace") if isinstance(text, str) else text
    return len(_TOKEN.findall(data))


def split_prose(data: bytes, span: Span, max_tokens: int, *, by_line: bool) -> Iterator[Span]:
    """Cut a range at sentence ends (or only at line ends), so that no part passes the budget.

    A part that is still too long is cut between words, and a word without end between tokens.
    """
    piece = data[span.start : span.end]
    edge = _LINE_END if by_line else _SENTENCE_END
    cuts = [0, *(match.end() for match in edge.finditer(piece))]
    if cuts[-1] != len(piece):
        cuts.append(len(piece))
    for start, end in pairwise(cuts):
        yield from _cut_words(data, Span(span.start + start, span.start + end, by_line), max_tokens)


def _cut_words(data: bytes, span: Span, max_tokens: int) -> Iterator[Span]:
    start, count = span.start, 0
    word_start = span.start
    for match in _TOKEN.finditer(data, span.start, span.end):
        if match.start() > span.start and data[match.start() - 1 : match.start()].isspace():
            word_start = match.start()
        if count == max_tokens:
            # Back to where the word began, unless the piece would then be empty.
            cut = word_start if word_start > start else match.start()
            yield Span(start, cut, span.solid)
            count = count_tokens(data[cut : match.start()])
            start = cut
        count += 1
    yield Span(start, span.end, span.solid)


def pack_spans(data: bytes, spans: Sequence[Span], max_tokens: int, overlap: int) -> Iterator[Span]:
    """Join neighbouring spans into the longest runs within the budget, each overlapping the last.

    Args:
        data: The bytes the spans point into.
        spans: Contiguous, in order, each within the budget.
        max_tokens: Budget of a run, overlap included.
        overlap: Most tokens of the previous run to repeat.
    """
    sizes = [count_tokens(data[span.start : span.end]) for span in spans]
    start, used, first = spans[0].start, 0, True
    for index, (span, size) in enumerate(zip(spans, sizes, strict=True)):
        if used + size > max_tokens and not first:
            yield Span(start, span.start)
            room = min(overlap, max_tokens - size)
            start = _overlap_start(data, spans, sizes, index, start, room)
            used = count_tokens(data[start : span.start])
        used += size
        first = False
    yield Span(start, spans[-1].end)


def _overlap_start(
    data: bytes, spans: Sequence[Span], sizes: Sequence[int], index: int, floor: int, room: int
) -> int:
    """Return where the run of span `index` starts if it repeats at most `room` earlier tokens."""
    start = spans[index].start
    for before in range(index - 1, -1, -1):
        span, size = spans[before], sizes[before]
        if span.start <= floor:
            break
        if size <= room:
            start, room = span.start, room - size
            continue
        if not span.solid:
            start = _tail_start(data, span, room)
        break
    return start


def _tail_start(data: bytes, span: Span, room: int) -> int:
    """Return where the last `room` tokens of a span start, moved on to the start of a word."""
    tokens = [match.start() for match in _TOKEN.finditer(data, span.start, span.end)]
    for position in tokens[max(0, len(tokens) - room) :] if room > 0 else []:
        if data[position - 1 : position].isspace():
            return position
    return span.end
