"""The run that a gate compares with: found by name, read, and held against the run in hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_rageval.analysis.gate.decide import NO_BASELINE
from pytest_rageval.analysis.gate.differences import Difference
from pytest_rageval.analysis.gate.figures import GateRun
from pytest_rageval.analysis.two_runs import (
    RunComparison,
    RunSide,
    baseline_differences,
    compare_runs,
)
from pytest_rageval.runs.read import read_run
from pytest_rageval.runs.store import RESULTS, read_json, resolve_run
from pytest_rageval.runs.tags import tags_by_run
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.gate import BaselineInfo, Check, Thresholds

_MAKE_ONE: Final = "make one with `rageval runs tag RUN main`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What a gate knows of its baseline."""

    info: BaselineInfo
    differences: Mapping[Check, Difference] | None = None
    """What each check against it holds; None: there is no baseline to compare with."""
    comparison: RunComparison | None = None
    """Without p-values; None: the baseline could not be read."""

    @property
    def changes(self) -> dict[str, float]:
        """Difference of every metric over the paired cases, by key; latency over all calls."""
        if self.comparison is None or self.info.problem is not None:
            return {}
        found = self.comparison.comparison
        both = {
            **{key: one.delta for key, one in found.metrics.items()},
            **{key: one.delta for key, one in found.latency.items()},
        }
        return {key: delta for key, delta in both.items() if delta is not None}

    @property
    def not_comparable(self) -> bool:
        """Whether there is a baseline and an invariant differs."""
        return self.comparison is not None and not self.comparison.comparable


def read_side(folder: Path, results_dir: Path) -> RunSide:
    """Read one of the runs of a comparison.

    Raises:
        StorageError: its records are missing or cannot be read.
    """
    if not (folder / RESULTS).is_file():
        raise StorageError(
            f"run {folder.name}: there is no {RESULTS}, which a comparison needs and git does not "
            "keep; bring the whole folder of the run"
        )
    run = read_run(folder)
    try:
        config = read_json(folder / "config.json")
    except StorageError:  # a run of foreign origin may have none
        config = {}
    tags = tags_by_run(results_dir).get(run.run_id, ())
    return RunSide(run_id=run.run_id, records=run.records, config=config, tags=tags)


def against_baseline(
    name: str | None,
    new: RunSide,
    thresholds: Thresholds,
    results_dir: Path,
    *,
    new_run: GateRun | None = None,
    relative_to: Path | None = None,
    parts: Collection[str] = (),
) -> Baseline:
    """Hold a run against its baseline; whatever stands in the way becomes the problem.

    Args:
        name: of the baseline, as a user names a run; None: none is named.
        new: the run to decide, which is not ``last`` here.
        thresholds: the gate.
        results_dir: folder of all runs.
        new_run: figures of ``new``, where they are known.
        relative_to: where a relative path begins; the working directory when None.
        parts: ids of the runs that ``new`` was put together from, which are none to compare with.
    """
    if name is None:
        return Baseline(info=BaselineInfo(problem=NO_BASELINE))
    try:
        folder = resolve_run(results_dir, name, exclude=new.run_id, relative_to=relative_to)
        if folder.name in {new.run_id, *parts} and folder.parent == results_dir:
            part = "" if folder.name == new.run_id else "a part of "
            raise StorageError(f"run {name!r} is {part}the run that is to be compared")
        base = read_side(folder, results_dir)
    except StorageError as error:
        # A path of one machine says nothing on another, and gate.json goes to both.
        here = f"{relative_to or Path.cwd()}/"
        problem = f"no baseline: {str(error).replace(here, '')}; {_MAKE_ONE}"
        return Baseline(info=BaselineInfo(name=name, problem=problem))
    return hold_against(base, new, thresholds, name=name, new_run=new_run)


def hold_against(
    base: RunSide,
    new: RunSide,
    thresholds: Thresholds,
    *,
    name: str,
    new_run: GateRun | None = None,
) -> Baseline:
    """Do the same with a baseline that is read already."""
    found = compare_runs(base, new, thresholds=thresholds, with_p=False)
    problem = None
    if not found.comparable:
        problem = f"not comparable with the baseline: {found.comparability.sentence()}"
    pairing = found.comparison.pairing
    if problem is None and pairing.count("only_in_new"):
        problem = _partial(base)
    info = BaselineInfo(
        name=name,
        run_id=base.run_id,
        problem=problem,
        n_paired=len(pairing.pairs),
        n_changed=pairing.count("content_changed") + pairing.count("k_changed"),
        n_only_base=pairing.count("only_in_base"),
        n_only_new=pairing.count("only_in_new"),
    )
    differences = None
    if problem is None:
        differences = baseline_differences(
            thresholds.checks,
            base,
            new,
            pairing.pairs,
            confidence=thresholds.confidence,
            new_run=new_run,
        )
    return Baseline(info=info, differences=differences, comparison=found)


def _partial(base: RunSide) -> str | None:
    """Say that a baseline holds less than its own set; what it lacks is then not new."""
    told = base.config.get("set")
    n_set = told.get("n_cases") if isinstance(told, Mapping) else None
    skipped = {str(nodeid).split("[", 1)[0] for nodeid in base.config.get("skipped") or ()}
    held = {f"{record.file}::{record.case_id}" for record in base.records} | skipped
    if type(n_set) is not int or len(held) >= n_set:
        return None
    return (
        f"run {base.run_id} is no baseline for this one: it holds {len(held)} of the {n_set} cases "
        "of its set; name a run over the whole set"
    )
