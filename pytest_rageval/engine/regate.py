"""The gate of the project over a stored run, decided again as at its end, without a network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_rageval.analysis.two_runs import RunComparison, hold_against
from pytest_rageval.engine.finish import EndedRun
from pytest_rageval.engine.parts import selection_of
from pytest_rageval.project.thresholds import project_thresholds
from pytest_rageval.runs.read import read_compared
from pytest_rageval.values.documents import items, whole
from pytest_rageval.values.gate import CheckResult, Selection, needs_baseline
from pytest_rageval.values.run import StoredRun
from pytest_rageval.values.settings import Settings


def open_gate(folder: Path, project: Settings) -> EndedRun:
    """Read a stored run, with the gate of the project for its cases.

    Args:
        folder: of the run.
        project: its settings, with the folders of thresholds.toml and the results.

    Raises:
        ConfigError: thresholds.toml is wrong.
        StorageError: the run cannot be read.
    """
    rootdir = Path(project.rootdir)
    run = read_compared(folder, rootdir / project.results_dir)
    thresholds = project_thresholds(
        rootdir,
        gates=tuple(dict.fromkeys([*project.extra_gates, *items(run.given, "extra_gates")])),
        judge_configured=run.settings.judge != "none",
        # The run may be older than a category or tag of today, whose check then has no data.
        categories=None,
        tags=None,
        allow_regressions=project.allow_regressions,
    )
    n_expected, n_reported = _counts(run)
    return EndedRun(
        run=run,
        project=project,
        thresholds=thresholds,
        selection=_selection(run),
        n_expected=n_expected,
        n_reported=n_reported,
    )


def _counts(run: StoredRun) -> tuple[int, int]:
    """Return the numbers of cases that the run should have, and has, as it stored them."""
    n_expected, n_reported = whole(run.gate, "n_expected"), whole(run.gate, "n_reported")
    if n_expected is not None and n_reported is not None:
        return n_expected, n_reported
    # A run that was killed has no gate; all cases of the files asked for were expected.
    return max(whole(run.set, "n_asked") or 0, run.n_cases), run.n_cases


def _selection(run: StoredRun) -> Selection:
    if run.set:
        return selection_of([run], run.records)
    # The run does not store its set, so its cases count as the whole.
    cases = list({(r.file, r.case_id): r for r in run.records}.values())
    return Selection.of(cases, cases)


def regression_checks(gate: EndedRun, found: RunComparison) -> tuple[CheckResult, ...]:
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
