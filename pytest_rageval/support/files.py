"""Files that several sessions share: locks and atomic writing."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import EINVAL, EISDIR
from glob import escape
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISREG
from typing import Final, cast

from pytest_rageval.support.process import Closing
from pytest_rageval.values.declared import is_portable
from pytest_rageval.values.errors import ConfigError, RagEvalError, StorageError

FOLDER_LOCK: Final = ".lock"
"""Lock file of a folder; it remains after its process was killed."""
UTF16_BOMS: Final = (BOM_UTF16_LE, BOM_UTF16_BE)
"""Beginnings of files that are not UTF-8, as editors and spreadsheets write them."""

_POLL_S: Final = 0.01
_PERSON: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Lock(Closing):
    """Exclusive lock on a file or folder until it is closed or its process ends.

    The lock file is ``.NAME.lock`` beside a file, and ``.lock`` in a folder, where no rights to the
    folder above are needed. It is removed at the end; a killed process leaves it, unlocked.

    Nothing is held if the lock file cannot be created, or if locking it fails. Where the system
    lacks ``flock``, filelock warns and takes the existence of the file as the lock, until it finds
    that the process which made it has ended.

    Args:
        path: a file or folder.
        wait: whether to wait for a session that holds it.
        what: kind of the path, for the error.
        keep: whether the lock file stays, for a lock that is taken often.

    Raises:
        StorageError: another session, of this or another process, holds it.
    """

    def __init__(self, path: Path, *, wait: bool, what: str = "file", keep: bool = False) -> None:
        from filelock import FileLock, SoftFileLock, Timeout

        self._file = path / FOLDER_LOCK if path.is_dir() else path.with_name(f".{path.name}.lock")
        # Not thread-local: a run may be closed on another thread.
        self._lock = FileLock(self._file, thread_local=False)
        if not self._file.parent.is_dir():  # the lock would create it
            return
        try:
            self._lock.acquire(timeout=-1 if wait else 0, poll_interval=_POLL_S)
        except Timeout:
            raise StorageError.of(path, "locked", what=what) from None
        except OSError:
            return
        # A lock that is the existence of its file ends with it, and removes it itself.
        self._keep = keep or isinstance(self._lock, SoftFileLock)

    @property
    def held(self) -> bool:
        """Whether the lock is held."""
        return self._lock.is_locked

    def close(self) -> None:
        """Release the lock; further calls do nothing."""
        if self.held:
            if not self._keep:
                # Before the release, after which it may be the file of another session.
                with suppress(OSError):  # Windows keeps an open file; filelock removes it later
                    self._file.unlink()
            self._lock.release()


@contextmanager
def named_errors(path: Path, kind: type[RagEvalError], code: str = "unwritable") -> Iterator[None]:
    """Raise errors of the system in a block as errors of a kind that name the file and the reason.

    Raises:
        kind: of the code, with the path.
    """
    try:
        yield
    except OSError as error:
        raise kind.of(path, code, reason=error.strerror or error) from error


def open_plain(path: Path, buffering: int = -1) -> BufferedReader:
    """Open a file to read its bytes; a pipe or a device, which could block for ever, is refused.

    Raises:
        OSError: it cannot be read, or is no plain file.
    """
    handle = os.open(path, os.O_RDONLY | _BINARY | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(handle).st_mode
    if not S_ISREG(mode):
        os.close(handle)
        if S_ISDIR(mode):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(path))
        raise OSError(EINVAL, "it is not a plain file, but a pipe or a device", str(path))
    return cast("BufferedReader", open(handle, "rb", buffering))


def read_plain(path: Path, encoding: str = "utf-8-sig") -> str:
    """Return the text of a plain file, with newlines as line ends; see ``open_plain``.

    Raises:
        OSError: it cannot be read, or is no plain file.
        UnicodeDecodeError: it is in another encoding.
    """
    with TextIOWrapper(open_plain(path), encoding) as file:
        return file.read()


def refuse_link(path: Path) -> None:
    """Refuse to write through a link in the place of a folder or a file.

    Raises:
        StorageError: it is a link.
    """
    if path.is_symlink():
        raise StorageError.of(path, "link")


def shown_below(path: Path, root: Path) -> str:
    """Return a path for messages and records, with ``/``: relative to a folder that it is in.

    A neighbour of the folder begins with ``../``, so that it is named alike on every machine.
    """
    path, root = Path(os.path.abspath(path)), Path(os.path.abspath(root))
    near = path.is_relative_to(root if root.parent == Path(root.anchor) else root.parent)
    return Path(os.path.relpath(path, root) if near else path).as_posix()


def write_file(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Replace a file atomically: readers see the old or the new content.

    Raises:
        OSError: it cannot be written.
    """
    with written_beside(path, (content,) if isinstance(content, bytes) else content) as beside:
        os.replace(beside, path)


def write_new_file(path: Path, pieces: Iterable[bytes]) -> bool:
    """Write a new file atomically, unless its name is taken, even by a broken link.

    Returns:
        Whether it was written; False: the name is taken, and its file stays unchanged.

    Raises:
        OSError: it cannot be written.
    """
    if os.path.lexists(path):
        return False
    with written_beside(path, pieces, sync=True) as beside:
        return _link_new(beside, path)


@contextmanager
def written_beside(
    path: Path, pieces: Iterable[bytes], *, sync: bool = False, like: os.stat_result | None = None
) -> Iterator[Path]:
    """Yield a file with the new content beside a path, and remove it unless it was renamed.

    What killed writers of the path left is removed, too.

    Args:
        path: final place of the content.
        pieces: the content.
        sync: whether it must survive a power failure.
        like: mode and owner of the file; None: those of a new file.

    Raises:
        OSError: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.rageval-{os.urandom(8).hex()}.tmp")
    for left in path.parent.glob(f".{escape(path.name)}.rageval-*.tmp"):
        with suppress(OSError):  # gone, of another user, or its writer is alive
            if time.time() - left.stat().st_mtime > _BEGUN_S:
                with left.open("rb") as file:
                    _claim(file.fileno())
                left.unlink()
    try:
        mode = 0o666 if like is None else 0o600
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, mode)
        with open(handle, "wb") as file:
            with suppress(OSError):  # a file system without locks
                _claim(handle)
            file.writelines(pieces)
            if like is not None and sys.platform != "win32":
                if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
                    with suppress(OSError):  # only root may change the owner
                        os.fchown(handle, like.st_uid, like.st_gid)
                os.fchmod(handle, S_IMODE(like.st_mode))
            file.flush()
            if sync:
                os.fsync(handle)
            if sys.platform == "win32":  # which renames no open file
                file.close()
            yield beside
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


_BINARY: Final = getattr(os, "O_BINARY", 0)
_BEGUN_S: Final = 1.0
"""Age at which a file beside another has been claimed by its writer."""


def _claim(handle: int) -> None:
    """Lock a file until it is closed.

    Raises:
        OSError: another one has locked it.
    """
    if sys.platform != "win32":  # which removes no open file
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _link_new(beside: Path, path: Path) -> bool:
    # A link, unlike a rename, fails if the name was taken in the meantime.
    try:
        os.link(beside, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        try:
            with beside.open("rb") as source, path.open("xb") as file:
                shutil.copyfileobj(source, file)
        except FileExistsError:
            return False
    return True


def check_person(name: str, flag: str) -> str:
    """Return the name of a person if a file can have it on every system.

    Raises:
        ConfigError: it cannot; it names the flag.
    """
    if not _PERSON.fullmatch(name) or not is_portable(name):
        raise ConfigError.of(
            flag,
            "value",
            found=f"{name!r:.80}",
            expected="a name of letters, digits, '.', '_' and '-'",
        )
    return name
