"""All runs of a project: what they say of themselves, and which may go."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_rageval.runs.store import RESULTS, list_runs, read_json, run_time
from pytest_rageval.runs.tags import tags_by_run
from pytest_rageval.support.files import Lock
from pytest_rageval.values.errors import StorageError


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntry:
    """One run in a list; None: it does not say."""

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
    """Whether its records are here, without which it cannot be compared."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**asdict(self), "tags": list(self.tags)}


def run_entries(results_dir: Path) -> list[RunEntry]:
    """Describe every run, oldest first."""
    tags = tags_by_run(results_dir)
    return [run_entry(folder, tags.get(folder.name, ())) for folder in list_runs(results_dir)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDocuments:
    """The JSON documents of a run; empty: it has none, or one that cannot be read."""

    config: Mapping[str, Any]
    metrics: Mapping[str, Any]
    gate: Mapping[str, Any]


def run_documents(folder: Path) -> RunDocuments:
    """Read the documents of a run; one that was cut short, or of foreign origin, may lack any."""
    return RunDocuments(
        config=_read(folder / "config.json"),
        metrics=_read(folder / "metrics.json"),
        gate=_read(folder / "gate.json"),
    )


def run_entry(folder: Path, tags: tuple[str, ...]) -> RunEntry:
    """Describe one run from its folder."""
    return describe_run(folder, tags, run_documents(folder))


def describe_run(folder: Path, tags: tuple[str, ...], documents: RunDocuments) -> RunEntry:
    """Describe one run from its documents."""
    config, metrics = documents.config, documents.metrics
    git = config.get("git")
    commit = git.get("commit") if isinstance(git, Mapping) else None
    total = metrics.get("total_tests")
    judge = config.get("judge") or ("none" if "judge" in config else None)
    return RunEntry(
        run_id=folder.name,
        tags=tags,
        timestamp=_text(metrics.get("timestamp") or config.get("timestamp")),
        n_cases=total if isinstance(total, int) else None,
        verdict=_text(documents.gate.get("verdict")),
        judge=_text(judge),
        dataset_hash=_text(metrics.get("dataset_hash") or config.get("dataset_hash")),
        commit=_text(commit),
        has_records=(folder / RESULTS).is_file(),
    )


def config_hash_of(documents: RunDocuments) -> str | None:
    """Return the hash of the configuration of a run; None: it does not say."""
    return _text(documents.metrics.get("config_hash") or documents.config.get("config_hash"))


def is_partial(documents: RunDocuments) -> bool:
    """Say whether a run asked only some cases of its set, as with ``-k`` or for a single file.

    One that does not say of which set its cases are is taken for whole.
    """
    told = documents.config.get("set")
    whole = told.get("hash") if isinstance(told, Mapping) else None
    asked = documents.metrics.get("dataset_hash") or documents.config.get("dataset_hash")
    if not isinstance(whole, str) or not isinstance(asked, str) or asked == whole:
        return False
    return not _misses_only_skipped(documents)


def _misses_only_skipped(documents: RunDocuments) -> bool:
    # The hash of a merged run is one over its records, and a case that was skipped has none.
    config, total = documents.config, documents.metrics.get("total_tests")
    skipped, n_cases = config.get("skipped"), config["set"].get("n_cases")
    if "merged_from" not in config or not isinstance(skipped, list) or not skipped:
        return False
    if type(total) is not int or type(n_cases) is not int:
        return False
    return total + len({str(nodeid).split("[", 1)[0] for nodeid in skipped}) >= n_cases


def ran_at(folder: Path) -> datetime:
    """Return when a run was made, in UTC, by which runs are ordered.

    Raises:
        OSError: the folder is gone.
    """
    try:
        return datetime.fromtimestamp(run_time(folder), UTC)
    except (OverflowError, ValueError):  # a year that no calendar has, in a file of others
        return datetime.fromtimestamp(folder.stat().st_mtime, UTC)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_json(path)
    except StorageError:  # a run that was cut short, or of foreign origin, may lack it
        return {}


def runs_to_prune(results_dir: Path, *, keep: int, spared: Collection[str] = ()) -> list[Path]:
    """Return the runs that are neither among the newest nor tagged, oldest first.

    Args:
        results_dir: folder of all runs.
        keep: how many of the newest runs stay, tagged ones counted.
        spared: ids of further runs that stay.
    """
    runs = list_runs(results_dir)
    tagged = tags_by_run(results_dir)
    old = runs[: max(len(runs) - keep, 0)]
    return [path for path in old if path.name not in tagged and path.name not in spared]


def remove_run(folder: Path) -> None:
    """Remove the folder of a run.

    Raises:
        StorageError: a session is writing it, or it cannot be removed.
    """
    if folder.is_symlink():
        raise StorageError(f"{folder}: is a link, expected a folder; remove it by hand")
    with Lock(folder, wait=False):
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise StorageError(f"{folder}: cannot be removed: {error.strerror}") from error
