"""Keeps two sessions from writing one run folder: a lock that dies with its process."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from pytest_rageval.values.errors import StorageError

_TAKEN = frozenset({errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK})


class FolderLock:
    """Holds the lock of a folder until it is closed.

    The lock is on the folder itself, so it leaves no file behind. Windows and some network file
    systems cannot lock a folder; there nothing is held.

    Raises:
        StorageError: another session, of this process or any other, holds it.
    """

    def __init__(self, folder: Path) -> None:
        self._fd = _locked(folder)

    def close(self) -> None:
        """Let go; further calls do nothing."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


if sys.platform == "win32":

    def _locked(folder: Path) -> int | None:
        """Hold nothing: a folder cannot be opened here."""
        return None

else:
    import fcntl

    def _locked(folder: Path) -> int | None:
        """Return the descriptor that holds the lock; None: it cannot be had here."""
        fd = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.close(fd)
            if error.errno in _TAKEN:
                raise StorageError(
                    f"{folder}: another session is writing this run; wait until it has ended"
                ) from None
            return None
        return fd


def write_new_file(path: Path, pieces: Iterable[bytes]) -> bool:
    """Write a file whole, unless its name is taken, even by a link that leads nowhere.

    Returns:
        Whether it was written; False: something of this name is there, and stays as it is.

    Raises:
        OSError: it cannot be written.
    """
    if os.path.lexists(path):
        return False
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        return _link_new(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _link_new(beside: Path, path: Path) -> bool:
    # A link, unlike a rename, fails where somebody took the name meanwhile.
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
