"""The gate of a project: thresholds.toml, what was added to it, and what always holds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from pytest_rageval.discovery import THRESHOLDS
from pytest_rageval.gate import with_implicit_checks
from pytest_rageval.gate_differences import needs_baseline
from pytest_rageval.models import Check, Thresholds
from pytest_rageval.thresholds import add_gates, load_thresholds


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
