"""The cases that missed or erred in a stored run, as a selection of a session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_rageval.runs.read import failed_cases, read_run
from pytest_rageval.runs.store import resolve_run
from pytest_rageval.values.settings import Settings

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCases:
    """File and name of the items to ask, and what the user should know about them."""

    cases: frozenset[tuple[str, str]]
    notes: tuple[str, ...] = ()


def select_failed(settings: Settings, known: Iterable[tuple[str, str]]) -> FailedCases:
    """Read the run that ``--rageval-failed-from`` names.

    Args:
        settings: of the session; ``failed_from`` is set.
        known: file and id of the cases of the set.

    Raises:
        StorageError: no run or more than one is meant, or it cannot be read.
    """
    results = Path(settings.rootdir) / settings.results_dir
    run = read_run(resolve_run(results, settings.failed_from or ""))
    failed = failed_cases(run)
    if not failed:
        sentence = f"nothing to select: no case missed or erred in run {run.run_id}"
        return FailedCases(cases=frozenset(), notes=(sentence,))
    there = frozenset(known)
    gone = [(file, name) for file, name in failed if (file, name.split("[", 1)[0]) not in there]
    still = frozenset(failed).difference(gone)
    if not gone:
        return FailedCases(cases=still)
    ids = ", ".join(name for _, name in gone[:_SHOWN]) + (" ..." if len(gone) > _SHOWN else "")
    count = f"{len(gone)} of the {len(failed)} cases that failed in run {run.run_id}"
    sentence = f"{count} {'is' if len(gone) == 1 else 'are'} not in the set any more: {ids}"
    return FailedCases(cases=still, notes=(sentence,))
