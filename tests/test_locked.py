"""The locked requirements name what ``pyproject.toml`` asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent


def test_every_dependency_is_locked_for_machines_without_uv() -> None:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*content["project"]["dependencies"], *content["dependency-groups"]["dev"]]
    lines = (ROOT / ".ci" / "requirements.txt").read_text(encoding="utf-8")
    locked = set(re.findall(r"^([A-Za-z0-9._-]+)(?:\[.*\])?==", lines, re.MULTILINE))
    names = {canonicalize_name(Requirement(one).name) for one in wanted}
    assert names - {canonicalize_name(name) for name in locked} == set()
