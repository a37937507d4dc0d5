"""What is odd about the notes of a vault, told in few lines however many notes there are."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pytest_rageval.server.chunking import Chunk
from pytest_rageval.server.vault import Finding, Note

NAMED_PATHS = 5
"""Notes of one kind that get a line each; of more, one line names this many and counts all."""
LARGE_NOTE_BYTES = 1024 * 1024
"""A larger note is indexed like any other, and said to be large: it may be an export."""


def content_findings(notes: Sequence[Note], chunks: Iterable[Chunk]) -> Iterator[Finding]:
    """Yield what was made of notes that are empty, very large or written on Windows.

    Args:
        notes: What was indexed.
        chunks: All chunks of these notes.
    """
    count = Counter(chunk.rel_path for chunk in chunks)
    for note in notes:
        made, size = count[note.rel_path], len(note.data)
        if not made:
            empty = not note.data.removeprefix(b"\xef\xbb\xbf").strip()
            why = "the note is empty" if empty else "it holds only headings or front matter"
            yield Finding(rel_path=note.rel_path, text=f"no chunk made: {why}")
        if size > LARGE_NOTE_BYTES:
            indexed = f"indexed as {made:,} chunk{'' if made == 1 else 's'}"
            yield Finding(
                rel_path=note.rel_path,
                text=f"a large note of {size:,} bytes, {indexed}",
                kind=f"large notes, over {LARGE_NOTE_BYTES:,} bytes, indexed whole",
            )
        if b"\r\n" in note.data:
            yield Finding(
                rel_path=note.rel_path,
                text="Windows line ends, read as line ends",
                one_line=True,
            )


def finding_lines(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Write findings as warnings, sorted: a line for each, or one line for a common kind.

    >>> finding_lines([Finding(rel_path=f"{i}.md", text="not read: UTF-16") for i in range(7)])
    ('7 notes: not read: UTF-16: 0.md, 1.md, 2.md, 3.md, 4.md and 2 more',)
    """
    by_kind: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda found: found.rel_path):
        by_kind.setdefault(finding.kind or finding.text, []).append(finding)
    lines: list[str] = []
    for kind, found in by_kind.items():
        limit = 1 if found[0].one_line else NAMED_PATHS
        if len(found) <= limit:
            lines += [f"{_shown(finding.rel_path)}: {finding.text}" for finding in found]
        else:
            lines.append(_counted(kind, found))
    return tuple(sorted(lines))


def _counted(kind: str, found: Sequence[Finding]) -> str:
    named = ", ".join(_shown(finding.rel_path) for finding in found[:NAMED_PATHS])
    left = len(found) - NAMED_PATHS
    return f"{len(found):,} notes: {kind}: {named}" + (f" and {left:,} more" if left > 0 else "")


def _shown(name: str) -> str:
    """Keep a warning on one line whatever characters a file name holds."""
    return name if name.isprintable() else ascii(name)
