"""Two runs compared under the thresholds of a project, as every kind of report shows them."""

from __future__ import annotations

from dataclasses import replace

from pytest_rageval.analysis.compare.metrics import ComparisonSettings, compare_groups
from pytest_rageval.analysis.gate.differences import margins
from pytest_rageval.analysis.two_runs import (
    CheckedComparison,
    RunComparison,
    as_baseline,
    compare_runs,
)
from pytest_rageval.engine.finish import EndedRun
from pytest_rageval.values.gate import CheckResult, needs_baseline
from pytest_rageval.values.run import StoredRun


def compare_stored(
    base: StoredRun, gate: EndedRun, *, ignore_invariants: bool
) -> CheckedComparison:
    """Compare the run of a gate with an earlier one, and decide its checks against that."""
    found = compare_runs(
        base, gate.run, thresholds=gate.thresholds, ignore_invariants=ignore_invariants
    )
    # A check is decided over the cases that are comparable, whatever else is compared. For runs
    # that are not, each says why it is not decided.
    strict = found
    if ignore_invariants:
        strict = compare_runs(base, gate.run, thresholds=gate.thresholds)
    checks = regression_checks(gate, strict) if found.comparable or found.ignored else ()
    notes = []
    if base.folder == gate.run.folder:
        notes.append("both names are of one run")
    if found.comparison.clustering.note:
        notes.append(found.comparison.clustering.note)
    pairs = found.comparison.pairing.pairs
    if any(len(pair.base.unselected) != len(pair.new.unselected) for pair in pairs):
        rule = "flips, stages and newly_missed read as many repeats of each as both runs have"
        notes.append(f"cases were not asked equally often: {rule}")
    if found.comparable and found.comparison.unscored:
        notes.append(found.comparison.unscored)
    groups = compare_groups(
        pairs,
        ComparisonSettings(
            keys=frozenset(found.comparison.metrics),
            margins=margins(gate.thresholds.checks),
            confidence=gate.thresholds.confidence,
        ),
        found.comparison.clustering,
        min_n=gate.thresholds.min_n,
    )
    return CheckedComparison(
        found=found,
        checks=checks,
        thresholds=gate.thresholds.path,
        notes=tuple(notes),
        groups=groups,
        min_n=gate.thresholds.min_n,
    )


def regression_checks(gate: EndedRun, found: RunComparison) -> tuple[CheckResult, ...]:
    """Decide only the checks against a baseline, by a comparison that ignored no invariant."""
    checks = tuple(check for check in gate.thresholds.checks if needs_baseline(check))
    if not checks:
        return ()
    only = replace(gate, thresholds=replace(gate.thresholds, checks=checks))
    # Differences of cases need no figure of the whole run.
    if any(one.metric not in found.registry.cases for one in checks):
        only = only.with_numbers()
        found = replace(found, new=only.run)
    return only.decide(as_baseline(found, only.thresholds, name=found.base.run_id)).checks
