"""Reading a document as a test does: its headings, its fenced blocks, its links and sessions."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^(?P<marks>#{1,6}) (?P<title>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block of a document."""

    language: str
    text: str
    line: int
    """Line of the first line of its text, from 1."""
    between: str
    """Text between the block before it and this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with all that follows up to the next heading of any level."""

    level: int
    title: str
    text: str
    line: int
    """Line of the heading, from 1."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The fenced blocks of the section, in order."""
        return tuple(_blocks(self.text, self.line))


def read_document(name: str) -> str:
    """Return the text of a file of the documentation folder."""
    return (DOCS / name).read_text(encoding="utf-8")


def read_chapter(name: str, title: str) -> str:
    """Return a part of a page, from its heading of level 2, with all headings a level higher."""
    found = [one for one in sections(read_document(name)) if one.level <= 2]
    titles = [one.title for one in found]
    place = titles.index(title)
    lines = read_document(name).splitlines()
    end = found[place + 1].line - 1 if place + 1 < len(found) else len(lines)
    text = "\n".join(lines[found[place].line - 1 : end]) + "\n"
    marks = {match.start() for match in re.finditer(r"^#", _without_fences(text), re.MULTILINE)}
    return "".join(char for index, char in enumerate(text) if index not in marks)


def sections(document: str) -> list[Section]:
    """Split a document at its headings; a ``#`` inside a fenced block is none."""
    prose = _without_fences(document)
    found = list(_HEADING.finditer(prose))
    ends = [heading.start() for heading in found[1:]] + [len(document)]
    return [
        Section(
            level=len(heading["marks"]),
            title=heading["title"].strip(),
            text=document[heading.start() : end],
            line=document.count("\n", 0, heading.start()) + 1,
        )
        for heading, end in zip(found, ends, strict=True)
    ]


def link_targets(document: str) -> list[str]:
    """Return where the links of a document lead, in order, repeats included."""
    return re.findall(r"\]\(([^)\s]+)\)", _without_fences(document))


def heading_slug(title: str) -> str:
    """Return the fragment that GitHub gives a heading: ``latency_ms.p95`` is ``latency_msp95``."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def run_sessions(document: str, name: str) -> tuple[int, str]:
    """Run every ``pycon`` block of a document as one Python session.

    Returns:
        How many statements ran, and the report of those that printed something else (empty: none).
    """
    lines = [""] * (document.count("\n") + 1)
    for block in _blocks(document, 1):
        if block.language == "pycon":
            text = block.text.splitlines()
            lines[block.line - 1 : block.line - 1 + len(text)] = text
    session = doctest.DocTestParser().get_doctest("\n".join(lines), {}, name, name, 0)
    report = StringIO()
    result = doctest.DocTestRunner(verbose=False).run(session, out=report.write)
    return result.attempted, report.getvalue()


def session_results(block: Block) -> list[str]:
    """Return what the statements of a ``pycon`` block are said to print."""
    return [example.want for example in doctest.DocTestParser().get_examples(block.text)]


def _blocks(text: str, first_line: int) -> Iterator[Block]:
    end = 0
    for fence in _FENCE.finditer(text):
        yield Block(
            language=fence["language"],
            text=fence["text"],
            line=first_line + text.count("\n", 0, fence.start("text")),
            between=text[end : fence.start()].strip(),
        )
        end = fence.end()


def _without_fences(document: str) -> str:
    """Blank out fenced blocks, so that places stay the same."""
    return _FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence.group()), document)
