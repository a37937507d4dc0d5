"""The gate of the project over a stored run, with no network: what pytest decided, once more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_rageval.analysis.gate.decide import Selection, decide_gate
from pytest_rageval.analysis.two_runs import RunComparison, RunSide
from pytest_rageval.engine.baseline import Baseline, against_baseline, hold_against, read_side
from pytest_rageval.engine.parts import RunPart, selection_of
from pytest_rageval.project.thresholds import project_thresholds
from pytest_rageval.runs.read import stored_settings
from pytest_rageval.runs.store import read_json
from pytest_rageval.values.errors import StorageError
from pytest_rageval.values.gate import CheckResult, GateResult, Thresholds, needs_baseline
from pytest_rageval.values.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGate:
    """A stored run with what its gate needs."""

    folder: Path
    side: RunSide
    settings: Settings
    """Only what scoring depends on is the run's; the rest are defaults."""
    thresholds: Thresholds
    selection: Selection
    results_dir: Path
    rootdir: Path
    """Of the project."""

    def decide(self, baseline: Baseline | None) -> GateResult:
        """Decide the run against thresholds.toml and a baseline; None: nothing is compared."""
        confidence = self.thresholds.confidence
        run = self.side.gate_run(confidence=confidence)
        n_expected, n_reported = self._counts()
        return decide_gate(
            self.thresholds,
            run.aggregate,
            records=self.side.records,
            selection=self.selection,
            n_expected=n_expected,
            n_reported=n_reported,
            judge_configured=self.settings.judge != "none",
            retrieval_only=self.settings.retrieval_only,
            baseline=None if baseline is None else baseline.differences,
            baseline_info=None if baseline is None else baseline.info,
            timeout_ms=self.side.timeout_ms,
            extra_figures=run.extra_figures,
        )

    def baseline(self, name: str | None) -> Baseline | None:
        """Hold the run against a baseline; None: nobody wants it to be."""
        chosen = name or self.thresholds.baseline
        if chosen is None and not any(map(needs_baseline, self.thresholds.checks)):
            return None
        return against_baseline(
            chosen, self.side, self.thresholds, self.results_dir, relative_to=self.rootdir
        )

    def _counts(self) -> tuple[int, int]:
        """Return how many cases the run should have, and has, as it said itself."""
        told = _document(self.folder / "gate.json")
        counts = told.get("n_expected"), told.get("n_reported")
        if all(type(count) is int for count in counts):
            return counts[0], counts[1]  # type: ignore[return-value]
        # A run that was killed has no gate; of a file that was asked for, all cases were wanted.
        known = self.side.config.get("set")
        wanted = known.get("n_asked") if isinstance(known, Mapping) else None
        n = self.side.n_cases
        return (max(wanted, n), n) if type(wanted) is int else (n, n)


def open_gate(folder: Path, project: Settings) -> StoredGate:
    """Read a stored run, and the gate of the project in the light of its cases.

    Args:
        folder: of the run.
        project: where thresholds.toml and the results are.

    Raises:
        ConfigError: thresholds.toml is wrong.
        StorageError: the run cannot be read.
    """
    results_dir = Path(project.rootdir) / project.results_dir
    side = read_side(folder, results_dir)
    settings = stored_settings(folder) or Settings(rootdir=".", judge="none")
    told = side.config.get("set")
    known: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    gates = side.settings.get("extra_gates")
    thresholds = project_thresholds(
        Path(project.rootdir),
        gates=tuple(dict.fromkeys([*project.extra_gates, *(gates or ())])),
        judge_configured=settings.judge != "none",
        # The run may be older than a category or tag of today, whose check then has no data.
        categories=None,
        tags=None,
        allow_regressions=project.allow_regressions,
    )
    return StoredGate(
        folder=folder,
        side=side,
        settings=settings,
        thresholds=thresholds,
        selection=_selection(folder, side, settings, known),
        results_dir=results_dir,
        rootdir=Path(project.rootdir),
    )


def _selection(
    folder: Path, side: RunSide, settings: Settings, known: Mapping[str, Any]
) -> Selection:
    if known:
        part = RunPart(
            folder=folder, config=side.config, settings=settings, records=tuple(side.records)
        )
        return selection_of([part], side.records)
    # Nothing tells of a set that was larger.
    cases = list({(r.file, r.case_id): r for r in side.records}.values())
    return Selection.of(cases, cases)


def regression_checks(gate: StoredGate, found: RunComparison) -> tuple[CheckResult, ...]:
    """Decide the checks of a gate against a baseline, and no others.

    Args:
        gate: of the new run.
        found: the comparison, whose base is the baseline.
    """
    checks = tuple(check for check in gate.thresholds.checks if needs_baseline(check))
    if not checks:
        return ()
    only = replace(gate, thresholds=replace(gate.thresholds, checks=checks))
    baseline = hold_against(found.base, found.new, only.thresholds, name=found.base.run_id)
    return only.decide(baseline).checks


def _document(path: Path) -> dict[str, Any]:
    try:
        return read_json(path)
    except StorageError:
        return {}
