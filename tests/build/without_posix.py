"""A pytest plugin under which modules are collected without what Windows does not have."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator

# Once loaded: elsewhere these libraries need nothing that is hidden below.
import distributed  # noqa: F401
import pytest

_MODULES = ("fcntl", "grp", "pwd", "resource", "termios", "tty", "pty")
_NAMES = ("fork", "geteuid", "getuid", "killpg", "mkfifo", "getpgid", "setsid", "chown", "fchown")
_SIGNALS = ("SIGKILL", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGSTOP", "SIGCONT", "SIGQUIT")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Hide modules, functions and signals of POSIX while tests are collected."""
    with pytest.MonkeyPatch.context() as patch:
        for module in _MODULES:
            patch.setitem(sys.modules, module, None)
        for name in _NAMES:
            patch.delattr(os, name, raising=False)
        for number in _SIGNALS:
            patch.delattr(signal, number, raising=False)
        return (yield)
