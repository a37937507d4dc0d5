"""Running of a whole process, with its time and memory, for several benchmarks."""

from __future__ import annotations

import argparse
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final, Protocol, TypeVar

_MB: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Time and memory of a process and of the processes that it waited for."""

    exit_code: int
    wall_s: float
    cpu_s: float
    """Of all of them."""
    rss_mb: float
    """Peak, of the largest of them."""


def run_process(
    command: Sequence[str], folder: Path, output: Path, environment: Mapping[str, str] | None = None
) -> Usage:
    """Run a command in a folder; what it prints goes to a file."""
    began = time.perf_counter()
    with output.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT
        )
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
    return Usage(
        exit_code=process.returncode,
        wall_s=time.perf_counter() - began,
        cpu_s=usage.ru_utime + usage.ru_stime,
        rss_mb=usage.ru_maxrss / _MB,
    )


class _Measured(Protocol):
    @property
    def cpu_s(self) -> float: ...


M = TypeVar("M", bound=_Measured)


def middle(results: Sequence[M]) -> M:
    """The result with the median of CPU time, or one of the two nearest to it."""
    wanted = median(result.cpu_s for result in results)
    return min(results, key=lambda result: abs(result.cpu_s - wanted))


def positive(text: str) -> int:
    """Read the argument of an option."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"got {number}, expected at least 1")
    return number
