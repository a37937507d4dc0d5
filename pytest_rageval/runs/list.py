"""The runs of a project: entries of a list, their removal, and their figures for a trend."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pytest_rageval.analysis.compare.settings import compared_config
from pytest_rageval.analysis.trend import TrendQuery, TrendRun, run_figures
from pytest_rageval.runs.read import read_documents
from pytest_rageval.runs.reviews import NOTES, REVIEWS
from pytest_rageval.runs.store import (
    BEGUN,
    RESULTS,
    RUN_FILES,
    is_run,
    list_runs,
    run_time,
    time_in,
)
from pytest_rageval.runs.tags import tags_by_run
from pytest_rageval.support.files import FOLDER_LOCK, Lock, named_errors, refuse_link
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.settings import RUN_ID_RULE, TAGS, is_run_id

OF_PEOPLE: Final = frozenset({NOTES, REVIEWS})
"""Files and folders of a run that people wrote; such a run is never removed by its age."""

LISTED: Final = ("pass_rate", "hit_at_k", "correctness", "latency_ms.p95", "cost_usd.total")
"""Figures of a run in a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntry:
    """One run in a list; None: the run does not store the value."""

    run_id: str
    tags: tuple[str, ...]
    timestamp: str | None
    n_cases: int | None
    verdict: str | None
    """Of its gate: ``pass``, ``fail`` or ``not_evaluated``."""
    judge: str | None
    dataset_hash: str | None
    commit: str | None
    has_records: bool
    """Whether its records are stored, without which it cannot be compared."""
    figures: Mapping[str, float | None]
    """Those of ``LISTED`` that it has."""


def documents_of_runs(results_dir: Path, *, groups: bool = False) -> Iterator[StoredRun]:
    """Read the documents of every run with its tags, oldest first."""
    tags = tags_by_run(results_dir)
    for folder in list_runs(results_dir):
        yield read_documents(folder, tags=tags.get(folder.name, ()), groups=groups)


def unusable_folders(results_dir: Path) -> dict[str, str]:
    """Return the folders beside runs and sweeps that no page is made of, each with the reason."""
    if not results_dir.is_dir():
        return {}
    found = {}
    for folder in sorted(results_dir.iterdir()):
        if folder.name == TAGS or folder.name.startswith(".") or not folder.is_dir():
            continue
        # os.path: a folder that cannot be read is one to name, not an error
        if not os.path.isfile(folder / BEGUN) and (reason := _unusable(folder)):
            found[folder.name] = reason
    return found


def usable_runs(results_dir: Path) -> list[Path]:
    """Return the folders of runs that a page can be made of, in any order; no file is read."""
    if not results_dir.is_dir():
        return []
    return [folder for folder in results_dir.iterdir() if not _unusable(folder)]


def _unusable(folder: Path) -> str:
    if folder.is_symlink():
        return "is a link, which is not followed"
    if not is_run_id(folder.name):
        return f"its name is not that of a run: expected {RUN_ID_RULE}"
    if not is_run(folder):
        return f"holds none of {', '.join(RUN_FILES)}: it is of a killed session, or no run"
    return ""


def run_entry(run: StoredRun) -> RunEntry:
    """Describe one run from its documents."""
    figures = () if run.aggregate is None else run_figures(run.aggregate, run.config)
    values = {one.metric: one.value for one in figures if one.scope == "overall"}
    return RunEntry(
        run_id=run.run_id,
        tags=run.tags,
        timestamp=run.config.timestamp,
        n_cases=None if run.aggregate is None else run.aggregate.total,
        verdict=run.verdict,
        judge=run.judge,
        dataset_hash=run.config.dataset_hash,
        commit=run.config.git.commit,
        has_records=(run.folder / RESULTS).is_file(),
        figures={key: values[key] for key in LISTED if key in values},
    )


def run_to_compare_with(run: StoredRun, runs: Sequence[StoredRun]) -> StoredRun | None:
    """Choose of all runs, oldest first, the one that a reader most likely wants the differences to.

    That is the baseline of its gate, or else the last run before it, which asked the whole set if
    this one did. Only runs with records count; None if absent.
    """
    stored = [one for one in runs if (one.folder / RESULTS).is_file()]
    named = run.baseline.run_id
    at = next((place for place, one in enumerate(stored) if one.run_id == run.run_id), 0)
    for one in stored:
        if one.run_id == named != run.run_id:
            return one
    before = [one for one in stored[:at] if is_partial(run) or not is_partial(one)]
    return before[-1] if before else None


def last_full_run(folders: Sequence[Path]) -> Path | None:
    """Return the last of these runs, oldest first, that asked its whole set; None: none did."""
    return next((one for one in reversed(folders) if not is_partial_run(one)), None)


def is_partial_run(folder: Path) -> bool:
    """Whether the documents of a run say that it is partial; False: they cannot be read."""
    try:
        return is_partial(read_documents(folder, groups=False))
    except StorageError:  # comparing the run reports the fault
        return False


def is_partial(run: StoredRun, *, of_files: bool = False) -> bool:
    """Whether a run asked only some cases of its set: by ``-k``, for a file, or until it stopped.

    A run that does not store its set counts as complete.

    Args:
        run: its documents.
        of_files: whether the case files that were asked for count as the set.
    """
    if run.gate is not None and not run.gate.complete:
        return True
    whole, asked = run.config.set, run.config.dataset_hash
    if whole.hash is None or asked in {None, whole.hash}:
        return False
    if of_files and asked == whole.asked_hash:
        return False
    return not _misses_only_skipped(run, whole.n_asked if of_files else whole.n_cases)


def _misses_only_skipped(run: StoredRun, n: int) -> bool:
    # The hash of a merged run covers its records, and a skipped case has no record.
    config = run.config
    if not config.merged_from or not config.skipped or run.aggregate is None:
        return False
    skipped = {nodeid.split("[", 1)[0] for nodeid in config.skipped}
    return run.aggregate.total + len(skipped) >= n


def ran_at(run: StoredRun) -> datetime:
    """Return the time of a run in UTC, by which runs are ordered.

    Raises:
        OSError: the folder is gone.
    """
    stored = time_in(run.config.timestamp)
    try:
        return datetime.fromtimestamp(run_time(run.folder) if stored is None else stored, UTC)
    except (OverflowError, ValueError):  # an impossible year, in a file of another tool
        return datetime.fromtimestamp(run.folder.stat().st_mtime, UTC)


def runs_to_prune(results_dir: Path, *, keep: int, spared: Collection[str] = ()) -> list[Path]:
    """Return the runs that are neither new nor tagged, noted on or reviewed, oldest first.

    Args:
        results_dir: folder of all runs.
        keep: number of the newest runs that stay, tagged ones included.
        spared: ids of further runs that stay.
    """
    runs = list_runs(results_dir)
    tagged = tags_by_run(results_dir)
    return [
        path
        for path in runs[: max(len(runs) - keep, 0)]
        if path.name not in tagged
        and path.name not in spared
        and not any((path / one).exists() for one in OF_PEOPLE)
    ]


_MANY_RUNS: Final = 20
_MANY_BYTES: Final = 100_000_000
_KEPT: Final = 10


def prune_hint(results_dir: Path, shown: str) -> str | None:
    """Offer to remove old runs; None: there are few and they are small.

    Only the folders of runs and the sizes of their files are listed; nothing is read.
    """
    tagged = tags_by_run(results_dir)
    sizes: list[int] = []
    try:
        with os.scandir(results_dir) as folders:
            for folder in folders:
                if folder.is_dir(follow_symlinks=False) and folder.name not in tagged:
                    with os.scandir(folder) as files:
                        found = {file.name: file.stat(follow_symlinks=False) for file in files}
                    of_people = not OF_PEOPLE.isdisjoint(found)
                    if not found.keys().isdisjoint(RUN_FILES) and not of_people:
                        sizes.append(sum(file.st_size for file in found.values()))
    except OSError:  # another process removes a run
        return None
    if len(sizes) <= _MANY_RUNS and (sum(sizes) <= _MANY_BYTES or len(sizes) < 2):
        return None
    keep = min(_KEPT, len(sizes) // 2)
    size = f"{sum(sizes) / 1e6:,.0f} MB"
    return f"{len(sizes)} untagged runs, {size}, in {shown}: rageval runs prune --keep {keep}"


def remove_run(folder: Path, *, dry_run: bool = False) -> None:
    """Remove the folder of a run, or only check that it can be removed.

    Raises:
        StorageError: a session is writing it, or it cannot be removed.
    """
    refuse_link(folder)
    with named_errors(folder, StorageError, "unremovable"):
        with Lock(folder, wait=False, what="run") as lock:
            for path in () if dry_run else folder.iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                elif not (lock.held and path.name == FOLDER_LOCK):  # Windows keeps an open file
                    path.unlink()
        if not dry_run:
            folder.rmdir()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendSource:
    """Runs of a trend, with the known names for a hint about a misspelled one."""

    runs: tuple[TrendRun, ...]
    """Every run with figures, in any order, with the requested one."""
    metrics: frozenset[str]
    """Names of all figures of any of them."""
    groups: frozenset[str]
    """Categories, tags, ... of the requested scope."""


def read_trend(results_dir: Path, query: TrendQuery) -> TrendSource:
    """Read the documents of every run that has figures.

    Raises:
        OSError: the folder of a run is gone.
    """
    runs: list[TrendRun] = []
    metrics: set[str] = set()
    groups: set[str] = set()
    for run in documents_of_runs(results_dir, groups=query.scope != "overall"):
        if run.aggregate is None:
            continue
        wanted = None
        for figure in run_figures(run.aggregate, run.config):
            metrics.add(figure.metric)
            if figure.scope == query.scope:
                groups.add(figure.group)
                if figure.metric == query.metric and figure.group == query.group:
                    wanted = figure
        shown = TrendRun(
            run_id=run.run_id,
            ran_at=ran_at(run),
            figure=wanted,
            tags=run.tags,
            verdict=run.verdict,
            config_hash=run.config.config_hash,
            dataset_hash=run.config.dataset_hash,
            config=compared_config(run.config),
            partial=is_partial(run),
        )
        runs.append(shown)
    return TrendSource(runs=tuple(runs), metrics=frozenset(metrics), groups=frozenset(groups))
