"""The notes of a folder: which files are read, which are left out and why."""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

NOTE_SUFFIXES = (".md", ".markdown")
MAX_NOTE_BYTES = 32 * 1024 * 1024
"""A larger note is skipped with a warning: no one writes 32 MB by hand."""


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

    @property
    def folder(self) -> str:
        """The folder that holds the note; `.` for the top of the vault."""
        return str(PurePosixPath(self.rel_path).parent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """What was read from a folder."""

    notes: tuple[Note, ...]
    """In order of path."""
    warnings: tuple[str, ...]
    """One line for each file left out or read with loss."""


def read_vault(root: Path) -> Vault:
    """Read every `*.md` and `*.markdown` file under `root`.

    Hidden files and folders are left out silently. Left out with a warning: links that lead out
    of the vault and links to folders, files that are not text (NUL bytes, UTF-16), that cannot be
    read, or that are larger than `MAX_NOTE_BYTES`. Bytes that are not UTF-8 read as U+FFFD, with a
    warning.

    Raises:
        VaultError: `root` is not a folder.
    """
    if not root.is_dir():
        what = "is not a folder" if root.exists() else "does not exist"
        raise VaultError(f"vault {str(root)!r} {what}; expected a folder of Markdown notes")
    real_root = root.resolve()
    notes: list[Note] = []
    warnings: list[str] = []
    for path, rel_path in _candidates(real_root, warnings):
        data = _read_note(path, rel_path, real_root, warnings)
        if data is not None:
            notes.append(Note(rel_path=rel_path, data=data))
    notes.sort(key=lambda note: note.rel_path)
    return Vault(notes=tuple(notes), warnings=tuple(sorted(warnings)))


def folder_contains(folder: str, rel_path: str) -> bool:
    """Tell whether a path lies under a folder, segment by segment; `.` holds everything."""
    parts = _folder_parts(folder)
    return PurePosixPath(rel_path).parts[:-1][: len(parts)] == parts


def _folder_parts(folder: str) -> tuple[str, ...]:
    cleaned = folder.strip().replace("\\", "/").strip("/")
    return () if cleaned in ("", ".", "*") else PurePosixPath(cleaned).parts


def _candidates(root: Path, warnings: list[str]) -> Iterator[tuple[Path, str]]:
    def note_error(error: OSError) -> None:
        name = os.path.relpath(error.filename, root) if error.filename else "a folder"
        warnings.append(f"{_shown(name)}: not read: {error.strerror}")

    for parent, folders, files in os.walk(root, onerror=note_error):
        visible = sorted(name for name in folders if not name.startswith("."))
        folders[:] = [name for name in visible if not os.path.islink(os.path.join(parent, name))]
        for name in visible:
            if name not in folders:
                rel = os.path.relpath(os.path.join(parent, name), root)
                warnings.append(f"{_shown(rel)}: not followed: a symbolic link to a folder")
        for name in sorted(files):
            if not name.startswith(".") and name.lower().endswith(NOTE_SUFFIXES):
                path = Path(parent, name)
                yield path, path.relative_to(root).as_posix()


def _read_note(path: Path, rel_path: str, root: Path, warnings: list[str]) -> bytes | None:
    try:
        rel_path.encode()
        data = _read_inside(path, root)
    except UnicodeEncodeError:
        problem = "not read: its file name is not valid UTF-8"
    except (OSError, RuntimeError, VaultError) as error:
        problem = f"not read: {getattr(error, 'strerror', None) or error}"
    else:
        problem = _text_problem(data)
        if not problem.startswith("not read"):
            if problem:
                warnings.append(f"{_shown(rel_path)}: {problem}")
            return data
    warnings.append(f"{_shown(rel_path)}: {problem}")
    return None


def _read_inside(path: Path, root: Path) -> bytes:
    target = path.resolve(strict=True)
    if not target.is_relative_to(root):
        raise VaultError("a symbolic link that leads out of the vault")
    # The resolved path holds no link any more; O_NOFOLLOW keeps it so if the file is swapped
    # meanwhile, and O_NONBLOCK keeps a FIFO of this name from blocking the open.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(target, flags), "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise VaultError("not a regular file")
        if status.st_size > MAX_NOTE_BYTES:
            size, limit = status.st_size, MAX_NOTE_BYTES
            raise VaultError(f"{size:,} bytes, over the limit of {limit:,} for one note")
        return stream.read()


def _text_problem(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "not read: UTF-16; save it as UTF-8"
    if b"\0" in data:
        return "not read: it holds NUL bytes, so it is not text"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return f"invalid UTF-8 at byte {error.start} (line {line}); read with U+FFFD in its place"
    return ""


def _shown(name: str) -> str:
    """Keep a warning on one line whatever characters a file name holds."""
    return name if name.isprintable() else ascii(name)
