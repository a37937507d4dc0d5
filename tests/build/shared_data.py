"""Folder of the shared evaluation data, for the tests that read it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared_path(*parts: str) -> Path:
    """Return a path below the shared data; skip the test where it is absent.

    The folder is named by RAGEVAL_SHARED, else it is ``shared`` beside the repository.
    """
    default = Path(__file__).resolve().parents[3] / "shared"
    path = Path(os.environ.get("RAGEVAL_SHARED", default)).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"shared data not found: {'/'.join(parts) or 'root'} (set RAGEVAL_SHARED)")
    return path
