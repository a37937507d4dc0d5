"""Takes away what lets root write everything, so that tests of read-only places hold for root."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_VERSION_3 = 0x20080522
"""Of the kernel's capability calls: two sets of effective, permitted and inheritable bits."""


@contextmanager
def without_root_rights() -> Iterator[None]:
    """Let the permission bits of files count, for this thread; skip the test where they cannot."""
    if os.name != "posix":
        pytest.skip("no permission bits here")
    if os.geteuid() != 0:
        yield
        return
    if not sys.platform.startswith("linux"):
        pytest.skip("run as root, whom no permission stops")
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    held = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, held) == 0
    none_in_effect = (ctypes.c_uint32 * 6)(0, held[1], held[2], 0, held[4], held[5])
    assert libc.capset(header, none_in_effect) == 0
    try:
        yield
    finally:
        assert libc.capset(header, held) == 0
