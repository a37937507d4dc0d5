"""Markdown notes of a folder, their sections as golds name them, and the texts of golds.

Headings count as they do for the embedded server: at the top level of the document only, not in
code, quotes or lists; YAML front matter and a byte order mark are left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pytest_rageval.metrics.matching import (
    PathCase,
    anchor_segments,
    norm_heading,
    norm_path,
    norm_text,
    starts_with,
)
from pytest_rageval.project.documents import (
    documents_path,
    find_loader,
    load_documents,
    read_document_set,
)
from pytest_rageval.support.files import UTF16_BOMS, open_plain
from pytest_rageval.values.case import Anchor
from pytest_rageval.values.errors import RagEvalError

_BOM: Final = "\ufeff"
_BLANK: Final = " \t\n\r\x0b\x0c"
"""White space in Markdown, which is a subset of Python's."""
_MAX_INLINE_CHARS: Final = 20_000
_DEEPEST: Final = 100
"""Levels of nesting that markdown-it follows; deeper ones stay text."""


@dataclass(frozen=True, kw_only=True)
class NoteSection:
    """The part of a note from one heading to the next of any level."""

    heading_path: str
    """``# Title > ## Section``; empty for text before the first heading."""
    title: str
    """Text of the heading, with its markup; empty before the first heading."""
    depth: int
    """1 to 6; 0 before the first heading."""
    start_line: int
    """Line of the heading, from 1."""
    text: str
    """Source text of heading and body."""
    body: tuple[Token, ...]
    """Block tokens below the heading; their line maps count from ``first_line``."""
    first_line: int
    """Line of the note, from 0, that corresponds to line 0 of the tokens' maps."""

    @cached_property
    def segments(self) -> tuple[str, ...]:
        """Heading path in normal form, outermost first."""
        return norm_heading(self.heading_path) or ()

    @cached_property
    def normal_text(self) -> str:
        """``text`` in the form in which snippets are looked for."""
        return norm_text(self.text)


@dataclass(frozen=True, kw_only=True)
class NoteFile:
    """One Markdown file."""

    rel_path: str
    """Path below its folder, ``/``-separated."""
    sections: tuple[NoteSection, ...]
    lines: tuple[str, ...]
    """Source lines, without line ends."""

    @cached_property
    def normal_path(self) -> str:
        """The path in the form in which anchors are compared."""
        return norm_path(self.rel_path)

    @cached_property
    def normal_text(self) -> str:
        """The whole text in normal form."""
        return norm_text("\n".join(self.lines))


def parse_note(rel_path: str, data: bytes) -> NoteFile:
    """Read a note; bytes that are not UTF-8 become U+FFFD."""
    # Like markdown-it, unlike str.splitlines, which also splits at form feeds and U+2028.
    text = data.decode("utf-8", "replace").removeprefix(_BOM)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = _front_matter_lines(lines)
    tokens = _parser(inline=False).parse("\n".join(lines[first:]))
    return NoteFile(
        rel_path=rel_path, lines=tuple(lines), sections=tuple(_sections(lines, first, tokens))
    )


def inline_tokens(text: str) -> list[Token]:
    """Return the tokens of the content of an ``inline`` token; a very long one is plain text."""
    if len(text) > _MAX_INLINE_CHARS:
        return [Token("text", "", 0, content=text)]
    [paragraph] = _parser(inline=True).parseInline(text)
    return paragraph.children or []


@cache
def _parser(*, inline: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": _DEEPEST}).enable("table")
    if not inline:
        # Most callers need only the headings, which takes half the time.
        parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _front_matter_lines(lines: Sequence[str]) -> int:
    if lines[0].rstrip() != "---":
        return 0
    ends = (n for n, line in enumerate(lines[1:], 2) if line.rstrip() in {"---", "..."})
    return next(ends, 0)


def _sections(lines: Sequence[str], first: int, tokens: Sequence[Token]) -> Iterator[NoteSection]:
    heads = [
        i for i, token in enumerate(tokens) if token.type == "heading_open" and token.level == 0
    ]
    trail: list[tuple[int, str, str]] = []
    edges = [None, *heads]
    for edge, after in zip(edges, [*heads, None], strict=True):
        if edge is not None:
            trail = _extended(trail, tokens, edge)
        body = tokens[0 if edge is None else edge + 3 : after]
        start = first if edge is None else _line(tokens[edge]) + first
        end = len(lines) if after is None else _line(tokens[after]) + first
        text = "\n".join(lines[start:end]).rstrip(_BLANK)
        if edge is None and not text:
            continue
        depth, _, title = trail[-1] if trail else (0, "", "")
        yield NoteSection(
            heading_path=" > ".join(marked for _, marked, _ in trail),
            title=title,
            depth=depth,
            start_line=start + 1,
            text=text,
            body=tuple(body),
            first_line=first,
        )


def _extended(
    trail: list[tuple[int, str, str]], tokens: Sequence[Token], edge: int
) -> list[tuple[int, str, str]]:
    depth = int(tokens[edge].tag[1])
    title = " ".join(tokens[edge + 1].content.split())
    marked = f"{'#' * depth} {title}".rstrip()
    return [*(entry for entry in trail if entry[0] < depth), (depth, marked, title)]


def _line(token: Token) -> int:
    return token.map[0] if token.map else 0


SUFFIXES: Final = (".md", ".markdown")


class NotesError(RagEvalError):
    """The folder of notes cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """Notes read from a folder."""

    notes: tuple[NoteFile, ...]
    """In order of path."""
    skipped: tuple[tuple[str, str], ...]
    """Path and reason of each file that was left out."""


def read_notes(folder: Path) -> Vault:
    """Read every ``*.md`` and ``*.markdown`` file below a folder.

    Hidden files and folders and links to folders are left out silently. Links that lead out of the
    folder, and files that are not text or not readable, are left out with a reason.

    Raises:
        NotesError: it is not a folder.
    """
    if not folder.is_dir():
        "is not a folder" if folder.exists() else "does not exist"
        raise NotesError.of(folder, "no_notes")
    root = folder.resolve()
    notes, skipped = [], []
    for path, rel_path in sorted(_candidates(root), key=lambda found: found[1]):
        data = _read(path, root)
        if isinstance(data, bytes):
            notes.append(parse_note(rel_path, data))
        else:
            skipped.append((rel_path, data))
    return Vault(notes=tuple(notes), skipped=tuple(skipped))


def _candidates(root: Path) -> Iterator[tuple[Path, str]]:
    for parent, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and name.lower().endswith(SUFFIXES):
                path = Path(parent, name)
                rel_path = path.relative_to(root).as_posix()
                # A name that is not UTF-8 cannot be written to a case file either.
                yield path, rel_path.encode("utf-8", "replace").decode("utf-8")


def _read(path: Path, root: Path) -> bytes | str:
    """Return the content of a file, or the reason to leave it out."""
    try:
        target = path.resolve(strict=True)
        if not target.is_relative_to(root):  # notes of others must not show files of this machine
            return "a symbolic link that leads out of the folder"
        with open_plain(target) as file:
            data = file.read()
    except (OSError, RuntimeError) as error:
        return str(getattr(error, "strerror", None) or error)
    return "not UTF-8 text" if data.startswith(UTF16_BOMS) or b"\0" in data else data


MAX_CHARS: Final = 8_000
"""Embedding models read a few thousand words at most."""


def read_document_notes(case_files: Iterable[Path], loader: str | None) -> list[NoteFile]:
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
    golds: Iterable[Anchor], notes: Iterable[NoteFile], path_case: PathCase = "sensitive"
) -> dict[Anchor, str]:
    """Return the text of each gold, as far as it is known.

    It is that of its section and the sections below, cut to ``MAX_CHARS``; where the document or
    section is not among the notes, the snippets of the gold.
    """
    by_path = {norm_path(note.rel_path, path_case): note for note in notes}
    texts = ((gold, _text(gold, by_path, path_case)) for gold in golds)
    return {gold: text for gold, text in texts if text.strip()}


def _text(gold: Anchor, notes: Mapping[str, NoteFile], path_case: PathCase) -> str:
    note = notes.get(norm_path(gold.rel_path, path_case))
    wanted = anchor_segments(gold)
    sections = [s.text for s in note.sections if starts_with(s.segments, wanted)] if note else []
    return "\n\n".join(sections)[:MAX_CHARS] if sections else "\n".join(gold.snippets)
