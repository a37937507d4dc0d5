"""Loads a module again and again, and uses it at once on several threads, as at its first use.

As a script: of the module's name and an expression of ``module``; what crashes ends its process.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from importlib import import_module, reload

_TIMES = 12
_THREADS = 8


def exit_code_of_first_uses(module: str, expression: str) -> int:
    """Return the exit code of a process in which the threads evaluate the expression."""
    command = [sys.executable, "-m", __name__, module, expression]
    return subprocess.run(command, check=False, timeout=120).returncode


def _use(name: str, expression: str) -> None:
    sys.setswitchinterval(1e-6)
    module = import_module(name)
    for _ in range(_TIMES):
        for kind in [*vars(module).values()]:
            if "__msgspec_cache__" in getattr(kind, "__dict__", ()):  # what it knows of the type
                del kind.__msgspec_cache__
        reload(module)
        together = threading.Barrier(_THREADS)

        def use(known: dict[str, object], together: threading.Barrier = together) -> None:
            together.wait()
            eval(expression, known)

        threads = [
            threading.Thread(target=use, args=({"module": module},)) for _ in range(_THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    _use(*sys.argv[1:])
