"""Writes a file that is not there yet: whole or not at all, and never over one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path


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
