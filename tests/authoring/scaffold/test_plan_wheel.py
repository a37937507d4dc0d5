"""The files of a new project are in the package that users install."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pytest_rageval.authoring.scaffold.plan import read_templates

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_every_template_is_in_the_wheel_as_it_is_here(tmp_path: Path) -> None:
    build = f"import hatchling.build; print(hatchling.build.build_wheel({str(tmp_path)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", build],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=120,
    )
    with zipfile.ZipFile(tmp_path / done.stdout.split()[-1]) as wheel:
        prefix = "pytest_rageval/authoring/scaffold/files/"
        held = {
            name.removeprefix(prefix): wheel.read(name)
            for name in wheel.namelist()
            if name.startswith(prefix)
        }
    assert held == read_templates()
