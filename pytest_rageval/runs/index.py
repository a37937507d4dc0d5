"""The index of runs at the end of a command, only where ``RAGEVAL_DB`` is set.

SQLAlchemy is imported only then; a failure of the index never fails the command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pytest_rageval.values.settings import Settings

VARIABLE: Final = "RAGEVAL_DB"
_PATIENCE_S: Final = 10.0
"""Longest wait for other processes that write the same run."""


def index_url(environ: Mapping[str, str]) -> str | None:
    """Return the path or URL of the index; None: none is configured."""
    return environ.get(VARIABLE, "").strip() or None


def put_into_index(
    run_ids: Iterable[str], settings: Settings, environ: Mapping[str, str]
) -> str | None:
    """Copy the state of some run folders into the index, if one is configured.

    Returns:
        One sentence for the user about a run that was not put in; None: all were.
    """
    url = index_url(environ)
    if url is None:
        return None
    rootdir, results = Path(settings.rootdir), settings.results_folder
    advice = "; the folders have it all, and rageval runs sync puts it in"
    try:
        from pytest_rageval.runs.history.database import IndexDatabase
        from pytest_rageval.runs.history.sync import RunIndex, find_origin

        with IndexDatabase(url, rootdir=rootdir, write=True, patience_s=_PATIENCE_S) as database:
            origin = find_origin(rootdir, results, environ)
            found = RunIndex(database, origin, results).put(run_ids)
    except Exception as error:  # a run must not be lost for any failure of the index
        # A URL, also a misspelled one, may hold a password; a path names the file to look at.
        text = str(error).replace(url, VARIABLE) if ":" in url else str(error)
        reason = " ".join(text.split()) or type(error).__name__
        return f"not in the index of runs: {reason}{advice}"
    broken = [line for lines in found.broken.values() for line in lines]
    return f"not wholly in the index of runs: {'; '.join(broken)}" if broken else None
