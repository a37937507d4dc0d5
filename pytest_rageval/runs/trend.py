"""Runs and figures of a trend, read from the folders of runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_rageval.analysis.compare.settings import compared_config
from pytest_rageval.analysis.trend import RunFigure, TrendQuery, TrendRun, run_figures
from pytest_rageval.runs.list import documents_of_runs, is_partial, ran_at
from pytest_rageval.values.documents import word
from pytest_rageval.values.run import StoredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendSource:
    """Runs of a trend, with the known names for a hint about a misspelled one."""

    runs: tuple[TrendRun, ...]
    """Every run with figures, in any order, with the one that was asked for."""
    metrics: frozenset[str]
    """Names of all figures that any of them has."""
    groups: frozenset[str]
    """Categories, tags, ... of the scope that was asked for."""


def read_trend(results_dir: Path, query: TrendQuery) -> TrendSource:
    """Read the documents of every run that has figures.

    Args:
        results_dir: folder of all runs.
        query: which figure is asked for.
    """
    runs: list[TrendRun] = []
    metrics: set[str] = set()
    groups: set[str] = set()
    for run in documents_of_runs(results_dir):
        if not run.metrics:
            continue
        wanted = None
        for figure in run_figures(run.metrics, run.config):
            metrics.add(figure.metric)
            if figure.scope == query.scope:
                groups.add(figure.group)
                if figure.metric == query.metric and figure.group == query.group:
                    wanted = figure
        runs.append(_trend_run(run, wanted))
    return TrendSource(runs=tuple(runs), metrics=frozenset(metrics), groups=frozenset(groups))


def _trend_run(run: StoredRun, figure: RunFigure | None) -> TrendRun:
    return TrendRun(
        run_id=run.run_id,
        ran_at=ran_at(run.folder),
        figure=figure,
        tags=run.tags,
        verdict=word(run.gate, "verdict"),
        config_hash=run.config_hash,
        dataset_hash=run.dataset_hash,
        config=compared_config(run.config),
        partial=is_partial(run),
    )
