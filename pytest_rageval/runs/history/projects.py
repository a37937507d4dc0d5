"""Which project the runs of a results folder belong to, and which folder they came from."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_rageval.runs.provenance import git_repository
from pytest_rageval.support.http.address import without_secrets

VARIABLE: Final = "RAGEVAL_PROJECT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What the rows of a results folder are found by."""

    project: str
    """Keeps the projects of one database apart."""
    source: str
    """Folder and machine, 16 hex digits: several checkouts of a project may fill one index, and a
    sync takes out only what the folder in hand has put in."""


def find_origin(
    rootdir: Path, results_dir: Path, environ: Mapping[str, str], *, project: str | None = None
) -> Origin:
    """Say what the runs of a results folder are known by.

    The project is what the user calls it, else the address of the repository's ``origin`` and the
    place of the results in it, else the name of the folder and what tells it from others.

    Args:
        rootdir: of the project.
        results_dir: folder of all runs.
        environ: where ``RAGEVAL_PROJECT`` may stand.
        project: its name, as a flag gave it.
    """
    source = _source(results_dir)
    named = (project or environ.get(VARIABLE, "")).strip()
    key = named or _repository_key(rootdir, results_dir)
    return Origin(project=key or f"{rootdir.resolve().name}-{source[:8]}", source=source)


def _repository_key(rootdir: Path, results_dir: Path) -> str | None:
    found = git_repository(rootdir)
    if found is None:
        return None
    remote, top = found
    place = results_dir.resolve()
    top = top.resolve()
    inside = place.relative_to(top) if place.is_relative_to(top) else place
    return f"{_bare(remote)}:{inside.as_posix()}"


def _bare(remote: str) -> str:
    """Return an address alike for everybody who cloned from it, and without credentials.

    >>> _bare("https://ann:token@github.com/acme/bot.git"), _bare("git@github.com:acme/bot.git")
    ('github.com/acme/bot', 'github.com/acme/bot')
    """
    text = without_secrets(remote.strip())
    match = re.fullmatch(r"(?:[^@/\s]+@)?([^:/\s]+):(?!//)(.+)", text)  # as scp writes it
    if match:
        text = f"{match[1]}/{match[2]}"
    text = re.sub(r"^[a-z][a-z0-9+.-]*://(?:[^@/]*@)?", "", text, flags=re.IGNORECASE)
    host, slash, path = text.partition("/")
    return f"{re.sub(r':[0-9]+$', '', host).lower()}{slash}{path.rstrip('/').removesuffix('.git')}"


def _source(results_dir: Path) -> str:
    # A hash, as names of machines and of their users are nobody's business.
    place = f"{platform.node()}:{results_dir.resolve()}"
    return hashlib.sha256(place.encode("utf-8", "backslashreplace")).hexdigest()[:16]
