"""Passes of each case in the last runs of the main branch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from pytest_rageval.analysis.aggregate.case_groups import CaseOutcome, pass_share
from pytest_rageval.analysis.stats.intervals import fmean
from pytest_rageval.runs.baseline import stored_runs
from pytest_rageval.runs.documents import decoded
from pytest_rageval.runs.git import git_state, read_history
from pytest_rageval.runs.list import is_partial
from pytest_rageval.runs.read import read_documents
from pytest_rageval.runs.store import RESULTS
from pytest_rageval.support.files import open_plain
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.run import GitState, StoredRun
from pytest_rageval.values.settings import Settings

LAST_RUNS: Final = 20
_FEWEST: Final = 5
"""Runs that are needed to call a case unstable."""
_UNSTABLE: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseStability:
    """Passes of a case with its newest content in the last runs."""

    nodeid: str
    rate: float
    """Share of the runs in which it passed, 0 to 1; of several answers in a run their share."""
    runs: int
    """Runs that could check it."""

    @property
    def unstable(self) -> bool:
        """Whether it passed in some of enough runs, and in fewer than 80 %."""
        return self.runs >= _FEWEST and 0 < self.rate < _UNSTABLE


class _Case(msgspec.Struct):
    id: str


class _Scores(msgspec.Struct):
    outcome: CaseOutcome
    unchecked: bool = False


class _Line(msgspec.Struct):
    """The fields of a record that count, which are read many times faster than all of them."""

    file: str
    case: _Case
    case_hash: str
    scores: _Scores
    parameters: str = ""
    repeat: int = 0
    again: str | None = None


_DECODER: Final = msgspec.json.Decoder(_Line)


def runs_of_main(project: Settings, before: StoredRun | None = None) -> tuple[str, list[StoredRun]]:
    """Return the name of the main branch and its last complete runs, the newest first.

    A run is one of the main branch if it was made of a commit of it without changes.

    Args:
        project: with the folder of the runs.
        before: the run that is left out, with those of later commits; None: none.

    Raises:
        StorageError: the documents of a run cannot be read.
    """
    root = Path(project.rootdir)
    commit = before.config.git.commit if before is not None else git_state(root).commit
    history = read_history(root, project.main_branch, GitState(commit=commit))
    own = "" if before is None else before.run_id
    found = [
        run
        for folder in stored_runs(project)
        if folder.name != own and (folder / RESULTS).is_file()
        for run in [read_documents(folder, groups=False)]
        if run.config.git.commit in history.commits and not run.config.git.dirty
        if not is_partial(run)
    ]
    return history.main, sorted(found, key=lambda run: run.config.timestamp or "", reverse=True)


def case_stability(runs: Sequence[StoredRun], last: int = LAST_RUNS) -> list[CaseStability]:
    """Return how often each case passed, those that pass least often first.

    Of a case whose content has changed only the runs of its newest content count.

    Args:
        runs: the newest first.
        last: number of runs to read.

    Raises:
        StorageError: a record cannot be read.
    """
    contents: dict[str, str] = {}
    shares: dict[str, list[float]] = {}
    for run in islice(runs, last):
        outcomes: dict[str, list[CaseOutcome]] = {}
        for line in _lines(run.folder):
            nodeid = f"{line.file}::{line.case.id}{line.parameters}"
            chosen = line.again is not None and line.repeat > 0
            if not chosen and contents.setdefault(nodeid, line.case_hash) == line.case_hash:
                outcome = line.scores.outcome
                unchecked = line.scores.unchecked and outcome == "passed"
                outcomes.setdefault(nodeid, []).append("unchecked" if unchecked else outcome)
        for nodeid, found in outcomes.items():
            if (share := pass_share(found)) is not None:
                shares.setdefault(nodeid, []).append(share)
    every = [
        CaseStability(nodeid=nodeid, rate=fmean(found) or 0.0, runs=len(found))
        for nodeid, found in shares.items()
    ]
    return sorted(every, key=lambda one: (one.rate, one.nodeid))


def _lines(folder: Path) -> Iterator[_Line]:
    with open_plain(folder / RESULTS) as file:
        for line in file:
            if line.strip():
                try:
                    yield decoded(line, _DECODER)
                except StorageError as error:
                    raise error.within(run=folder.name) from error
