"""Cases of a case file as plain values."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_rageval.project import case_reader
from pytest_rageval.values.case import Case


def load_cases(path: str | os.PathLike[str]) -> tuple[Case, ...]:
    """Read the cases of a case file, in its order.

    Raises:
        DatasetError: with every fault of the file.
    """
    return tuple(located.case for located in case_reader.load_cases(Path(path)).cases)
