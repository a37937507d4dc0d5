"""Tests are collected where POSIX is not, such as on Windows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
QUIETLY = (
    "--collect-only",
    "-q",
    "-m",
    "not slow",
    "--ignore=tests/docs",
    "-p",
    "no:cacheprovider",
)


@pytest.mark.slow
def test_every_module_of_quick_tests_is_collected_without_posix() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.build.without_posix", *QUIETLY],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
