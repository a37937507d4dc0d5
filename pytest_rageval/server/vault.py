"""Reads the notes of a folder, with findings about files that are left out."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from unicodedata import normalize

from pytest_rageval.server.chunking import Chunk

NOTE_SUFFIXES = (".md", ".markdown")


class VaultError(ValueError):
    """The vault itself cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A Markdown file of the vault, or a document put over HTTP."""

    rel_path: str
    """Relative to the vault, with `/`."""
    data: bytes

    @property
    def digest(self) -> str:
        """Sha256 of the content."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A problem with one file, and how it was handled."""

    rel_path: str
    text: str
    kind: str = ""
    """Common part of the text of findings of this kind; empty: the whole text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """Notes read from a folder, with findings."""

    notes: tuple[Note, ...]
    """In order of path."""
    findings: tuple[Finding, ...]
    """One for each file left out or read with loss."""


def read_vault(root: Path) -> Vault:
    """Read every `*.md` and `*.markdown` file under `root`.

    Hidden files and folders are left out silently. Left out with a finding: links that lead out
    of the vault and links to folders, and files that are not text (NUL bytes, UTF-16) or cannot be
    read. Bytes that are not UTF-8 read as U+FFFD, with a finding.

    Raises:
        VaultError: `root` is not a folder.
    """
    if not os.path.isdir(root):  # a Path raises for a name that is too long
        what = "is not a folder" if os.path.exists(root) else "does not exist"
        raise VaultError(f"vault {str(root)!r} {what}; expected a folder of Markdown notes")
    real_root = root.resolve()
    notes: list[Note] = []
    findings: list[Finding] = []
    for path, rel_path in _candidates(real_root, findings):
        data = _read_note(path, rel_path, real_root, findings)
        if data is not None:
            notes.append(Note(rel_path=rel_path, data=data))
    notes.sort(key=lambda note: note.rel_path)
    return Vault(notes=tuple(notes), findings=tuple(findings))


def folder_contains(folder: str, rel_path: str) -> bool:
    """Whether a path is under a folder, segment by segment; `.` contains everything."""
    # Names of a Mac may be in decomposed Unicode.
    cleaned = normalize("NFC", folder).strip().replace("\\", "/").strip("/")
    parts = () if cleaned in ("", ".", "*") else PurePosixPath(cleaned).parts
    return PurePosixPath(normalize("NFC", rel_path)).parts[:-1][: len(parts)] == parts


def _candidates(root: Path, findings: list[Finding]) -> Iterator[tuple[Path, str]]:
    def note_error(error: OSError) -> None:
        name = os.path.relpath(error.filename, root) if error.filename else "a folder"
        findings.append(Finding(rel_path=name, text=f"not read: {error.strerror}"))

    for parent, folders, files in os.walk(root, onerror=note_error):
        visible = sorted(name for name in folders if not name.startswith("."))
        folders[:] = [name for name in visible if not os.path.islink(os.path.join(parent, name))]
        for name in visible:
            if name not in folders:
                rel = os.path.relpath(os.path.join(parent, name), root)
                text = "not followed: a symbolic link to a folder"
                findings.append(Finding(rel_path=rel, text=text))
        for name in sorted(files):
            if not name.startswith(".") and name.lower().endswith(NOTE_SUFFIXES):
                path = Path(parent, name)
                yield path, path.relative_to(root).as_posix()


def _read_note(path: Path, rel_path: str, root: Path, findings: list[Finding]) -> bytes | None:
    try:
        rel_path.encode()
        target = path.resolve(strict=True)
        # Notes of others must not show files of this machine, and reading a pipe would wait.
        readable = target.is_relative_to(root) and target.is_file()
        data = target.read_bytes() if readable else b""
    except UnicodeEncodeError:
        reason = "its file name is not valid UTF-8"
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    else:
        if not readable:
            leads_out = not target.is_relative_to(root)
            reason = "a symbolic link that leads out of the vault" if leads_out else "no plain file"
        elif data.startswith((b"\xff\xfe", b"\xfe\xff")):
            reason = "UTF-16; save it as UTF-8"
        elif b"\0" in data:
            reason = "it holds NUL bytes, so it is not text"
        else:
            findings.extend(_loss(rel_path, data))
            return data
    findings.append(Finding(rel_path=rel_path, text=f"not read: {reason}"))
    return None


def _loss(rel_path: str, data: bytes) -> Iterator[Finding]:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        done = "read with U+FFFD in its place"
        yield Finding(
            rel_path=rel_path,
            text=f"invalid UTF-8 at byte {error.start} (line {line}); {done}",
            kind=f"invalid UTF-8; {done}",
        )


NAMED_PATHS = 5
"""Notes of one kind that get a line each; of more, one line names this many and counts all."""
LARGE_NOTE_BYTES = 1024 * 1024
"""A larger note is indexed, with a finding that it is large: it may be an export."""


def content_findings(notes: Sequence[Note], chunks: Iterable[Chunk]) -> Iterator[Finding]:
    """Yield findings about notes that are empty or very large."""
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
        if len(found) <= NAMED_PATHS:
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
