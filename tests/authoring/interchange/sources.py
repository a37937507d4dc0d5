"""Sources for readers: the small samples of this project, and texts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_rageval.authoring.interchange.files import open_source
from pytest_rageval.authoring.interchange.registry import FORMATS
from pytest_rageval.authoring.interchange.values import Imported, ReadOptions, Source, SourceFile
from pytest_rageval.project.case_reader import parse_case
from pytest_rageval.values.case import Case

SAMPLES = Path(__file__).resolve().parents[2] / "data" / "interchange"


def read_samples(name: str, *files: str, **options: Any) -> Imported:
    """Read samples as ``rageval import`` does."""
    chosen = FORMATS[name]
    paths = [str(SAMPLES / file) for file in files]
    return chosen.read(open_source(paths, ReadOptions(**options), suffixes=chosen.suffixes))


def read_texts(name: str, texts: Mapping[str, str], **options: Any) -> Imported:
    """Read texts by file name."""
    files = tuple(SourceFile(name=file, text=text) for file, text in texts.items())
    return FORMATS[name].read(Source(files=files, options=ReadOptions(**options)))


def cases_of(found: Imported) -> tuple[Case, ...]:
    """Return what was read as cases, which must keep our own rules."""
    return tuple(parse_case(line) for line in found.cases)


def left_out(found: Imported) -> dict[str, int]:
    """Return how often each field was left out."""
    return {one.field: one.count for one in found.left_out}
