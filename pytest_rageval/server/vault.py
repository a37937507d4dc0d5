"""Reads the notes of a folder, with findings about files that are left out."""

from __future__ import annotations

import hashlib
import os
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


Finding = tuple[str, str]
"""Path of a file, and the problem with it or how it was handled."""


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
        findings.append((name, f"not read: {error.strerror}"))

    for parent, folders, files in os.walk(root, onerror=note_error):
        visible = sorted(name for name in folders if not name.startswith("."))
        folders[:] = [name for name in visible if not os.path.islink(os.path.join(parent, name))]
        for name in visible:
            if name not in folders:
                rel = os.path.relpath(os.path.join(parent, name), root)
                findings.append((rel, "not followed: a symbolic link to a folder"))
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
            try:
                data.decode()
            except UnicodeDecodeError as error:
                line = data.count(b"\n", 0, error.start) + 1
                place = f"byte {error.start} (line {line})"
                findings.append((rel_path, f"invalid UTF-8 at {place}; read with U+FFFD there"))
            return data
    findings.append((rel_path, f"not read: {reason}"))
    return None


NAMED_PATHS = 5
"""Notes with one problem that get a line each; of more, one line names this many and counts all."""
LARGE_NOTE_BYTES = 1024 * 1024
"""A larger note is indexed, with a finding that it is large: it may be an export."""


def content_findings(notes: Sequence[Note], chunks: Iterable[Chunk]) -> Iterator[Finding]:
    """Yield findings about notes that are empty or very large."""
    made = {chunk.rel_path for chunk in chunks}
    for note in notes:
        if note.rel_path not in made:
            empty = not note.data.removeprefix(b"\xef\xbb\xbf").strip()
            why = "the note is empty" if empty else "it holds only headings or front matter"
            yield note.rel_path, f"no chunk made: {why}"
        if len(note.data) > LARGE_NOTE_BYTES:
            yield note.rel_path, f"a large note, over {LARGE_NOTE_BYTES:,} bytes, indexed whole"


def finding_lines(findings: Iterable[Finding]) -> list[str]:
    """Write findings as warnings, sorted: a line for each, or one line for a common problem.

    >>> finding_lines((f"{i}.md", "not read: UTF-16") for i in range(7))
    ['7 notes: not read: UTF-16: 0.md, 1.md, 2.md, 3.md, 4.md and 2 more']
    """
    by_text: dict[str, list[str]] = {}
    for path, text in sorted(findings):
        by_text.setdefault(text, []).append(path if path.isprintable() else ascii(path))
    lines = []
    for text, paths in by_text.items():
        left = len(paths) - NAMED_PATHS
        named = ", ".join(paths[:NAMED_PATHS])
        many = [f"{len(paths):,} notes: {text}: {named} and {left:,} more"]
        lines += many if left > 0 else [f"{path}: {text}" for path in paths]
    return sorted(lines)
