"""The index of runs at the end of a command: only where ``RAGEVAL_DB`` is set, never in the way.

Standard library alone until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

VARIABLE: Final = "RAGEVAL_DB"
_PATIENCE_S: Final = 10.0
"""How long the end of a run waits for others who write the same."""


def index_url(environ: Mapping[str, str]) -> str | None:
    """Return where the index lies; None: nobody wants one."""
    return environ.get(VARIABLE, "").strip() or None


def put_into_index(
    run_ids: Iterable[str], results_dir: Path, rootdir: Path, environ: Mapping[str, str]
) -> str | None:
    """Let the index say what the folders of some runs say, where there is to be one.

    Args:
        run_ids: runs that were written, tagged or removed.
        results_dir: folder of all runs.
        rootdir: of the project.
        environ: environment variables.

    Returns:
        One sentence for the user about what was not put in; None: all is well.
    """
    url = index_url(environ)
    if url is None:
        return None
    advice = "; the folders have it all, and rageval runs sync puts it in"
    try:
        broken = _put(run_ids, results_dir, rootdir, environ, url)
    except Exception as error:  # whatever it is, a run must not be lost for it
        text = str(error).replace(url, VARIABLE)  # which may hold a password
        reason = " ".join(text.split()) or type(error).__name__
        return f"not in the index of runs: {reason}{advice}"
    return f"not wholly in the index of runs: {'; '.join(broken)}" if broken else None


def _put(
    run_ids: Iterable[str],
    results_dir: Path,
    rootdir: Path,
    environ: Mapping[str, str],
    url: str,
) -> list[str]:
    from pytest_rageval.runs.history.database import IndexDatabase
    from pytest_rageval.runs.history.run_rows import find_origin
    from pytest_rageval.runs.history.sync import RunIndex

    with IndexDatabase(url, rootdir=rootdir, write=True, patience_s=_PATIENCE_S) as database:
        origin = find_origin(rootdir, results_dir, environ)
        found = RunIndex(database, origin, results_dir).put(run_ids)
    return [line for lines in found.broken.values() for line in lines]
