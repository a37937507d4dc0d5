"""Splitting of Markdown into chunks with heading path, lines and bytes.

A note is cut at its headings; a section over the token budget is cut again between blocks.
Positions refer to the file as it is on disk (line ends, BOM and all), so a chunk's text is exactly
the bytes of its range.
"""

from __future__ import annotations

import bisect
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise

import markdown_it
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

CHUNKER_VERSION = f"heading-1+markdown-it-{markdown_it.__version__}"

_BOM = b"\xef\xbb\xbf"
_PROSE = frozenset({"paragraph"})
_LEAVES = _PROSE | {"heading"}
"""Blocks whose only child is their text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A passage of one note."""

    chunk_id: str
    """32 hex digits of vault, path, heading path, byte range and text."""
    vault: str
    rel_path: str
    heading_path: str
    """`# Title > ## Section`; empty for text before the first heading."""
    chunk_index: int
    """Position in its note, from 0."""
    start_line: int
    """First line, from 1."""
    end_line: int
    """Last line, inclusive."""
    start_byte: int
    end_byte: int
    """Past the last byte."""
    text: str
    token_count: int


@dataclass(frozen=True, slots=True)
class _Section:
    heading_path: str
    span: Span
    body_start: int
    blocks: tuple[_Block, ...]


class _Note:
    """The bytes of a note with its line starts."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        # bytes.splitlines splits only at \n, \r\n and \r, like markdown-it.
        lines = data.splitlines(keepends=True)
        self.starts = list(accumulate(map(len, lines), initial=0))
        self.starts[0] = len(_BOM) if data.startswith(_BOM) else 0
        self.first_line = _front_matter_lines(lines)

    def byte_at(self, line: int) -> int:
        """Return the start of parsed line `line` (0 is the first after the front matter)."""
        return self.starts[min(line + self.first_line, len(self.starts) - 1)]

    def text(self, span: Span) -> str:
        return self.data[span.start : span.end].decode("utf-8", errors="replace")

    def trim(self, span: Span) -> Span:
        """Drop blank lines at both ends and white space at the very end."""
        piece = self.data[span.start : span.end]
        end = span.start + len(piece.rstrip())
        start = span.start
        while start < end:
            line_end = self.starts[self.line_of(start) + 1]
            if self.data[start:line_end].strip():
                break
            start = line_end
        return Span(min(start, end), end)

    def line_of(self, offset: int) -> int:
        """Return the line, from 0, that holds byte `offset`."""
        return max(0, bisect.bisect_right(self.starts, offset) - 1)


def chunk_note(
    *, vault: str, rel_path: str, data: bytes, max_tokens: int, overlap: int
) -> tuple[Chunk, ...]:
    """Cut a note into chunks.

    Headings count only at the top level of the document (not in code, quotes or lists). YAML
    front matter, a BOM and headings without text are left out. Bytes that are not UTF-8 read as
    U+FFFD.

    Args:
        vault: Name of the vault, part of the chunk ids.
        rel_path: Path of the note in the vault, with `/`.
        data: The file's content.
        max_tokens: Budget of a chunk, in the tokens of `count_tokens`.
        overlap: Tokens of the previous piece repeated when a section is split.
    """
    note = _Note(data)
    chunks: list[Chunk] = []
    for section in _sections(note):
        if not note.data[section.body_start : section.span.end].strip():
            continue
        for span in _pieces(note, section, max_tokens, overlap):
            chunks.append(_chunk(note, vault, rel_path, section.heading_path, len(chunks), span))
    return tuple(chunks)


def _chunk(
    note: _Note, vault: str, rel_path: str, heading_path: str, position: int, span: Span
) -> Chunk:
    text = note.text(span)
    identity = "\0".join((vault, rel_path, heading_path, f"{span.start}:{span.end}", text))
    return Chunk(
        chunk_id=hashlib.sha256(identity.encode()).hexdigest()[:32],
        vault=vault,
        rel_path=rel_path,
        heading_path=heading_path,
        chunk_index=position,
        start_line=note.line_of(span.start) + 1,
        end_line=note.line_of(span.end - 1) + 1,
        start_byte=span.start,
        end_byte=span.end,
        text=text,
        token_count=count_tokens(text),
    )


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    # Only block structure is needed; leaving inline text unparsed halves the time.
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _front_matter_lines(lines: Sequence[bytes]) -> int:
    """Return the number of leading lines that are YAML front matter: `---` to `---` or `...`."""
    if not lines or lines[0].removeprefix(_BOM).rstrip() != b"---":
        return 0
    ends = (n for n, line in enumerate(lines[1:], start=2) if line.rstrip() in (b"---", b"..."))
    return next(ends, 0)


def _sections(note: _Note) -> Iterator[_Section]:
    """Yield the parts of a note between headings; together they cover it without gaps."""
    body = Span(note.byte_at(0), len(note.data))
    root = SyntaxTreeNode(_parser().parse(note.text(body)))
    trail: list[tuple[int, str]] = []
    section_start, body_start = body.start, body.start
    blocks: list[_Block] = []
    for node, span in _blocks(note, root, body.end):
        if node.type == "heading" and node.map:
            yield _section(trail, Span(section_start, span.start), body_start, blocks)
            depth = int(node.tag[1])
            trail = [entry for entry in trail if entry[0] < depth]
            title = " ".join(node.children[0].content.split())
            trail.append((depth, f"{'#' * depth} {title}".rstrip()))
            section_start, body_start = span.start, note.byte_at(node.map[1])
            blocks = []
        blocks.append((node, span))
    yield _section(trail, Span(section_start, body.end), body_start, blocks)


def _section(
    trail: list[tuple[int, str]], span: Span, body_start: int, blocks: list[_Block]
) -> _Section:
    path = " > ".join(title for _, title in trail)
    return _Section(path, span, min(body_start, span.end), tuple(blocks))


def _blocks(note: _Note, node: SyntaxTreeNode, end: int) -> list[_Block]:
    """Return the blocks right below a node, each up to the next one and the last up to `end`."""
    nodes = [child for child in node.children if child.map]
    starts = [note.byte_at(child.map[0]) for child in nodes if child.map]
    return list(zip(nodes, map(Span, starts, [*starts[1:], end]), strict=True))


def _pieces(note: _Note, section: _Section, max_tokens: int, overlap: int) -> Iterator[Span]:
    whole = note.trim(section.span)
    if count_tokens(note.text(whole)) <= max_tokens:
        yield whole
        return
    spans: list[Span] = []
    if not section.blocks:
        spans += split_prose(note.data, section.span, max_tokens, by_line=True)
    elif section.span.start < section.blocks[0][1].start:
        # Link definitions leave no token: text before the first block belongs to it.
        spans.append(Span(section.span.start, section.blocks[0][1].start))
    for node, span in section.blocks:
        spans += _units(note, node, span, max_tokens)
    for span in pack_spans(note.data, spans, max_tokens, overlap):
        trimmed = note.trim(span)
        # A heading without its text repeats only the heading path.
        if trimmed.start < trimmed.end and trimmed.end > section.body_start:
            yield trimmed


def _units(note: _Note, node: SyntaxTreeNode, span: Span, max_tokens: int) -> Iterator[Span]:
    """Yield the smallest parts of a block that may be kept whole within the budget."""
    by_line = node.type not in _PROSE
    if count_tokens(note.text(span)) <= max_tokens:
        yield Span(span.start, span.end, solid=by_line)
        return
    children = [] if node.type in _LEAVES else _blocks(note, node, span.end)
    if not children:
        yield from split_prose(note.data, span, max_tokens, by_line=by_line)
    start = span.start
    for child, inner in children:
        if start < inner.end:
            yield from _units(note, child, Span(start, inner.end), max_tokens)
        start = inner.end


# Approximates sub-word tokenizers: words, long ones in parts, and each punctuation mark. A byte
# that is not UTF-8 counts as the U+FFFD that it is read as.
_TOKEN = re.compile(
    rb"(?:[0-9A-Za-z]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
    rb"|[\x80-\xff]){1,10}|[^\s0-9A-Za-z\x80-\xff]"
)
_SENTENCE_END = re.compile(rb"[.!?][\"')\]]*\s+|\n\s*")
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Span:
    """A range of bytes, end exclusive."""

    start: int
    end: int
    solid: bool = True
    """Whether overlap contains all of it or nothing (code, tables, list items)."""


_Block = tuple[SyntaxTreeNode, Span]
"""A node of the syntax tree with its bytes, up to the next one."""


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
            # Back to the start of the word, unless the piece would then be empty.
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
    """Return the start of the run of span `index` if it repeats at most `room` earlier tokens."""
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
    """Return the start of the last `room` tokens of a span, moved on to the start of a word."""
    tokens = [match.start() for match in _TOKEN.finditer(data, span.start, span.end)]
    for position in tokens[max(0, len(tokens) - room) :] if room > 0 else []:
        if data[position - 1 : position].isspace():
            return position
    return span.end
