"""Files that several sessions share: locks, and new content that is there whole or not at all."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from stat import S_IMODE
from typing import Final, Self

from pytest_rageval.values.errors import StorageError

_POLL_S: Final = 0.01


class Lock:
    """Keeps other sessions away from a path until it is closed, or its process ends.

    It is a lock on a file beside the path, ``.NAME.lock``, which is removed in the end. Where the
    file cannot be made, or the file system has no locks, nothing is held.

    Args:
        path: a file or folder.
        wait: whether to wait for a session that holds it.

    Raises:
        StorageError: another session, of this process or any other, holds it.
    """

    def __init__(self, path: Path, *, wait: bool) -> None:
        from filelock import FileLock, Timeout

        self._file = path.with_name(f".{path.name}.lock")
        # Not of one thread: a run may be closed on another than it was opened on.
        self._lock = FileLock(self._file, thread_local=False)
        if not self._file.parent.is_dir():  # which the lock would make
            return
        try:
            self._lock.acquire(timeout=-1 if wait else 0, poll_interval=_POLL_S)
        except Timeout:
            raise StorageError(
                f"{path}: another session is writing this run; wait until it has ended"
            ) from None
        except OSError:
            return

    @property
    def held(self) -> bool:
        """Whether others are kept away."""
        return self._lock.is_locked

    def close(self) -> None:
        """Release the lock; further calls do nothing."""
        if self.held:
            # Still held, so that nobody else's is removed; whoever waits for it notices.
            with suppress(OSError):  # on Windows an open file stays
                self._file.unlink()
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def write_file(path: Path, content: bytes) -> None:
    """Write a file beside its place and rename it: readers see the old one or the new one.

    Raises:
        OSError: it cannot be written.
    """
    with written_beside(path, [content]) as beside:
        os.replace(beside, path)


def write_new_file(path: Path, pieces: Iterable[bytes]) -> bool:
    """Write a file whole, unless its name is taken, even by a link that leads nowhere.

    Returns:
        Whether it was written; False: something of this name is there, and stays as it is.

    Raises:
        OSError: it cannot be written.
    """
    if os.path.lexists(path):
        return False
    with written_beside(path, pieces, sync=True) as beside:
        return _link_new(beside, path)


@contextmanager
def written_beside(
    path: Path,
    pieces: Iterable[bytes],
    *,
    sync: bool = False,
    like: os.stat_result | None = None,
) -> Iterator[Path]:
    """Yield a file beside a path that holds its new content, and remove it unless it was renamed.

    Args:
        path: where the content is to be in the end.
        pieces: the content.
        sync: whether it must survive a loss of power.
        like: whose mode and owner the file gets; None: those of any new file.

    Raises:
        OSError: it cannot be written.
    """
    # The process id keeps two writers of one file from sharing the one beside it.
    beside = path.with_name(f"{_prefix(path)}{os.getpid()}.tmp")
    try:
        mode = 0o666 if like is None else 0o600
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, mode)
        with open(handle, "wb") as file:
            file.writelines(pieces)
            if like is not None and sys.platform != "win32":
                if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
                    with suppress(OSError):  # only root may give a file away
                        os.fchown(handle, like.st_uid, like.st_gid)
                os.fchmod(handle, S_IMODE(like.st_mode))
            if sync:
                file.flush()
                os.fsync(handle)
        yield beside
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def remove_left_over(path: Path) -> None:
    """Remove what killed writers left beside a path; only while its lock is held."""
    for beside in path.parent.glob(f"{escape(_prefix(path))}*.tmp"):
        with suppress(OSError):
            beside.unlink()


_BINARY: Final = getattr(os, "O_BINARY", 0)


def _prefix(path: Path) -> str:
    return f".{path.name}.rageval-"


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
