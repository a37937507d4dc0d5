"""Baselines that are found and not named: the stored runs, and the run that a person approved."""

from __future__ import annotations

import atexit
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pytest_rageval.analysis.aggregate.case_groups import group_repeats
from pytest_rageval.analysis.baseline import (
    BaselineCandidate,
    ChoiceSettings,
    choose_baseline,
    refusal,
)
from pytest_rageval.analysis.compare.settings import compare_configs
from pytest_rageval.runs.git import git_state, read_history, run_git
from pytest_rageval.runs.list import is_partial, last_full_run
from pytest_rageval.runs.read import read_documents, read_run
from pytest_rageval.runs.store import (
    RESULTS,
    RUN_FILES,
    is_run,
    list_runs,
    read_document,
    resolve_run,
    time_in,
    write_document,
)
from pytest_rageval.support.files import named_errors, shown_below
from pytest_rageval.support.text import clean, first_few
from pytest_rageval.values.baseline import Approval, ApprovedMean, BaselineChoice, Refusal
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.run import NO_CONFIG, StoredRun
from pytest_rageval.values.settings import AUTO, LAST, Settings

APPROVAL: Final = "baseline.json"
"""File of the approved run, beside the folder of runs; it belongs in git."""
_MOST_BYTES: Final = 4_000_000_000
"""Size of the files of an archive together."""
_UNFIT: Final[Mapping[Refusal | None, str]] = {
    "no_records": "without results.jsonl",
    "other_files": "other case files",
    "partial": "a part of its set",
}
"""Reasons why the last run is not the baseline; a failed gate is not one of them."""
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBaseline:
    """A choice, and the folder of the run that was chosen."""

    choice: BaselineChoice | None = None
    """None: the baseline was named."""
    folder: Path | None = None
    """None: there is no baseline."""


def find_baseline(run: StoredRun, project: Settings, *, parts: Sequence[str] = ()) -> FoundBaseline:
    """Choose the baseline of a run among those stored.

    Args:
        run: the new one, of which only the documents are read.
        project: with the folder or archive of the runs.
        parts: ids of runs that it consists of.

    Raises:
        StorageError: the archive or the approval cannot be read.
    """
    folders = {one.name: one for one in stored_runs(project)}
    approval = read_approval(project)
    candidates = []
    for name, folder in folders.items():
        if name not in {run.run_id, *parts} or folder.parent != project.results_folder:
            candidates.append(_candidate(read_documents(folder, groups=False), approval))
    given = ChoiceSettings(
        now=datetime.now(UTC).timestamp(),
        where=_shown_place(project),
        max_days=project.baseline_max_days,
        max_commits=project.baseline_max_commits,
    )
    choice = choose_baseline(
        _candidate(run, None),
        candidates,
        read_history(Path(project.rootdir), project.main_branch, run.config.git),
        approval,
        0.0 if approval is None else time_in(approval.at) or 0.0,
        given,
    )
    return FoundBaseline(choice=choice, folder=folders.get(choice.run_id or ""))


def find_last(run: StoredRun, project: Settings, *, parts: Sequence[str] = ()) -> FoundBaseline:
    """Return the last run that is complete and can be compared with a run; those since are named.

    Args:
        run: the new one, of which only the documents are read.
        project: with the folder of the runs.
        parts: ids of runs that it consists of.

    Raises:
        StorageError: the documents of a run cannot be read.
    """
    passed_over: list[str] = []
    for folder in reversed(list_runs(project.results_folder)):
        if folder.name in {run.run_id, *parts}:
            continue
        base = read_documents(folder, groups=False)
        if why := _unfit(base, run):
            passed_over.append(f"{folder.name} ({why})")
            continue
        facts = {"runs": first_few(passed_over, _SHOWN)}
        choice = BaselineChoice(code="last", facts=facts, run_id=folder.name)
        return FoundBaseline(choice=choice if passed_over else None, folder=folder)
    return FoundBaseline()


def failed_before(project: Settings, name: str | None) -> frozenset[str]:
    """Return the node ids of the cases that did not pass every time in an earlier run.

    Args:
        project: with the folder of the runs.
        name: of the baseline; None, or ``last``: the last run that asked its whole set. Without
            such a run no case failed.
    """
    results, root = project.results_folder, Path(project.rootdir)
    with suppress(StorageError):
        if name == AUTO:
            config = replace(NO_CONFIG, settings=project, git=git_state(root))
            folder = find_baseline(
                StoredRun(folder=results, records=(), config=config), project
            ).folder
        elif name in {None, LAST}:
            folder = last_full_run(list_runs(results))
        else:
            folder = resolve_run(results, name, relative_to=root)
        if folder is not None:
            cases = group_repeats(read_run(folder, texts=False).records)
            return frozenset(c.first.nodeid for c in cases if c.outcome != "passed")
    return frozenset()


def _unfit(base: StoredRun, new: StoredRun) -> str:
    """Say why a run cannot be compared with a later one; empty: it can."""
    if base.gate is not None and not base.gate.complete:
        return "incomplete"
    why = refusal(_candidate(base, None), _candidate(new, None))
    if why in _UNFIT:
        return _UNFIT[why]
    differing = compare_configs(base.config, new.config).invariants
    return ", ".join(f"other {one.name}" for one in differing if not one.only)


def _shown_place(project: Settings) -> str:
    """Return the place of the runs as a reader on another machine needs it."""
    rootdir = Path(project.rootdir)
    shown = Path(shown_below(rootdir / (project.runs or project.results_dir), rootdir))
    return shown.name if shown.is_absolute() else shown.as_posix()


def _candidate(run: StoredRun, approval: Approval | None) -> BaselineCandidate:
    config = run.config
    return BaselineCandidate(
        run_id=run.run_id,
        at=time_in(config.timestamp) or 0.0,
        commit=config.git.commit,
        dirty=bool(config.git.dirty),
        verdict=run.verdict,
        partial=is_partial(run, of_files=True),
        whole=not is_partial(run),
        has_records=bool(run.records) or (run.folder / RESULTS).is_file(),
        files=frozenset(config.set.files),
        tier=config.settings.tier,
        config_hash=config.config_hash,
        dataset_hash=config.dataset_hash,
        unlike=None if approval is None else _unlike(run, approval),
    )


def _unlike(run: StoredRun, approval: Approval) -> tuple[str, ...] | None:
    """Return the facts of an approval that a run does not have; None: it is about another run."""
    config = run.config
    pairs = {
        "start": (config.timestamp, approval.made),
        "config_hash": (config.config_hash, approval.config_hash),
        "dataset_hash": (config.dataset_hash, approval.dataset_hash),
    }
    found = tuple(name for name, (own, approved) in pairs.items() if own != approved)
    # Jobs of CI may use one id for many runs, and an artifact is unpacked under any name.
    return None if "start" in found and run.run_id != approval.run else found


def stored_runs(project: Settings) -> list[Path]:
    """Return the folders of the runs in the results folder, or in the folder or archive named.

    Raises:
        StorageError: there is no such folder, or the archive cannot be read.
    """
    if project.runs is None:
        return list_runs(project.results_folder)
    path = Path(project.rootdir) / project.runs
    root = path if path.is_dir() else _unpacked(path)
    found = {one.parent for name in RUN_FILES for one in root.rglob(name)}
    return sorted(one for one in found if is_run(one))


def refuse_missing_baseline(project: Settings) -> None:
    """Refuse a baseline, or a place of runs, that an option or a variable names and that is absent.

    One that a file names may be absent on this machine, which its comparison says.

    Raises:
        StorageError: it is not there, or has no records to compare with.
    """
    rootdir, results, name = Path(project.rootdir), project.results_folder, project.baseline
    if project.runs is not None and project.is_named_now("runs"):
        _refuse_missing_runs(rootdir / project.runs)
    if name is None or name in {AUTO, LAST} or not project.is_named_now("baseline"):
        return
    try:
        folder = resolve_run(results, name, relative_to=rootdir)
    except StorageError as error:
        raise error.within("baseline") from None
    if not (folder / RESULTS).is_file():
        raise StorageError.of(f"baseline: run {name!r}", "no_results", found=RESULTS)


def _refuse_missing_runs(path: Path) -> None:
    """Refuse a place of runs that is absent, or a file that is no archive."""
    if not path.exists():
        raise StorageError.of(f"runs {path}", "absent", what="folder or archive")
    if path.is_file() and not (zipfile.is_zipfile(path) or tarfile.is_tarfile(path)):
        raise StorageError.of(path, "not_unpacked", reason="neither a zip nor a tar archive")


def _unpacked(archive: Path) -> Path:
    """Unpack an archive into a folder that lasts as long as this process."""
    _refuse_missing_runs(archive)
    folder = Path(tempfile.mkdtemp(prefix="rageval-runs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with named_errors(archive, StorageError, "unreadable"):
        try:
            if zipfile.is_zipfile(archive):
                with zipfile.ZipFile(archive) as zipped:
                    _refuse_large(archive, sum(one.file_size for one in zipped.infolist()))
                    zipped.extractall(folder)
            else:
                with tarfile.open(archive) as tar:
                    _refuse_large(archive, sum(one.size for one in tar))
                    tar.extractall(folder, filter="data")
        except (zipfile.BadZipFile, tarfile.TarError, EOFError, RuntimeError) as error:
            raise StorageError.of(archive, "not_unpacked", reason=error) from None
    return folder


def _refuse_large(archive: Path, size: int) -> None:
    if size > _MOST_BYTES:
        raise StorageError.of(archive, "large", most_mb=_MOST_BYTES >> 20)


# --- approval ----------------------------------------------------------------------------------


def approval_path(project: Settings) -> Path:
    """Return the file that names the approved run."""
    return project.results_folder.parent / APPROVAL


def read_approval(project: Settings) -> Approval | None:
    """Return the approval of a run; None if absent.

    Raises:
        StorageError: the file is malformed.
    """
    path = approval_path(project)
    return read_document(path, Approval) if path.exists() else None


def approve_run(run: StoredRun, project: Settings, because: str, now: datetime) -> Approval:
    """Make a run the baseline, whatever its verdict, and write the file that says so.

    Raises:
        StorageError: the run has no config.json or metrics.json, or the file cannot be written.
    """
    config, numbers = run.config, run.aggregate
    if numbers is None or config.timestamp is None:
        raise StorageError.of(f"run {run.run_id}", "unfinished")
    means = {
        key: ApprovedMean(mean=one.mean, n=one.n)
        for key, one in numbers.metrics.items()
        if one.mean is not None
    }
    found = Approval(
        run=run.run_id,
        made=config.timestamp,
        commit=config.git.commit,
        config_hash=config.config_hash,
        dataset_hash=config.dataset_hash,
        verdict=run.verdict,
        means=means,
        by=clean(run_git(Path(project.rootdir), "config", "user.name") or "")
        or "an unknown person",
        at=now.isoformat(timespec="seconds"),
        because=clean(because).strip(),
    )
    path = approval_path(project)
    write_document(path.parent, path.name, found)
    return found
