"""Settings from pyproject.toml, flags and variables, and their faults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_rageval.project.settings import (
    load_settings,
)
from pytest_rageval.values.errors import ConfigError
from pytest_rageval.values.settings import Settings


def write(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


def load(
    folder: Path,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    return load_settings(folder, flags=flags or {}, environ=environ or {})


def faults(
    folder: Path,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(folder, flags, environ)
    return str(caught.value).splitlines()
