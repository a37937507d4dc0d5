"""What a trend is made of, read from the folders of runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_rageval.analysis.compare.settings import compared_config
from pytest_rageval.analysis.run_figures import RunFigure, run_figures
from pytest_rageval.analysis.trend import TrendQuery, TrendRun
from pytest_rageval.runs.list import (
    RunDocuments,
    config_hash_of,
    describe_run,
    is_partial,
    ran_at,
    run_documents,
)
from pytest_rageval.runs.store import list_runs
from pytest_rageval.runs.tags import tags_by_run


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendSource:
    """What runs hold, for a trend and for those who misspell one."""

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
    tags = tags_by_run(results_dir)
    runs: list[TrendRun] = []
    metrics: set[str] = set()
    groups: set[str] = set()
    for folder in list_runs(results_dir):
        documents = run_documents(folder)
        if not documents.metrics:
            continue
        wanted = None
        for figure in run_figures(documents.metrics, documents.config):
            metrics.add(figure.metric)
            if figure.scope == query.scope:
                groups.add(figure.group)
                wanted = figure if _is_meant(figure, query) else wanted
        runs.append(_trend_run(folder, tags.get(folder.name, ()), documents, wanted))
    return TrendSource(runs=tuple(runs), metrics=frozenset(metrics), groups=frozenset(groups))


def _is_meant(figure: RunFigure, query: TrendQuery) -> bool:
    return figure.metric == query.metric and figure.group == query.group


def _trend_run(
    folder: Path, tags: tuple[str, ...], documents: RunDocuments, figure: RunFigure | None
) -> TrendRun:
    entry = describe_run(folder, tags, documents)
    return TrendRun(
        run_id=entry.run_id,
        ran_at=ran_at(folder),
        figure=figure,
        tags=entry.tags,
        verdict=entry.verdict,
        config_hash=config_hash_of(documents),
        dataset_hash=entry.dataset_hash,
        config=compared_config(documents.config),
        partial=is_partial(documents),
    )
