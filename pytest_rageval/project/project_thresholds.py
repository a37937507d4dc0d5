"""The gate of a project: thresholds.toml, what was added to it, and what always holds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from pytest_rageval.project.discovery import THRESHOLDS
from pytest_rageval.project.thresholds import add_gates, load_thresholds
from pytest_rageval.values.gate import Check, Thresholds, needs_baseline


def project_thresholds(
    rootdir: Path,
    *,
    gates: tuple[str, ...],
    judge_configured: bool,
    categories: Collection[str] | None,
    tags: Collection[str] | None,
    allow_regressions: bool = False,
) -> Thresholds:
    """Read the gate of a project.

    Args:
        rootdir: where thresholds.toml may be.
        gates: ``--gate`` expressions.
        judge_configured: whether answers are judged.
        categories: of the set; None: any name goes.
        tags: of the set; None: any name goes.
        allow_regressions: whether checks against a baseline only warn.

    Raises:
        ConfigError: with every fault.
    """
    path = rootdir / THRESHOLDS
    if path.is_file():
        found = load_thresholds(
            path, display=THRESHOLDS, categories=categories, tags=tags, gates=gates
        )
    else:
        # Nobody has said how good is good enough, so every miss counts.
        found = add_gates(Thresholds(on_miss="fail"), gates, categories=categories, tags=tags)
    if allow_regressions:
        found = replace(found, checks=tuple(_warning(check) for check in found.checks))
    return with_implicit_checks(found, judge_configured=judge_configured)


def _warning(check: Check) -> Check:
    return replace(check, severity="warn") if needs_baseline(check) else check


def with_implicit_checks(thresholds: Thresholds, *, judge_configured: bool) -> Thresholds:
    """Add the checks that exist without being written, unless their limits are set.

    ``error_rate <= 0`` always, ``judge_error_rate <= 0.05`` where a judge is configured.
    """
    limits = {"error_rate": 0.0}
    if judge_configured:
        limits["judge_error_rate"] = 0.05
    written = {c.metric for c in thresholds.checks if c.table == "overall" and c.kind == "max"}
    added = tuple(
        Check(metric=metric, kind="max", limit=limit, implicit=True)
        for metric, limit in limits.items()
        if metric not in written
    )
    return replace(thresholds, checks=thresholds.checks + added)
