"""Two whole runs held against each other: may they be, what changed, and do the checks hold. Pure.

The rooms below each take one part: ``comparability`` the settings, ``comparison`` the cases,
``baseline_checks`` the limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.compare.metrics import (
    Comparison,
    ComparisonSettings,
    compare_records,
)
from pytest_rageval.analysis.compare.pairs import CasePair, pair_cases
from pytest_rageval.analysis.compare.settings import (
    Comparability,
    compare_configs,
    judge_dependent_keys,
    no_common_cases,
    unaffected_keys,
)
from pytest_rageval.analysis.gate.differences import (
    BaselineRuns,
    Difference,
    check_differences,
    margins,
)
from pytest_rageval.analysis.gate.figures import GateRun
from pytest_rageval.analysis.trust.reliability import judge_reliability
from pytest_rageval.judges.spot_check import DISAGREEMENT
from pytest_rageval.metrics.registry import METRICS
from pytest_rageval.values.gate import Check, Thresholds, needs_baseline
from pytest_rageval.values.record import CaseRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSide:
    """One of the two runs."""

    run_id: str
    records: Sequence[CaseRecord]
    """The last of each case and repeat, scored as the end of the run scored them."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Its ``config.json``; empty: it has none."""
    tags: tuple[str, ...] = ()

    @property
    def n_cases(self) -> int:
        """Cases, each counted once."""
        return len({(record.file, record.name) for record in self.records})

    @property
    def settings(self) -> Mapping[str, Any]:
        """What ``config.json`` tells of the settings."""
        found = self.config.get("settings")
        return found if isinstance(found, Mapping) else {}

    @property
    def timeout_ms(self) -> float | None:
        """Limit of one call; None: not told."""
        target = self.settings.get("target")
        limit = target.get("timeout_s") if isinstance(target, Mapping) else None
        return float(limit) * 1000 if isinstance(limit, int | float) else None

    def gate_run(self, *, confidence: float) -> GateRun:
        """Return what checks on figures of a whole run ask for."""
        figures: dict[str, float] = {}
        wall_s = self.config.get("wall_s")
        if isinstance(wall_s, int | float):
            figures["suite_wall_s"] = float(wall_s)
        disagreement = judge_reliability(self.records, confidence=confidence).disagreement_rate
        if disagreement is not None:
            figures[DISAGREEMENT] = disagreement
        numbers = aggregate(
            self.records,
            confidence=confidence,
            timeout_ms=self.timeout_ms,
            path_case=self.settings.get("path_case", "sensitive"),
        )
        return GateRun(
            aggregate=numbers,
            records=tuple(self.records),
            confidence=confidence,
            timeout_ms=self.timeout_ms,
            extra_figures=figures,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """What two runs say together."""

    base: RunSide
    new: RunSide
    comparability: Comparability
    comparison: Comparison
    """Of what may be compared; of everything where differing invariants were ignored."""
    ignored: bool = False
    """Whether differing invariants were ignored, so that no number means what it says."""

    @property
    def comparable(self) -> bool:
        """Whether every invariant agrees."""
        return self.comparability.comparable


def compare_runs(
    base: RunSide,
    new: RunSide,
    *,
    thresholds: Thresholds | None = None,
    ignore_invariants: bool = False,
    with_p: bool = True,
) -> RunComparison:
    """Compare two runs as far as they may be compared.

    Args:
        base: the earlier run.
        new: the later one.
        thresholds: of the project, which say how large a difference matters and how sure to be.
        ignore_invariants: compare everything, whatever differs.
        with_p: compute p-values, which takes most of the time.
    """
    given = thresholds or Thresholds()
    comparability = _comparability(base, new)
    keys = None if ignore_invariants else unaffected_keys(comparability, _judged(base, new))
    comparison = compare_records(
        base.records,
        new.records,
        ComparisonSettings(
            keys=keys,
            margins=margins(given.checks),
            confidence=given.confidence,
            base_timeout_ms=base.timeout_ms,
            new_timeout_ms=new.timeout_ms,
            with_p=with_p,
            any_k=ignore_invariants,
        ),
    )
    return RunComparison(
        base=base,
        new=new,
        comparability=comparability,
        comparison=comparison,
        ignored=ignore_invariants and not comparability.comparable,
    )


def _comparability(base: RunSide, new: RunSide) -> Comparability:
    found = compare_configs(base.config, new.config)
    pairing = pair_cases(base.records, new.records)
    if pairing.pairs or pairing.count("k_changed"):
        return found
    nothing = no_common_cases(base.config, new.config, n_base=base.n_cases, n_new=new.n_cases)
    return replace(found, invariants=(*found.invariants, nothing))


def _judged(base: RunSide, new: RunSide) -> frozenset[str]:
    """Return the metrics that a judge had a part in, in either run."""
    records = (*base.records, *new.records)
    return judge_dependent_keys(
        abstention=any((r.abstention or {}).get("source") == "judge" for r in records),
        conflict=any(r.case.recency_conflict_rule == "acknowledge_both" for r in records),
    )


# --- the checks ------------------------------------------------------------------------------


def baseline_differences(
    checks: Iterable[Check],
    base: RunSide,
    new: RunSide,
    pairs: Sequence[CasePair],
    *,
    confidence: float = 0.95,
    new_run: GateRun | None = None,
) -> dict[Check, Difference]:
    """Compute what the checks against a baseline are to decide by.

    Args:
        checks: of the gate.
        base: the baseline.
        new: the run that is decided.
        pairs: their cases in common.
        confidence: of the proofs, one-sided.
        new_run: the figures of ``new``, where they are known.
    """
    wanted = [check for check in checks if needs_baseline(check)]
    runs = None
    if any(c.metric not in METRICS and c.metric != "newly_missed" for c in wanted):
        runs = BaselineRuns(
            base=base.gate_run(confidence=confidence),
            new=new_run or new.gate_run(confidence=confidence),
        )
    return check_differences(wanted, pairs, runs, confidence=confidence)
