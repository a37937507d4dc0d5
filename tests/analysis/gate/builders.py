"""Gates over a few records, as the tests of this folder decide them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_rageval.analysis.aggregate.run import aggregate
from pytest_rageval.analysis.gate.decide import decide_gate
from pytest_rageval.analysis.gate.differences import GateBaseline
from pytest_rageval.values.gate import (
    BaselineInfo,
    Check,
    CheckResult,
    GateResult,
    Selection,
    Thresholds,
)
from pytest_rageval.values.record import CaseRecord
from pytest_rageval.values.run import NO_CONFIG, StoredRun
from pytest_rageval.values.settings import Settings, TargetSettings
from pytest_rageval.values.verdict import Admissions
from tests.build.records import failed, record, selection_of
from tests.build.verdicts import called

HIT = Check(metric="hit_at_k", kind="min", limit=0.75)
DROP = Check(metric="hit_at_k", kind="max_drop", limit=0.05)
PART = Selection(
    n_selected=3, n_total=60, by_category={"a": (2, 2), "b": (1, 9)}, by_tag={"t": (3, 3)}
)
SYSTEM = [
    record("a", latency={"total_ms": 100, "retrieval_ms": 10}, judgements=called(usd=0.3)),
    record("b", latency={"total_ms": 300}, outcome="missed"),
    failed("c", "timeout"),
    failed("d", "empty"),
]


def gate(records: list[CaseRecord], *checks: Check, **changes: Any) -> GateResult:
    thresholds = changes.pop("thresholds", None) or Thresholds(checks=checks)
    selection = changes.pop("selection", None) or selection_of(records)
    options = {name: changes.pop(name, len(records)) for name in ("n_expected", "n_reported")}
    differences = changes.pop("baseline", None)
    admissions = changes.pop("admissions", Admissions())
    numbers = replace(
        aggregate(records, timeout_ms=changes.get("timeout_s", 30.0) * 1000),
        judge_reliability=changes.pop("reliability", None),
    )
    settings = Settings(
        rootdir=".",
        judge="offline" if changes.pop("judge_configured", False) else "none",
        retrieval_only=changes.pop("retrieval_only", False),
        target=TargetSettings(url="http://x", timeout_s=changes.pop("timeout_s", 30.0)),
    )
    run = StoredRun(
        folder=Path("r"),
        records=records,
        config=replace(NO_CONFIG, settings=settings, **changes),
        aggregate=numbers,
        settings=settings,
    )
    baseline = GateBaseline(info=BaselineInfo(), differences=differences) if differences else None
    return decide_gate(
        thresholds, run, selection, **options, baseline=baseline, admissions=admissions
    )


def check(records: list[CaseRecord], of: Check, **changes: Any) -> CheckResult:
    [result] = gate(records, of, **changes).checks
    return result


def limit(metric: str, maximum: float, **fields: Any) -> Check:
    return Check(metric=metric, kind="max", limit=maximum, **fields)
